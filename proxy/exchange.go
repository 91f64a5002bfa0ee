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

// open reads the header of the run's first response. isUnchanged is true if the response goes to
// the client unchanged.
func (b *body) open(res *http.Response) (isUnchanged bool) {
	if res.StatusCode/100 == 2 {
		b.takeResult(b.exchange.stream(res))
		return false
	}
	b.exchange.noteReached()
	b.exchange.conn = nil
	// if the connection breaks here, the client does not get more either
	head := b.exchange.head(res)
	b.judge.hintAtAnswer(res, head)
	c := b.concludes(settle.End{
		End:    translate.End{Status: res.StatusCode, Body: head},
		Broken: agui.Errorf(agui.UpstreamStatus, textStatus, res.StatusCode),
	}, false)
	// An HTTP error makes a chat unusable in the same way as a RUN_ERROR without questions, see the
	// package tell. Clients follow a redirect.
	locks := res.StatusCode >= http.StatusBadRequest && b.client.answersSomething()
	// HasBegun: the header was sent while the run waited
	if !c.isHandled && !locks && !b.to.HasBegun() {
		b.report.outcome, b.report.code = "http status", ""
		res.Body = stream.Replay(head, res.Body)
		return true
	}
	res.Body.Close()
	if c.hasNextExchange {
		b.phase.advance(betweenExchanges)
	} else {
		b.knownConclusion = &c
	}
	return false
}

// head returns the start of the body of a response that is not a stream.
func (e *exchange) head(res *http.Response) []byte {
	defer e.bound()()
	head, _ := io.ReadAll(io.LimitReader(res.Body, statusBytes))
	return head
}

// stream returns the answer with the stream of a response. If the response has no stream, the
// answer contains the reason.
func (e *exchange) stream(res *http.Response) (a answer) {
	e.noteReached()
	conn := e.conn
	e.conn = nil // net/http owns the connection after the response, and may use it for another run
	var reads bool
	if a.framing, reads = e.framing(res.Header); reads && res.StatusCode/100 == 2 {
		plain, err := stream.DecodeBody(res)
		if err == nil {
			// otherwise the body is not read directly from the connection
			if plain == res.Body && res.ContentLength != 0 {
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

// unansweredFailure logs err, and returns the error for the client if an exchange got no response.
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

// statusBytes is how many bytes a dialect gets of a response that is not an event stream.
const statusBytes = 64 << 10

// An answer is the result of a request to the backend: either a stream, or the end that is reported
// to the dialect because there is no stream.
type answer struct {
	stream  io.ReadCloser
	framing translate.Framing // Unread means AG-UI
	end     settle.End        // set if stream is nil
}

// An exchange is the current request of a run to the backend, and its response.
type exchange struct {
	judge        *judge
	life         *runLife
	reverseProxy *httputil.ReverseProxy
	translation
	status int           // the HTTP status of the response; 0 before the response
	conn   *backend.Conn // the connection from which its stream is read; nil if unknown

	// the evidence of this exchange and of the run's earlier ones, without Connected
	counted settle.Evidence
	// a connection was made for the exchange; goroutines of the transport set it
	connected atomic.Bool
}

// A translation is an exchange that a dialect has begun.
type translation struct {
	translate.Exchange
	dialect string // the backend's dialect, as far as a Finder has recognized it
}

// begin counts the exchange as sent. The caller must send it next.
func (e *exchange) begin() {
	e.counted = e.evidence().Next(&e.Out)
	e.connected.Store(false)
}

// evidence returns what is known of whether the run has sent its answers to the backend.
func (e *exchange) evidence() settle.Evidence {
	evidence := e.counted
	evidence.Connected = e.connected.Load()
	return evidence
}

// dialectOfBackend returns the dialect of the backend, or "" if it is not known yet.
func (e *exchange) dialectOfBackend() string { return e.judge.memory.routes.finder.Speaks(e.dialect) }

// framing returns the framing of the response, which its header shows. reads is true if Holdpoint
// reads such a response at all.
func (e *exchange) framing(header http.Header) (f translate.Framing, reads bool) {
	if decoder, ok := e.Run.(translate.Decoder); ok {
		f = decoder.Framing(stream.MediaType(header))
		return f, f != translate.Unread
	}
	return translate.Unread, stream.IsEventStream(header)
}
