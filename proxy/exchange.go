package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"sync/atomic"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// open looks at the header of the run's first answer. It reports whether the answer goes to the
// client as it is.
func (b *body) open(res *http.Response) (untouched bool) {
	if res.StatusCode/100 == 2 {
		b.takeResult(b.exchange.stream(res))
		return false
	}
	b.exchange.noteReached()
	b.exchange.conn = nil
	head := b.exchange.head(res) // what is cut here is cut for the client too
	b.judge.hintAtAnswer(res, head)
	c := b.concludes(settle.End{
		End:    translate.End{Status: res.StatusCode, Body: head},
		Broken: agui.Errorf(agui.UpstreamStatus, textStatus, res.StatusCode),
	}, false)
	// An HTTP error locks a chat as a lone RUN_ERROR does, see tell. A redirect is followed.
	locks := res.StatusCode >= http.StatusBadRequest && b.client.answersSomething()
	if !c.said && !locks && !b.to.Began() { // else the header went out while the run waited
		b.report.outcome, b.report.code = "http status", ""
		res.Body = stream.Replay(head, res.Body)
		return true
	}
	res.Body.Close()
	if c.next {
		b.phase.advance(between)
	} else {
		b.concluded = &c
	}
	return false
}

// head returns the start of an answer that is not a stream.
func (e *exchange) head(res *http.Response) []byte {
	defer e.bound()()
	head, _ := io.ReadAll(io.LimitReader(res.Body, statusBytes))
	return head
}

// stream returns what is to be read of an answer.
func (e *exchange) stream(res *http.Response) (a answer) {
	e.noteReached()
	conn := e.conn
	e.conn = nil // behind the answer it is net/http's, and another run's
	var reads bool
	if a.framing, reads = e.framing(res.Header); reads && res.StatusCode/100 == 2 {
		plain, err := stream.Decoded(res)
		if err == nil {
			if plain == res.Body && res.ContentLength != 0 { // else what waits there is not what is read
				e.conn = conn
			}
			a.stream = plain
			return a
		}
		res.Body.Close()
		a.end.Broken = agui.Errorf(agui.UnsupportedEncoding, textEncoding)
		return a
	}
	head := e.head(res)
	res.Body.Close()
	e.judge.hintAtAnswer(res, head)
	a.end.Broken = agui.Errorf(agui.UpstreamStatus, textNoStream, res.StatusCode)
	a.end.Status, a.end.Body = res.StatusCode, head
	return a
}

// unansweredFailure returns what an exchange without an answer is told as.
func (e *exchange) unansweredFailure(ctx context.Context, err error) *agui.RunError {
	e.judge.log.Warn(logUnanswered, e.judge.opts.withHint(err, "err", err)...)
	switch broken := fault(ctx, err); {
	case broken != nil:
		return broken
	case errors.Is(err, ledger.ErrNotKnown):
		return storeDown().Refusal
	case errors.Is(err, ledger.ErrLapsed) && e.Out.Resumes:
		return agui.Errorf(agui.ResumeInDoubt, textLapsedAnswers)
	case errors.Is(err, ledger.ErrLapsed):
		return agui.Errorf(agui.ThreadBusy, textLapsed)
	case e.connected.Load():
		return agui.Errorf(agui.UpstreamEOF, textNoAnswer)
	}
	return agui.Errorf(agui.UpstreamUnreachable, textUnreachable)
}

// statusBytes is how much of an answer that is not an event stream a dialect gets to see.
const statusBytes = 64 << 10

// An answer is what came of an exchange: a stream, or why there is none and what the dialect is
// told then.
type answer struct {
	stream  io.ReadCloser
	framing translate.Framing // Unread: AG-UI
	end     settle.End        // where stream is nil
}

// An exchange is the one at hand of a run.
type exchange struct {
	judge   *judge
	life    *runLife
	reverse *httputil.ReverseProxy
	translation
	status int           // of its answer, 0 if there is none
	conn   *backend.Conn // that its stream is read from, nil if that is not known

	counted   settle.Evidence // of this exchange and those before it, without connected
	connected atomic.Bool     // there was a connection for it; the transport's goroutines set it
}

// A translation is an exchange that a dialect has begun.
type translation struct {
	translate.Exchange
	dialect string // what its backend speaks, as far as a Finder knows it
}

// begin counts the exchange, which is about to be sent.
func (e *exchange) begin() {
	e.counted = e.evidence().Next(&e.Out)
	e.connected.Store(false)
}

// evidence returns how far the exchanges of the run got with the answers.
func (e *exchange) evidence() settle.Evidence {
	evidence := e.counted
	evidence.Connected = e.connected.Load()
	return evidence
}

// speaks returns the dialect of its backend, "" if nobody knows it yet.
func (e *exchange) speaks() string { return e.judge.memory.routes.finder.Speaks(e.dialect) }

// framing returns how its answer is cut, and whether that is read at all.
func (e *exchange) framing(header http.Header) (f translate.Framing, reads bool) {
	if decoder, ok := e.Run.(translate.Decoder); ok {
		f = decoder.Framing(stream.MediaType(header))
		return f, f != translate.Unread
	}
	return translate.Unread, stream.IsEventStream(header)
}
