// Package proxy is the HTTP part of Holdpoint. It recognizes runs, enforces the interrupt contract,
// and has a dialect translate the stream between a backend and its client.
//
// It has no knowledge of any backend's formats (translate has), nor of how records are stored
// (store has). A request that is not a run passes through httputil.ReverseProxy unchanged.
//
// It follows AG-UI 1.0, its page on interrupts (https://docs.ag-ui.com/concepts/interrupts), and
// the event-stream format of the HTML standard.
package proxy

import (
	"net/http/httputil"
	"time"

	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/ledger"
)

// Defaults of fields of Options.
const (
	defaultRequestBytes    = 16 << 20
	defaultFrameBytes      = 32 << 20
	defaultIdleGrace       = 15 * time.Minute
	defaultTranscriptBytes = 4 << 20
	defaultBodyBytes       = 256 << 20

	maxRoutes = 4096
)

// A Handler is the proxy of one agent. It is made by New.
type Handler struct {
	refuser
	opts         Options
	sinks        ledger.Sinks // receive the events of all threads
	intake       *intake.Intake
	destination  destination
	reverseProxy *httputil.ReverseProxy
	transports   *transports

	memory *processMemory
	runs   runRegistry
}
