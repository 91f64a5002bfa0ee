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

// Client says how a client is told of a pause, HOLDPOINT_CLIENT.
type Client string

// ClientAuto: the outcome alone once the request declares a protocolVersion or the thread has seen
// a resume array, else both. ClientOutcome: the outcome alone. ClientBoth: a CUSTOM on_interrupt
// beside it. ClientNative: the backend's own form and nothing made.
const (
	ClientAuto    Client = "auto"
	ClientOutcome Client = "outcome"
	ClientBoth    Client = "both"
	ClientNative  Client = "native"
)

// OnDisconnect says what becomes of a run without a claim whose client leaves,
// HOLDPOINT_ON_DISCONNECT.
type OnDisconnect string

// DisconnectCancel: the request to the backend is cancelled. DisconnectFinish: its answer is read
// to the end, so that a question is not lost that it comes to.
const (
	DisconnectCancel OnDisconnect = "cancel"
	DisconnectFinish OnDisconnect = "finish"
)

// Options configure a Handler. Upstream, Dialect and Store are required; zero durations and sizes
// mean "off" where the field says so and the product's default elsewhere.
type Options struct {
	Upstream *url.URL // scheme, host, escaped path and query; requests are appended to its path
	Dialect  translate.Dialect
	Store    store.Store

	// Recognizer finds the dialect of a stream, where Dialect is a named one: the log says if it finds
	// another. nil: nothing is compared.
	Recognizer translate.Finder

	Agent  string          // the agent's name, which tells agents apart that share a store
	Prefix string          // of the paths by which clients reach the agent, if a Router takes it off; see CheckPrefix
	Gate   *principal.Gate // says who asks; nil: nobody in particular

	Client Client // "": auto

	Answers yesno.Rules // a yes and a no of agents that take any value; nil: nothing is known of them

	Sessions bool // the backend keeps the conversation of each thread, and its clients send new messages only

	StoreInMemory bool         // the store loses its records with the process; said where one is missed
	StoreOutage   Outage       // "": refuse
	OnDisconnect  OnDisconnect // "": cancel

	InterruptTTL time.Duration // expiresAt given to interrupts without one; 0: none

	MaxRequestBytes int64         // of a run's body, 413 above; 0: 16 MiB
	BodyBytes       int64         // of all bodies that are being read, 503 above; a large one has three quarters of it. 0: 256 MiB
	AddressShare    int           // of BodyBytes, and of what the store deals out, for one client address, in hundredths; 0: no bound
	MaxFrameBytes   int           // of one frame of the upstream's stream; 0: 32 MiB
	TranscriptBytes int           // kept per stream for snapshots; 0: 4 MiB
	IdleTimeout     time.Duration // of a silent upstream; 0: off
	ResumeIdleGrace time.Duration // how long a run with answers is waited for after its client was told of the silence; 0: 15 minutes
	WriteTimeout    time.Duration // of one write to a client; 0: 1 minute
	Heartbeat       time.Duration // comments towards a client that hears nothing; 0: off

	UpstreamHeaders http.Header // set on every request to the backend
	PreserveHost    bool        // the client's Host goes to the backend

	// UpstreamTLS makes the configuration of a new connection to the backend, which is to offer
	// protocols (ALPN), the best first. Nil: the system's authorities and no client certificate.
	UpstreamTLS   func(protocols ...string) *tls.Config
	UpstreamHTTP2 bool // HTTP/2 where the backend takes it (https), or from the first byte (http)

	Underscores Underscores // "": refuse

	UpstreamKeepAlive time.Duration // how long a connection to the backend may be idle; 0: 900 ms

	// AllowOrigins are the origins whose pages may read every answer: scheme://host[:port], the
	// host's first label may be "*"; or "*" alone. Nil: what the backend says to an origin holds,
	// and is repeated on Holdpoint's own answers.
	AllowOrigins []string

	// Events hears what happens to questions and answers; nil: nobody does. EventsRequired says that
	// no answer is handed on unless its event was taken before.
	Events         event.Sink
	EventsRequired bool
	ShowPrincipal  principal.NameStyle // in events and in the log

	// Notices makes of an event what is to be sent of it, if anything is. It then stands in the record
	// until it is sent. Posted is told of each record that has something to send, and must not wait.
	// nil: nothing is sent.
	Notices func(*event.Event) (store.Notice, bool)
	Posted  func(store.Key)

	// Elsewhere says that questions may be decided at other doors than the chat; nil: they may not.
	Elsewhere *OtherDoors

	// Tracer makes spans of runs; nil: there are none, and traceparent passes as it came.
	Tracer Tracer

	// RunEnded is told of each run that has ended; nil: nobody is. It must not take long.
	RunEnded func(*event.Run)

	Logger    *slog.Logger      // nil: discarded
	Transport http.RoundTripper // nil: made for the purpose. Another than *http.Transport must fail with a "dial" net.OpError where nothing was sent

	Now   func() time.Time // nil: time.Now. Only for what the store's clock does not decide
	NewID func() string    // nil: 72 random bits in base64url; the random part of ids
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

// Underscores names what becomes of a request with a header whose name has an underscore.
type Underscores = intake.Underscores

// UnderscoresRefuse: 400. UnderscoresDrop: the header does not reach the backend. UnderscoresPass:
// it does.
const (
	UnderscoresRefuse = intake.UnderscoresRefuse
	UnderscoresDrop   = intake.UnderscoresDrop
	UnderscoresPass   = intake.UnderscoresPass
)
