package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"holdpoint/internal/event"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/intake"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/yesno"
)

// Client says in which form a client is shown a pause, HOLDPOINT_CLIENT.
type Client string

//   - ClientAuto: as ClientOutcome if the request declares a protocolVersion or the thread has had
//     a resume array, else as ClientBoth.
//   - ClientOutcome: the outcome of RUN_FINISHED only.
//   - ClientBoth: the outcome, and a CUSTOM event on_interrupt.
//   - ClientNative: the backend's own form, without any addition of Holdpoint.
const (
	ClientAuto    Client = "auto"
	ClientOutcome Client = "outcome"
	ClientBoth    Client = "both"
	ClientNative  Client = "native"
)

// OnDisconnect says what happens to a run without a claim when its client leaves,
// HOLDPOINT_ON_DISCONNECT.
type OnDisconnect string

// DisconnectCancel cancels the request to the backend. DisconnectFinish reads the response to its
// end, so that a question that the run raises is not lost.
const (
	DisconnectCancel OnDisconnect = "cancel"
	DisconnectFinish OnDisconnect = "finish"
)

// Options configure a Handler. Upstream, Dialect and Store are required. A zero duration or size
// turns the feature off if the comment of the field says so, and otherwise means the default.
type Options struct {
	Upstream *url.URL // scheme, host, escaped path and query; the path of a request is appended
	Dialect  translate.Dialect
	Store    store.Store

	// Recognizer finds the dialect of a stream if Dialect is a named one: the log warns if the two
	// differ. nil turns the comparison off.
	Recognizer translate.Finder

	Agent  string          // the agent's name, which distinguishes agents that share a store
	Prefix string          // prefix that a Router removes from the paths of the agent; see CheckPrefix
	Gate   *principal.Gate // identifies the sender of a request; nil: senders are not identified

	Client Client // "": auto

	Answers yesno.Rules // the values that mean yes and no to agents that accept any value; nil: unknown

	Sessions bool // the backend keeps the conversation of each thread, and its clients send only new messages

	StoreInMemory bool         // the store loses its records with the process; refusals of unknown questions mention it
	StoreOutage   Outage       // "": refuse
	OnDisconnect  OnDisconnect // "": cancel

	InterruptTTL time.Duration // time until expiresAt of interrupts that have none; 0: no expiry

	MaxRequestBytes int64         // largest body of a run, 413 if larger; 0: 16 MiB
	BodyBytes       int64         // memory for all bodies that are being read, 503 if it is used up; large bodies get three quarters of it. 0: 256 MiB
	AddressShare    int           // share of one client address in BodyBytes and in the store, in percent; 0: no limit
	MaxFrameBytes   int           // largest frame of the backend's stream; 0: 32 MiB
	TranscriptBytes int           // bytes of each stream that are kept for snapshots; 0: 4 MiB
	IdleTimeout     time.Duration // time after which a silent backend is given up; 0: never
	ResumeIdleGrace time.Duration // how long Holdpoint waits for a run with answers after its client was told that the backend is silent; 0: 15 minutes
	WriteTimeout    time.Duration // time limit of one write to a client; 0: 1 minute
	Heartbeat       time.Duration // interval of comments to a client that gets no events; 0: off

	UpstreamHeaders http.Header // headers set on every request to the backend
	PreserveHost    bool        // send the client's Host header to the backend

	// UpstreamTLS returns the TLS configuration of a new connection to the backend, which offers
	// the protocols (ALPN) in order of preference. nil: the system's authorities and no client
	// certificate.
	UpstreamTLS   func(protocols ...string) *tls.Config
	UpstreamHTTP2 bool // use HTTP/2: if the backend accepts it (https), or from the first byte (http)

	Underscores Underscores // "": refuse

	UpstreamKeepAlive time.Duration // time for which an idle connection to the backend is kept; 0: 900 ms

	// AllowOrigins lists the origins whose pages may read every response: scheme://host[:port],
	// where the first label of the host may be "*"; or "*" alone. nil: Holdpoint's own responses
	// repeat what the backend allowed to the origin.
	AllowOrigins []string

	// Events receives the events of questions and answers; nil: they are not reported. If
	// EventsRequired is set, an answer is sent to the backend only after Events has accepted its
	// event.
	Events         event.Sink
	EventsRequired bool
	ShowPrincipal  principal.NameStyle // how events and the log name the principal

	// Notices returns the notice to send about an event, and whether there is one. The record keeps
	// the notice until it is sent. Posted is called with the key of each record that has a notice
	// to send, and must not block. nil: no notices are sent.
	Notices func(*event.Event) (store.Notice, bool)
	Posted  func(store.Key)

	// Elsewhere permits decisions at doors other than the chat; nil: there are none.
	Elsewhere *OtherDoors

	// Tracer makes the spans of runs; nil: there are no spans, and traceparent is passed on
	// unchanged.
	Tracer Tracer

	// RunEnded is called after each run; nil: it is not. It must return quickly.
	RunEnded func(*event.Run)

	Logger    *slog.Logger      // nil: discarded
	Transport http.RoundTripper // nil: a transport made by New. A transport that is not an *http.Transport must return a net.OpError with Op "dial" if nothing was sent

	Now   func() time.Time // nil: time.Now. Not used where the store's clock decides
	NewID func() string    // returns the random part of an id; nil: 72 random bits in base64url
}

// isForeign reports whether the backend does not speak AG-UI.
func (o *Options) isForeign() bool {
	_, foreign := o.Dialect.(translate.Foreign)
	return foreign
}

func (o *Options) validate() error {
	var errs []error
	if o.Upstream == nil || o.Upstream.Host == "" {
		errs = append(errs, errors.New("proxy: no upstream"))
	}
	if o.Dialect == nil {
		errs = append(errs, errors.New("proxy: no dialect"))
	}
	if o.Store == nil {
		errs = append(errs, errors.New("proxy: no store"))
	}
	if err := CheckPrefix(o.Prefix); err != nil {
		errs = append(errs, fmt.Errorf("proxy: prefix %q: %w", o.Prefix, err))
	}
	return errors.Join(errs...)
}

// Underscores says what happens to a request with a header whose name has an underscore.
type Underscores = intake.Underscores

// UnderscoresRefuse answers 400. UnderscoresDrop removes the header. UnderscoresPass sends it to
// the backend.
const (
	UnderscoresRefuse = intake.UnderscoresRefuse
	UnderscoresDrop   = intake.UnderscoresDrop
	UnderscoresPass   = intake.UnderscoresPass
)
