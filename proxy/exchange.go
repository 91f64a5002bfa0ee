package proxy

import (
	"context"
	"io"
	"net/http"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// forward sends the first exchange and writes what comes of it to the client.
func (r *run) forward(out *stream.Writer) {
	r.claim.begin(&r.exchange.Out)
	if r.exchange.Out.None {
		r.body = newBody(r, nil, translate.Unread)
		r.body.end.None = true
		r.beginStream(out)
	} else {
		r.out, r.ledger.out = out, out
		r.send(out)
	}
	if r.body != nil {
		r.pump(out)
	}
}

// send sends the exchange at hand through ReverseProxy, which does all that is not the stream. What
// came of it is in r.body then; nil if the answer went to w as it is.
func (r *run) send(w http.ResponseWriter) {
	r.h.reverse.ServeHTTP(w, r.req.WithContext(context.WithValue(r.life.ctx, runKey{}, r)))
}

// pump writes the stream to the client. ReverseProxy's own loop has one buffer of one size, which decides how much goes out in
// a system call; and its flushes come from another goroutine.
func (r *run) pump(out *stream.Writer) {
	defer r.body.Close()
	_ = out.FlushError() // of the header, if it is not held; ReverseProxy's own flush may not have come to it
	for {
		made, row, last, err := r.body.pull()
		if err != nil {
			return
		}
		if err := out.Send(made, row, last); err != nil {
			r.log.Debug("the client is gone", "err", err)
			if p := r.abort(); p != nil {
				panic(p)
			}
			return
		}
	}
}

// open looks at an answer's header. A nil body means that the answer goes to the client as it is.
func (r *run) open(res *http.Response) *body {
	if res.StatusCode/100 == 2 {
		a := r.stream(res)
		b := newBody(r, a.stream, a.framing)
		b.end = a.end
		return b
	}
	r.reached()
	r.conn = nil
	head := r.head(res) // what is cut here is cut for the client too
	c := r.conclude(ending{
		End:    translate.End{Status: res.StatusCode, Body: head},
		broken: agui.Errorf(agui.UpstreamStatus, "the backend answered %d", res.StatusCode),
	})
	if !c.said && !r.out.Began() { // else the header went out while the run waited
		r.outcome, r.code = "http status", ""
		res.Body = stream.Replay(head, res.Body)
		return nil
	}
	res.Body.Close()
	b := newBody(r, nil, translate.Unread)
	if c.next {
		b.phase.advance(between)
	} else {
		b.concluded = &c
	}
	return b
}

// head is the start of an answer that is no stream.
func (r *run) head(res *http.Response) []byte {
	defer r.bound()()
	head, _ := io.ReadAll(io.LimitReader(res.Body, statusBytes))
	return head
}

// An answer is what came of an exchange: a stream, or why there is none and what the dialect is told then.
type answer struct {
	stream  io.ReadCloser
	framing translate.Framing // Unread: AG-UI
	end     ending            // where stream is nil
}

// stream is what is to be read of an answer.
func (r *run) stream(res *http.Response) (a answer) {
	r.reached()
	conn := r.conn
	r.conn = nil // behind the answer it is net/http's, and another run's
	var reads bool
	if a.framing, reads = r.framing(res.Header); reads && res.StatusCode/100 == 2 {
		plain, err := stream.Decoded(res)
		if err == nil {
			if plain == res.Body && res.ContentLength != 0 { // else what waits there is not what is read
				r.conn = conn
			}
			a.stream = plain
			return a
		}
		res.Body.Close()
		a.end.broken = agui.Errorf(agui.UnsupportedEncoding, "the backend's stream is compressed in a way that is not read")
		return a
	}
	head := r.head(res)
	res.Body.Close()
	a.end.broken = agui.Errorf(agui.UpstreamStatus, "the backend answered %d without an event stream", res.StatusCode)
	a.end.Status, a.end.Body = res.StatusCode, head
	return a
}

// framing is how an answer is cut, and whether it is read at all.
func (r *run) framing(header http.Header) (f translate.Framing, reads bool) {
	if decoder, ok := r.exchange.Run.(translate.Decoder); ok {
		f = decoder.Framing(stream.MediaType(header))
		return f, f != translate.Unread
	}
	return translate.Unread, stream.IsEventStream(header)
}

// unreachable is the stream for an exchange that got no answer.
func (r *run) unreachable(ctx context.Context, err error) *body {
	b := newBody(r, nil, translate.Unread)
	b.end.broken = r.unanswered(ctx, err)
	return b
}

// unanswered is what an exchange without an answer is told as.
func (r *run) unanswered(ctx context.Context, err error) *agui.RunError {
	r.log.Warn("the backend did not answer", "err", err)
	switch broken := fault(ctx, err); {
	case broken != nil:
		return broken
	case r.claim.connected.Load():
		return agui.Errorf(agui.UpstreamEOF, "the backend broke off before it answered")
	}
	return agui.Errorf(agui.UpstreamUnreachable, "the backend cannot be reached")
}

// bound gives up the exchange if its answer's header, or what stands in place of a stream, does not come within the idle
// time. It returns what ends the watch.
func (r *run) bound() (done func()) {
	limit := r.h.opts.IdleTimeout
	if limit == 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() { r.life.cancel(errIdle) })
	return func() { timer.Stop() }
}

// reached notes that the backend has the exchange at hand, or a part of it.
func (r *run) reached() { r.claim.connected.Store(true) }
