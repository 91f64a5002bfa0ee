// Package proxy is Holdpoint's HTTP side. It recognises runs, keeps the interrupt contract, and
// rewrites the stream between a backend and its client by what a dialect says.
//
// It does not know any backend's shapes (translate does), nor how records are kept (store does). A
// request that is not a run passes through httputil.ReverseProxy unchanged.
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

// Defaults of the sizes, see Options.
const (
	defaultRequestBytes    = 16 << 20
	defaultFrameBytes      = 32 << 20
	defaultIdleGrace       = 15 * time.Minute
	defaultTranscriptBytes = 4 << 20
	defaultBodyBytes       = 256 << 20

	maxRoutes = 4096
)

// A Handler is the proxy. Make it with New.
type Handler struct {
	refuser
	opts        Options
	sinks       ledger.Sinks // of the steps of all threads
	intake      *intake.Intake
	destination destination
	reverse     *httputil.ReverseProxy
	transports  *transports

	memory *processMemory
	lives  runRegistry
}
