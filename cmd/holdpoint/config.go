package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/caarlos0/env/v11"

	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/agentframework"
	"holdpoint/translate/awsstrands"
	"holdpoint/translate/dialects"
	"holdpoint/translate/draft"
	"holdpoint/translate/kit"
	"holdpoint/translate/langgraph"
	"holdpoint/translate/phrases"
	"holdpoint/translate/strands"
	"holdpoint/translate/superagent"
)

// config is the configuration. It is also the reference: `holdpoint -h`, the package comment and the
// table in docs/configuration.md are made from its tags. env: the name behind HOLDPOINT_. doc: what it does, without a full stop. values: what is
// taken, where that is a list.
type config struct {
	Upstream            *url.URL `env:"UPSTREAM" doc:"address of the backend, http or https; the path of a request is appended to its path"`
	UpstreamHeadersFile string   `env:"UPSTREAM_HEADERS_FILE" doc:"file with headers that are added to every request to the backend, a line Name: value each; read at start"`
	PreserveHost        bool     `env:"PRESERVE_HOST" envDefault:"false" doc:"give the client's Host header to the backend instead of the upstream's"`
	Listen              string   `env:"LISTEN" envDefault:":7080" doc:"address to listen on; port 0 takes a free one, which the log names"`

	CORSOrigins origins `env:"CORS_ORIGINS" doc:"origins whose pages may read the answers, origin;origin, such as https://app.example.com or https://*.example.com, or * for all and without credentials; Holdpoint then answers preflights and sets the headers in the backend's place, any request header is allowed; none: what the backend says to an origin holds (docs/browser.md)"`

	Dialect string        `env:"DIALECT" envDefault:"auto" doc:"how the backend pauses; auto finds it in the stream"`
	Client  proxy.Client  `env:"CLIENT" envDefault:"auto" values:"auto|outcome|both|native" doc:"how a client is told of a pause: by the outcome, by a CUSTOM on_interrupt beside it (both) or in the backend's own form (native); auto looks at the request"`
	Refusal proxy.Refusal `env:"REFUSAL" envDefault:"both" values:"both|error|reask" doc:"how a run is refused while something is open: the outcome again and then RUN_ERROR (both), RUN_ERROR alone (error) or the outcome alone (reask)"`
	IDs     proxy.IDs     `env:"IDS" envDefault:"mint" values:"mint|keep" doc:"mint makes interrupt ids unique; keep leaves the backend's own, only for backends that never repeat one"`

	Store          string        `env:"STORE" envDefault:"memory://" doc:"where pauses are kept; memory:// loses them on a restart"`
	StoreEntries   int           `env:"STORE_ENTRIES" envDefault:"100000" doc:"threads that the memory store holds; open pauses are never evicted"`
	StoreBytes     size          `env:"STORE_BYTES" envDefault:"512MiB" doc:"what the memory store holds in all, roughly counted; results go first, then snapshots of pauses, the pauses never"`
	InterruptTTL   time.Duration `env:"INTERRUPT_TTL" envDefault:"0" doc:"expiry given to interrupts that have none; 0 gives none (clients up to 0.0.59 lock a thread whose interrupt has expired)"`
	PauseRetention time.Duration `env:"PAUSE_RETENTION" envDefault:"720h" doc:"how long a pause that nobody answers is kept"`
	ReplayTTL      time.Duration `env:"REPLAY_TTL" envDefault:"24h" doc:"how long the same answers are met with the same result"`

	MaxRequestBytes   size          `env:"MAX_REQUEST_BYTES" envDefault:"16MiB" doc:"largest body of a run; above it the answer is 413"`
	BodyBytes         size          `env:"BODY_BYTES" envDefault:"256MiB" doc:"memory for the bodies of requests that are being read, all together, a quarter of it for small ones; above it the answer is 503"`
	AddressShare      percent       `env:"ADDRESS_SHARE" envDefault:"100%" doc:"how much of the store and of BODY_BYTES one client address may have (IPv6: a network of 64 bits); behind an ingress, or a runtime, all users have one address"`
	MaxFrameBytes     size          `env:"MAX_FRAME_BYTES" envDefault:"8MiB" doc:"largest frame of the backend's stream"`
	TranscriptBytes   size          `env:"TRANSCRIPT_BYTES" envDefault:"4MiB" doc:"what is kept of a stream for snapshots; above it a snapshot is left out"`
	StreamIdleTimeout time.Duration `env:"STREAM_IDLE_TIMEOUT" envDefault:"1h" doc:"how long a backend may be silent in a stream, its heartbeats count; 0 for ever"`
	Heartbeat         time.Duration `env:"HEARTBEAT" envDefault:"15s" doc:"how often a client that hears nothing gets a comment, at least 1s; 0 never"`

	LogLevel  string `env:"LOG_LEVEL" envDefault:"info" values:"debug|info|warn|error" doc:"least level that is logged, to standard error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"auto" values:"auto|json|text" doc:"form of the log; auto is text on a terminal, else json"`

	AgentFramework agentframework.Options `envPrefix:"AGENT_FRAMEWORK_"`
	LangGraph      langgraph.Options      `envPrefix:"LANGGRAPH_"`
	AWSStrands     awsstrands.Options     `envPrefix:"AWS_STRANDS_"`
	Draft          draft.Options          `envPrefix:"DRAFT_"`
	Phrases        phrases.Options        `envPrefix:"CONFIRM_"`
	Strands        strands.Options        `envPrefix:"STRANDS_"`
	Superagent     superagent.Options     `envPrefix:"SUPERAGENT_"`

	headers http.Header // of UpstreamHeadersFile
	ignored []string    // variables that Kubernetes injects
}

// memoryStore is the only HOLDPOINT_STORE so far.
const memoryStore = "memory://"

// load reads the configuration from an environment as os.Environ gives it. The error joins everything that is wrong,
// a line each.
func load(environ []string) (config, error) {
	environment := env.ToMap(environ)
	var c config
	errs := readVariables(&c, environment)
	if environment[prefix+"UPSTREAM"] == "" {
		errs = append(errs, errors.New("config: HOLDPOINT_UPSTREAM is not set, want the address of the backend, such as http://localhost:8000/agent"))
	}
	errs = append(errs, c.check()...)
	unknown, injected := ownNames(environment)
	for _, name := range unknown {
		errs = append(errs, fmt.Errorf("config: %s is no variable of Holdpoint, did you mean %s?", name, nearest(name)))
	}
	c.ignored = injected
	return c, errors.Join(errs...)
}

// check judges what a type alone cannot, and reads the headers.
func (c *config) check() []error {
	var errs []error
	wrong := func(name, value string, err error) {
		errs = append(errs, fmt.Errorf("config: %s%s %s: %w", prefix, name, shownText(value), err))
	}
	if err := checkListen(c.Listen); err != nil {
		wrong("LISTEN", c.Listen, err)
	} else if isOwn(c.Upstream, c.Listen) {
		wrong("UPSTREAM", shownURL(c.Upstream), fmt.Errorf("this is where Holdpoint itself listens (HOLDPOINT_LISTEN %s), want the backend's address", c.Listen))
	}
	if c.Store != memoryStore {
		wrong("STORE", c.Store, errors.New("no such store yet, want "+memoryStore))
	}
	if c.BodyBytes > 0 && c.BodyBytes < 2*c.MaxRequestBytes {
		wrong("BODY_BYTES", c.BodyBytes.String(), fmt.Errorf("want at least twice HOLDPOINT_MAX_REQUEST_BYTES, %s", 2*c.MaxRequestBytes))
	}
	if c.Heartbeat > 0 && c.Heartbeat < time.Second {
		wrong("HEARTBEAT", c.Heartbeat.String(), errors.New("want at least 1s, or 0 for none"))
	}
	if c.PauseRetention == 0 {
		wrong("PAUSE_RETENTION", "0", errors.New("want more than 0, such as 720h"))
	}
	if c.ReplayTTL == 0 {
		wrong("REPLAY_TTL", "0", errors.New("want more than 0, such as 24h"))
	}
	deniesOnly := func(name string, cancel kit.JSON) {
		if err := cancel.DeniesOnly(); err != nil && len(cancel) > 0 { // one that could not be read was reported
			wrong(name, cancel.String(), err)
		}
	}
	if err := c.LangGraph.CheckCancel(); err != nil {
		wrong("LANGGRAPH_CANCEL", c.LangGraph.Cancel.String(), err)
	}
	deniesOnly("AGENT_FRAMEWORK_CANCEL", c.AgentFramework.Cancel)
	deniesOnly("DRAFT_CANCEL", c.Draft.Cancel)
	if err := c.Phrases.CheckYes(); err != nil {
		wrong("CONFIRM_YES", c.Phrases.Yes, err)
	}
	if err := c.Phrases.CheckNo(); err != nil {
		wrong("CONFIRM_NO", c.Phrases.No, err)
	}
	if c.Dialect == phrases.Name && len(c.Phrases.Phrases) == 0 {
		errs = append(errs, fmt.Errorf("config: %sCONFIRM_PHRASES is not set, want phrases, such as default (%sDIALECT=%s)", prefix, prefix, c.Dialect))
	}
	if c.Dialect == superagent.Name && c.Superagent.AgentID == "" {
		errs = append(errs, fmt.Errorf("config: %sSUPERAGENT_AGENT_ID is not set, want the agent's name, as GET /api/v1/agents of the backend lists it (%sDIALECT=%s)", prefix, prefix, c.Dialect))
	}
	if err := c.Superagent.CheckPrefix(); err != nil {
		wrong("SUPERAGENT_PREFIX", c.Superagent.Prefix, err)
	}
	if c.UpstreamHeadersFile != "" {
		headers, err := readHeaders(c.UpstreamHeadersFile)
		for _, err := range split(err) {
			errs = append(errs, fmt.Errorf("config: %sUPSTREAM_HEADERS_FILE: %w", prefix, err))
		}
		c.headers = headers
	}
	return errs
}

// split is the errors that errors.Join joined.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// newHandler is the proxy that c describes.
func newHandler(c config, logger *slog.Logger) (*proxy.Handler, error) {
	dialect, err := dialects.New(c.Dialect, dialects.Options{
		AgentFramework: c.AgentFramework,
		LangGraph:      c.LangGraph,
		AWSStrands:     c.AWSStrands,
		Draft:          c.Draft,
		Phrases:        c.Phrases,
		Strands:        c.Strands,
		Superagent:     c.Superagent,
		Warn:           func(msg string, args ...any) { logger.Warn(msg, args...) },
	})
	if err != nil {
		return nil, err
	}
	return proxy.New(proxy.Options{
		Upstream:        c.Upstream,
		Dialect:         dialect,
		Store:           memory.New(memory.Options{Entries: c.StoreEntries, Bytes: int(c.StoreBytes), Share: c.AddressShare.share(), ReplayTTL: c.ReplayTTL, PauseRetention: c.PauseRetention}),
		Client:          c.Client,
		Refusal:         c.Refusal,
		IDs:             c.IDs,
		InterruptTTL:    c.InterruptTTL,
		MaxRequestBytes: int64(c.MaxRequestBytes),
		BodyBytes:       int64(c.BodyBytes),
		AddressShare:    c.AddressShare.share(),
		MaxFrameBytes:   int(c.MaxFrameBytes),
		TranscriptBytes: int(c.TranscriptBytes),
		IdleTimeout:     c.StreamIdleTimeout,
		Heartbeat:       c.Heartbeat,
		UpstreamHeaders: c.headers,
		PreserveHost:    c.PreserveHost,
		AllowOrigins:    c.CORSOrigins,
		Logger:          logger,
	})
}
