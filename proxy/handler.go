// Package proxy is the HTTP part of Holdpoint. It recognizes runs and enforces the interrupt
// contract. It lets a dialect translate the stream between a backend and its client.
//
// The package does not know the formats of any backend (package translate does), nor how records
// are stored (package store does). A request that is not a run goes through httputil.ReverseProxy
// unchanged.
//
// The package follows AG-UI 1.0, its page on interrupts
// (https://docs.ag-ui.com/concepts/interrupts), and the event-stream format of the HTML standard.
package proxy

import (
	"net/http/httputil"
	"time"

	"holdpoint/proxy/internal/intake"
	"holdpoint/proxy/internal/ledger"
)

// These are defaults of fields of Options, and the bound of the routes that a process remembers.
const (
	defaultRequestBytes    = 16 << 20
	defaultFrameBytes      = 32 << 20
	defaultIdleGrace       = 15 * time.Minute
	defaultTranscriptBytes = 4 << 20
	defaultBodyBytes       = 256 << 20

	maxRoutes = 4096
)

// A Handler is the proxy of one agent. New creates it.
type Handler struct {
	refuser
	opts         Options
	sinks        ledger.Sinks // they receive the events of all threads
	intake       *intake.Intake
	destination  destination
	reverseProxy *httputil.ReverseProxy
	transports   *transports

	memory *processMemory
	runs   runRegistry
}
