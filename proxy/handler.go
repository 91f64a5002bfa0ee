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
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdpoint/internal/front"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/translate"
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
	sinks       ledger.Sinks      // of the steps of all threads
	foreign     translate.Foreign // the dialect, if its backend does not speak AG-UI
	guard       translate.Guard   // the dialect, if it says which other requests pass
	destination destination
	reverse     *httputil.ReverseProxy
	transports  *transports

	bodyRoom *bodyRoom                        // a Router's agents have one
	routes   *lru.Cache[string, spokenAt]     // by path; clients choose paths
	agents   *lru.Cache[string, struct{}]     // paths whose runs got streams, see isAgents
	passed   *lru.Cache[passedCall, struct{}] // calls that the client answers past us, see noteCall
	leftOpen *lru.Cache[callKey, struct{}]    // see continuation.go
	named    *lru.Cache[store.Key, []string]  // by thread: questions that clients named, see noteNamed
	warned   sync.Map                         // what is logged once

	dialectProved atomic.Bool // the backend was seen to ask in the named dialect, see comparison

	lives  lives
	outage outages
	runIDs runIDs
}

func (h *Handler) once(key string, do func()) {
	if _, done := h.warned.LoadOrStore(key, true); !done {
		do()
	}
}

// routeDialect is the dialect that the path was seen to speak, "" if none was yet.
func (h *Handler) routeDialect(path string) string {
	if _, finds := h.opts.Dialect.(translate.Finder); !finds {
		return h.opts.Dialect.Name()
	}
	at, _ := h.routes.Get(path)
	return at.dialect
}

// A spokenAt is what a path was seen to speak.
type spokenAt struct {
	dialect string
	backend string // see translate.Result.Backend
}

// noteRoute notes what a path was seen to speak. What is known of its backend stays if the dialect
// does.
func (h *Handler) noteRoute(path, dialect, backend string) {
	if before, _ := h.routes.Get(path); backend == "" && before.dialect == dialect {
		backend = before.backend
	}
	h.routes.Add(strings.Clone(path), spokenAt{dialect, backend}) // it may lie in the request's line
}

// clientHash tells clients apart that have shares. It is a hash of the connection's address, and
// for IPv6 of the network, because one customer is given a network. It does not read
// X-Forwarded-For, because its sender can write anything there. It is 0 if there are no shares or
// no address.
func (h *Handler) clientHash(req *http.Request) uint64 {
	if h.opts.AddressShare == 0 {
		return 0
	}
	addr, ok := front.Network(req.RemoteAddr)
	if !ok {
		return 0
	}
	sum := sha256.Sum256(addr.AsSlice())
	return max(binary.LittleEndian.Uint64(sum[:]), 1)
}
