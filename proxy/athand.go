package proxy

import (
	"net/http"
	"sync/atomic"

	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/translate"
)

// An exchange is the one at hand of a run.
type exchange struct {
	translate.Exchange
	dialect string        // what its backend speaks, as far as a Finder knows it
	conn    *backend.Conn // that its stream is read from, nil if that is not known

	counted   settle.Evidence // of this exchange and those before it, without connected
	connected atomic.Bool     // there was a connection for it; the transport's goroutines set it
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
func (e *exchange) speaks(by translate.Finder) string { return by.Speaks(e.dialect) }

// framing is how its answer is cut, and whether that is read at all.
func (e *exchange) framing(header http.Header) (f translate.Framing, reads bool) {
	if decoder, ok := e.Run.(translate.Decoder); ok {
		f = decoder.Framing(stream.MediaType(header))
		return f, f != translate.Unread
	}
	return translate.Unread, stream.IsEventStream(header)
}
