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

// Client is the form in which a client gets a question (HOLDPOINT_CLIENT).
type Client string

//   - ClientAuto: like ClientOutcome if the request declares a protocolVersion, or if a client of
//     the thread has sent a resume array. Otherwise like ClientBoth.
//   - ClientOutcome: only the outcome of RUN_FINISHED.
//   - ClientBoth: the outcome, and a CUSTOM event on_interrupt.
//   - ClientNative: the backend's own form, to which Holdpoint adds no form of its own.
const (
	ClientAuto    Client = "auto"
	ClientOutcome Client = "outcome"
	ClientBoth    Client = "both"
	ClientNative  Client = "native"
)

// OnDisconnect is the setting for what happens to a run without a claim when its client leaves
// (HOLDPOINT_ON_DISCONNECT).
type OnDisconnect string

// DisconnectCancel cancels the request to the backend. DisconnectFinish reads the response to its
// end, so that a question of the run is not lost.
const (
	DisconnectCancel OnDisconnect = "cancel"
	DisconnectFinish OnDisconnect = "finish"
)

// Options configure a Handler. Upstream, Dialect and Store are required. For a duration or a size,
// zero turns the feature off if the comment of the field says so. Otherwise zero means the default.
type Options struct {
	Upstream *url.URL // scheme, host, escaped path and query; the path of a request is appended
	Dialect  translate.Dialect
	Store    store.Store

	// Recognizer finds the dialect that a stream speaks. If Dialect is a certain dialect and the
	// stream speaks another one, the log has a warning. nil turns this comparison off.
	Recognizer translate.Finder

	Agent  string          // the agent's name, which distinguishes agents that share a store
	Prefix string          // prefix that a Router removes from the paths of the agent; see CheckPrefix
	Gate   *principal.Gate // identifies the sender of a request; nil: senders stay unknown

	Client Client // "" means auto

	// The values that mean yes and no to agents that accept any value; nil: it is not known.
	Answers yesno.Rules

	Sessions bool // the backend keeps the conversation of each thread, and its clients send only new messages

	// The process keeps the records in memory and loses them when it ends. A refusal of an unknown
	// question mentions this.
	StoreInMemory bool
	StoreOutage   Outage       // "" means refuse
	OnDisconnect  OnDisconnect // "" means cancel

	// sets expiresAt of interrupts that have no expiry; 0: they never expire
	InterruptTTL time.Duration

	MaxRequestBytes int64 // largest body of a run, a larger one gets status 413; 0: 16 MiB
	// The memory for all bodies that are being read, in bytes. A body gets status 503 if no memory
	// is left. Large bodies may use three quarters of it. 0: 256 MiB.
	BodyBytes int64
	// The share of BodyBytes and of the store that one client address may use, in percent; 0: no
	// limit.
	AddressShare    int
	MaxFrameBytes   int // largest frame of the backend's stream; 0: 32 MiB
	TranscriptBytes int // bytes of each stream that are kept for snapshots; 0: 4 MiB
	// ends the request to a backend that is silent for so long; 0: never
	IdleTimeout time.Duration
	// After a client with answers was told that the backend is silent, Holdpoint waits for the run
	// for this time. 0: 15 minutes.
	ResumeIdleGrace time.Duration
	WriteTimeout    time.Duration // time limit of one write to a client; 0: 1 minute
	// interval of comments to a client that gets no events; 0: no comments
	Heartbeat time.Duration

	UpstreamHeaders http.Header // headers set on every request to the backend
	PreserveHost    bool        // send the client's Host header to the backend

	// UpstreamTLS returns the TLS configuration for a new connection to the backend. The connection
	// offers the given protocols (ALPN), in order of preference. nil: the certificate authorities
	// of the system, and no client certificate.
	UpstreamTLS func(protocols ...string) *tls.Config
	// Use HTTP/2 to the backend: with https if the backend accepts it, with http from the first
	// byte.
	UpstreamHTTP2 bool

	Underscores Underscores // "" means refuse

	UpstreamKeepAlive time.Duration // how long an idle connection to the backend is kept; 0: 900 ms

	// AllowOrigins lists the origins whose pages may read every response. An origin is
	// scheme://host[:port]; the first label of the host may be "*". "*" alone allows all origins.
	// nil: Holdpoint's own responses allow what the backend has allowed to the origin.
	AllowOrigins []string

	// Events receives the events about questions and answers. nil: no events are reported. If
	// EventsRequired is set, an answer is sent to the backend only after Events has accepted the
	// event about it.
	Events         event.Sink
	EventsRequired bool
	ShowPrincipal  principal.NameStyle // how events and the log name the principal

	// Notices returns the notice to send about an event, and false if there is no notice to send.
	// The record keeps the notice until it is sent. Posted is called with the key of each record
	// that got such a notice, and must not block. If the functions are nil, no notices are sent.
	Notices   func(*event.Event) (store.Notice, bool)
	OnNotices func(store.Key)

	// OtherDoors permits decisions by other doors than the chat, such as the desk. nil: only the
	// chat decides.
	OtherDoors *OtherDoors

	// Tracer makes the trace spans of runs. nil: no spans are made, and traceparent is passed on
	// unchanged.
	Tracer Tracer

	// RunEnded is called after each run, and must return quickly. It may be nil.
	RunEnded func(*event.Run)

	Logger *slog.Logger // nil: nothing is logged
	// nil: New makes a transport. If a transport is not an *http.Transport and has sent nothing, it
	// must return a net.OpError with Op "dial".
	Transport http.RoundTripper

	Now   func() time.Time // nil: time.Now. It is not used where the clock of the store decides.
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
		errs = append(errs, errors.New(textNoUpstream))
	}
	if o.Dialect == nil {
		errs = append(errs, errors.New(textNoDialect))
	}
	if o.Store == nil {
		errs = append(errs, errors.New(textNoStore))
	}
	if err := CheckPrefix(o.Prefix); err != nil {
		errs = append(errs, fmt.Errorf(textPrefix, o.Prefix, err))
	}
	return errors.Join(errs...)
}

// Underscores is the setting for requests that have a header with an underscore in its name.
type Underscores = intake.Underscores

// UnderscoresRefuse answers such a request with status 400. UnderscoresDrop removes the header.
// UnderscoresPass sends the header to the backend.
const (
	UnderscoresRefuse = intake.UnderscoresRefuse
	UnderscoresDrop   = intake.UnderscoresDrop
	UnderscoresPass   = intake.UnderscoresPass
)
