package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// open looks at an answer's header. A nil body means that the answer goes to the client as it is.
func (r *run) open(res *http.Response) *body {
	if res.StatusCode/100 == 2 {
		a := r.stream(res)
		b := newBody(r, a.stream, a.framing)
		b.end = a.end
		return b
	}
	r.reached()
	r.exchange.conn = nil
	head := r.head(res) // what is cut here is cut for the client too
	r.hintAtAnswer(res, head)
	c := r.concluded(settle.End{
		End:    translate.End{Status: res.StatusCode, Body: head},
		Broken: agui.Errorf(agui.UpstreamStatus, "the backend answered %d", res.StatusCode),
	})
	// An HTTP error locks a chat as a lone RUN_ERROR does, see tell. A redirect is followed.
	locks := res.StatusCode >= http.StatusBadRequest && r.answersSomething()
	if !c.said && !locks && !r.out.Began() { // else the header went out while the run waited
		r.report.outcome, r.report.code = "http status", ""
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

// stream is what is to be read of an answer.
func (r *run) stream(res *http.Response) (a answer) {
	r.reached()
	conn := r.exchange.conn
	r.exchange.conn = nil // behind the answer it is net/http's, and another run's
	var reads bool
	if a.framing, reads = r.exchange.framing(res.Header); reads && res.StatusCode/100 == 2 {
		plain, err := stream.Decoded(res)
		if err == nil {
			if plain == res.Body && res.ContentLength != 0 { // else what waits there is not what is read
				r.exchange.conn = conn
			}
			a.stream = plain
			return a
		}
		res.Body.Close()
		a.end.Broken = agui.Errorf(agui.UnsupportedEncoding, "the backend's stream is compressed in a way that is not read")
		return a
	}
	head := r.head(res)
	res.Body.Close()
	r.hintAtAnswer(res, head)
	a.end.Broken = agui.Errorf(agui.UpstreamStatus, "the backend answered %d without an event stream", res.StatusCode)
	a.end.Status, a.end.Body = res.StatusCode, head
	return a
}

// unreachable is the stream for an exchange that got no answer.
func (r *run) unreachable(ctx context.Context, err error) *body {
	b := newBody(r, nil, translate.Unread)
	b.end.Broken = r.unanswered(ctx, err)
	return b
}

// unanswered is what an exchange without an answer is told as.
func (r *run) unanswered(ctx context.Context, err error) *agui.RunError {
	r.log.Warn("the backend did not answer", r.h.withHint(err, "err", err)...)
	switch broken := fault(ctx, err); {
	case broken != nil:
		return broken
	case errors.Is(err, ledger.ErrNotKnown):
		return storeDown().Refusal
	case errors.Is(err, ledger.ErrLapsed) && r.exchange.Out.Resumes:
		return agui.Errorf(agui.ResumeInDoubt, "the answers were given up for lost before all of them were sent, and something else began on the thread: nothing more was handed on")
	case errors.Is(err, ledger.ErrLapsed):
		return agui.Errorf(agui.ThreadBusy, "something else began on the thread while the answers were on their way: nothing more was handed on")
	case r.exchange.connected.Load():
		return agui.Errorf(agui.UpstreamEOF, "the backend broke off before it answered")
	}
	return agui.Errorf(agui.UpstreamUnreachable, "the backend cannot be reached")
}

// statusBytes is how much of an answer that is no event stream a dialect gets to see.
const statusBytes = 64 << 10
