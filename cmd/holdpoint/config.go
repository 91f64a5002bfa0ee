package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/caarlos0/env/v11"

	"holdpoint/internal/desk/api"
	"holdpoint/internal/desk/policy"
	"holdpoint/internal/edge/certificates"
	"holdpoint/internal/edge/listen"
	"holdpoint/internal/observe/audit"
	"holdpoint/internal/observe/metrics"
	"holdpoint/internal/observe/trace"
	"holdpoint/internal/principal"
	"holdpoint/internal/variables"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/translate/dialects"
)

// config is the configuration. It is also the reference: `holdpoint -h`, the package comment and
// the table in docs/configuration.md are made from its tags.
//
// The tag env is the name behind HOLDPOINT_. doc says what the variable does, without a full stop
// at the end. values lists the values that are taken, if only some are.
type config struct {
	Agent

	Listen          string `env:"LISTEN" envDefault:":7080" doc:"address to listen on, host:port or unix:///path/of.sock (docs/operations.md#unix-sockets). Port 0 takes a free port, and the log names it"`
	TLSCertFile     string `env:"TLS_CERT_FILE" doc:"file with the certificate of the listener, and those between it and its authority (PEM). With it HOLDPOINT_LISTEN speaks TLS only, HTTP/2 included. It is read again when it changes (docs/limits.md#tls)"`
	TLSKeyFile      string `env:"TLS_KEY_FILE" doc:"file with its private key (PEM)"`
	TLSClientCAFile string `env:"TLS_CLIENT_CA_FILE" doc:"file with authorities (PEM). A client then needs a certificate of theirs"`
	H2C             bool   `env:"H2C" envDefault:"false" doc:"take HTTP/2 without TLS too, from clients that know of it"`
	AdminListen     string `env:"ADMIN_LISTEN" envDefault:"127.0.0.1:7081" doc:"address of /healthz, /readyz, /startupz and /buildinfo, in the same forms, or off (docs/operations.md). If the default is in use Holdpoint goes on without; if a given one is, it does not start"`
	PProf           bool   `env:"PPROF" envDefault:"false" doc:"open Go's profiles at /debug/pprof/ on the admin listener"`

	Store             storeAddress  `env:"STORE" envDefault:"memory://" doc:"where pauses are kept (docs/state.md). memory:// loses them on a restart. bolt:///var/lib/holdpoint/state.db is a file for one process. postgres://user@host/database and redis://host:6379 are for several, also rediss://, redis+sentinel:// and redis+cluster://"`
	StorePasswordFile string        `env:"STORE_PASSWORD_FILE" doc:"file with the password of HOLDPOINT_STORE, so that its address need not hold one. It is read at start and on HUP"`
	StoreOutage       proxy.Outage  `env:"STORE_OUTAGE" envDefault:"refuse" values:"refuse|pass" doc:"what becomes of runs without answers while the store cannot be asked: they are refused, or go to the backend, also on a thread that waits for an answer. A run with answers is always refused"`
	StoreReplicas     int           `env:"STORE_REPLICAS" doc:"how many replicas of Redis must have a question, or the claim of an answer, before it counts. Without them it fails"`
	StoreEntries      int           `env:"STORE_ENTRIES" envDefault:"100000" doc:"how many threads may wait for an answer. Above it a new question gets STORE_FULL. memory:// counts threads that can be replayed too, and gives those up first. The other stores are counted every 5s, so that several replicas can go a little over it"`
	StoreBytes        size          `env:"STORE_BYTES" envDefault:"512MiB" doc:"how much memory:// holds in all, roughly counted. For room it gives up results first, then the snapshots of pauses, and never a pause"`
	StoreRecordBytes  size          `env:"STORE_RECORD_BYTES" envDefault:"1MiB" doc:"how large the record of one thread may be, roughly counted. Above it the messages and the state for replays are left out, and never the pause"`
	StoreKeys         secret        `env:"STORE_KEYS" doc:"keys that records are sealed with, the newest first: id:key,id:key with 32 bytes in base64 each. The word plain in the place of a key lets records be read that are not sealed"`
	StoreKeysFile     string        `env:"STORE_KEYS_FILE" doc:"file with the value of STORE_KEYS. It is read at start and on HUP"`
	InterruptTTL      time.Duration `env:"INTERRUPT_TTL" envDefault:"0" doc:"expiry for interrupts that have none; 0 gives none. Clients up to 0.0.59 lock a thread whose interrupt has expired"`
	PauseRetention    time.Duration `env:"PAUSE_RETENTION" envDefault:"720h" doc:"how long a pause is kept that nobody answers"`
	ReplayTTL         time.Duration `env:"REPLAY_TTL" envDefault:"24h" doc:"how long the same answers get the same result again"`

	MaxRequestBytes   size          `env:"MAX_REQUEST_BYTES" envDefault:"16MiB" doc:"largest body of a run. A larger one gets 413"`
	BodyBytes         size          `env:"BODY_BYTES" envDefault:"256MiB" doc:"memory for all request bodies that are being read, a quarter of it for small ones. Above it the answer is 503"`
	AddressShare      percent       `env:"ADDRESS_SHARE" envDefault:"100%" doc:"how much of BODY_BYTES, and of a store in memory, one client address may have (for IPv6, a network of 64 bits). Behind an ingress or a runtime all users have one address"`
	MaxFrameBytes     size          `env:"MAX_FRAME_BYTES" envDefault:"32MiB" doc:"largest frame of the backend's stream. Adapters repeat the whole conversation in one frame, so it must be larger than MAX_REQUEST_BYTES"`
	TranscriptBytes   size          `env:"TRANSCRIPT_BYTES" envDefault:"4MiB" doc:"how much of a stream is kept for snapshots. Above it a snapshot is left out"`
	StreamIdleTimeout time.Duration `env:"STREAM_IDLE_TIMEOUT" envDefault:"1h" doc:"how long a backend may send nothing in a stream, not even a heartbeat; 0 is for ever"`
	ResumeIdleGrace   time.Duration `env:"RESUME_IDLE_GRACE" envDefault:"15m" doc:"how long a run with answers is waited for after its client was told UPSTREAM_IDLE. Then its answers are in doubt, and its thread takes other runs"`
	Heartbeat         time.Duration `env:"HEARTBEAT" envDefault:"15s" doc:"how often a client that hears nothing gets a comment, at least 1s; 0 is never"`

	WriteTimeout       time.Duration     `env:"WRITE_TIMEOUT" envDefault:"1m" doc:"how long a client may read nothing while something is being written to it, at least 1s. It is cut then"`
	MaxHeaderBytes     size              `env:"MAX_HEADER_BYTES" envDefault:"64KiB" doc:"largest header of a request. A larger one gets 431"`
	HeaderTimeout      time.Duration     `env:"HEADER_TIMEOUT" envDefault:"10s" doc:"how long the header of a request may take, and a TLS handshake. A slower header gets 408"`
	KeepAlive          time.Duration     `env:"KEEP_ALIVE" envDefault:"2m" doc:"how long a connection may wait for its next request. A load balancer in front must wait for less"`
	MaxConnections     int               `env:"MAX_CONNECTIONS" envDefault:"20000" doc:"how many connections of clients there may be at once. Above it the answer is 503"`
	AddressConnections int               `env:"ADDRESS_CONNECTIONS" doc:"how many of them one client address may have (for IPv6, a network of 64 bits). Above it the answer is 429. HOLDPOINT_TRUSTED_PEERS have no such bound"`
	HeaderUnderscores  proxy.Underscores `env:"HEADER_UNDERSCORES" envDefault:"refuse" values:"refuse|drop|pass" doc:"what becomes of a request with a header whose name has an underscore, which some backends take for another header (docs/limits.md#requests-that-are-refused). drop takes out the header only"`

	OnDisconnect proxy.OnDisconnect `env:"ON_DISCONNECT" envDefault:"cancel" values:"cancel|finish" doc:"what becomes of a run whose client leaves: its request to the backend is cancelled, or read on for an hour at most, so that a question is kept that it comes to. Until then its thread takes no other run. A run that carries answers is always read on"`

	DrainDelay   time.Duration `env:"DRAIN_DELAY" envDefault:"5s" doc:"how long connections are still taken after TERM or a drain, while load balancers learn that it is not ready"`
	DrainTimeout time.Duration `env:"DRAIN_TIMEOUT" envDefault:"20s" doc:"how long open streams run on after that, any length. What is left then gets PROXY_DRAINING. With 5s more the two must fit the grace period of whoever kills (docs/operations.md#the-grace-period)"`

	LogLevel  string `env:"LOG_LEVEL" envDefault:"info" values:"debug|info|warn|error" doc:"lowest level that is logged, to standard error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"auto" values:"auto|json|text" doc:"form of the log. auto is text on a terminal, else json"`

	Audit         auditTarget     `env:"AUDIT" envDefault:"off" doc:"where to write down who asked and answered what (docs/audit.md): off, stdout, or a file such as file:///var/log/holdpoint/audit.jsonl. One process writes to a file"`
	AuditPayload  auditPayload    `env:"AUDIT_PAYLOAD" envDefault:"false" doc:"true: write the questions, the arguments of their calls and the answers into the audit, and not only digests of them. none: leave out the comments of the desk as well"`
	AuditRequired bool            `env:"AUDIT_REQUIRED" envDefault:"false" doc:"refuse an answer with AUDIT_UNAVAILABLE if it cannot be written down before it is handed on. Each line is on the disk then before anything goes on"`
	ShowPrincipal principal.Shown `env:"SHOW_PRINCIPAL" envDefault:"hash" values:"hash|name|none" doc:"how the audit, the log and the desk name the user: by the keyed hash that the records have, by the name, which the records then have too, or not at all"`

	WebhookURL          secret     `env:"WEBHOOK_URL" doc:"address that is told of questions and of what becomes of them, by POST (docs/webhook.md). https only, and to a public address, unless WEBHOOK_PRIVATE says otherwise. No proxy of the environment is used"`
	WebhookEvents       eventKinds `env:"WEBHOOK_EVENTS" doc:"which events are sent: event,event. Without it those that say that a question was asked and how it ended. There are resume.claimed and resume.released too"`
	WebhookContent      bool       `env:"WEBHOOK_CONTENT" envDefault:"false" doc:"send the questions' messages, the arguments of their calls and the answers as well. They may end on lock screens"`
	WebhookTemplateFile string     `env:"WEBHOOK_TEMPLATE_FILE" doc:"file with a Go template that makes the body, such as those in deploy/webhook"`
	WebhookSecret       secret     `env:"WEBHOOK_SECRET" doc:"secret that events are signed with (Standard Webhooks): whsec_ and base64. Several with commas sign each event several times, to change one"`
	WebhookSecretFile   string     `env:"WEBHOOK_SECRET_FILE" doc:"file with the value of WEBHOOK_SECRET"`
	WebhookPrivate      bool       `env:"WEBHOOK_PRIVATE" envDefault:"false" doc:"let the webhook go to a private address or loopback, and by http. Link-local addresses, such as those of a cloud's metadata, stay refused"`

	DeskListen      string        `env:"DESK_LISTEN" envDefault:"off" doc:"address of the API that lists what waits, in the same forms as LISTEN, or off (docs/desk.md). elsewhere: another process on the store has it, and this one carries what is decided there. It wants a token from everybody, on loopback too. With HOLDPOINT_TLS_CERT_FILE it speaks TLS"`
	DeskAuth        deskAuth      `env:"DESK_AUTH" envDefault:"token" values:"token|header|jwt" doc:"how a caller of the desk says who it is: by a token of DESK_TOKEN_FILE, by the header of a trusted proxy such as oauth2-proxy, or by a bearer token of an issuer (docs/desk.md#who)"`
	DeskToken       secret        `env:"DESK_TOKEN" doc:"token of the desk's callers, of at least 32 characters. Several with commas, to change one"`
	DeskURL         deskURL       `env:"DESK_URL" doc:"address of the desk's page as people open it, such as https://desk.example.com. The events of the webhook have links to it then"`
	DeskCarryWithin time.Duration `env:"DESK_CARRY_WITHIN" envDefault:"1h" doc:"how old a decision of the desk may be for Holdpoint to carry it to the backend by itself. An older one waits for the chat. 0: each one does"`
	DeskCarry       deskCarry     `env:"DESK_CARRY" envDefault:"any" values:"any|home" doc:"which process of several on the store carries a decision: any, or home, the one that has seen the question. That is for a backend that holds its questions in its own process, with a Holdpoint before each"`
	DeskTools       deskTools     `env:"DESK_TOOLS" envDefault:"wait" values:"wait|keep" doc:"what becomes of a decision where the run declared tools of its client's: it waits for the chat, which alone can answer their calls, or Holdpoint carries it all the same"`
	DeskTokenFile   string        `env:"DESK_TOKEN_FILE" doc:"file with tokens in lines: a token, or a name, its groups if it has some, and sha256: with the hash of a token. It is read at start and on HUP"`

	DeskPrincipal    string  `env:"DESK_PRINCIPAL" doc:"header (header) or claim (jwt, sub without it) that names a caller of the desk"`
	DeskGroups       string  `env:"DESK_GROUPS" doc:"header or claim that has its groups: with commas between them, or a list"`
	DeskTrustedPeers peers   `env:"DESK_TRUSTED_PEERS" doc:"networks of the proxy in front of the desk, whose headers are believed there: network;network. Without it those of TRUSTED_PEERS"`
	DeskJWTIssuer    string  `env:"DESK_JWT_ISSUER" doc:"issuer (iss) of the bearer tokens of callers of the desk"`
	DeskJWTAudience  string  `env:"DESK_JWT_AUDIENCE" doc:"audience (aud) that such a token must be for. It is not JWT_AUDIENCE: the agent gets those of its users"`
	DeskJWKSURL      keysURL `env:"DESK_JWT_JWKS_URL" doc:"address of that issuer's keys, a JWK set"`
	Policy           string  `env:"POLICY" doc:"YAML file that says who has which rights at the desk (docs/desk.md#rights). It is read at start, on HUP, and when it changes. Without it each caller of the desk has all rights"`

	TenantHeader     string  `env:"TENANT_HEADER" doc:"header that names the tenant. Threads of two tenants are two threads, whatever their ids (docs/principals.md)"`
	PrincipalHeader  string  `env:"PRINCIPAL_HEADER" doc:"header that names the user, set by a proxy in front. A thread belongs to the user of its first run, and nobody else gets through (docs/principals.md)"`
	TrustedPeers     peers   `env:"TRUSTED_PEERS" doc:"networks of the proxy that sets these headers: network;network, such as 10.0.0.0/8. From everybody else they are refused"`
	JWTIssuer        string  `env:"JWT_ISSUER" doc:"issuer (iss) of the bearer tokens that name the user, in place of a header. A request without a valid token is refused"`
	JWTAudience      string  `env:"JWT_AUDIENCE" doc:"audience (aud) that a token must be for"`
	JWKSURL          keysURL `env:"JWT_JWKS_URL" doc:"address of the issuer's keys, a JWK set"`
	JWTClaim         string  `env:"JWT_CLAIM" envDefault:"sub" doc:"claim of the token whose text is the user"`
	PrincipalKey     secret  `env:"PRINCIPAL_KEY" doc:"secret keys of at least 32 characters, newest first: key,key. Records name their owner by a hash under them. Required with a user"`
	PrincipalKeyFile string  `env:"PRINCIPAL_KEY_FILE" doc:"file with these keys instead, a line each. It is read at start and on HUP"`
	ThreadNamespace  string  `env:"THREAD_NAMESPACE" envDefault:"none" values:"none|principal" doc:"principal: the backend gets a hash of tenant, user and thread as thread id, so that a thread of another user is another thread (docs/principals.md)"`

	principalKeys principal.Ring

	routes  []*route
	ring    engine.Ring // of StoreKeys
	ignored []string    // variables that Kubernetes injects

	listen, admin, desk listen.Address // of Listen, AdminListen and DeskListen
	adminGiven          bool           // AdminListen is not the default
	deskTokens          []api.Token
	deskMakes           bool         // a token, for there is none
	policy              *policy.File // of Policy; nil: there is none
	deskOnly            bool         // it is for `holdpoint desk`

	gate  *principal.Gate // made with the handler
	spans *trace.Tracer   // nil: none are made
	audit *audit.Log      // opened before the store; nil: there is none
	hook  *hook           // of the webhook; nil: there is none

	storeForgets func(context.Context) bool // of the store that was opened; nil: it never does

	metrics   *metrics.Metrics
	serverTLS *certificates.Set // nil if no file is named
}

// memoryStore is the default of HOLDPOINT_STORE.
const memoryStore = "memory://"

// newConfig is the configuration of an empty environment. It lacks what is required.
func newConfig(list dialects.List) *config {
	c := &config{Agent: Agent{prefix: prefix, dialects: list}}
	c.group().Read(nil)
	c.metrics = c.newMetrics()
	return c
}

func (c *config) group() variables.Group { return variables.Group{Prefix: prefix, Options: c} }

// load reads the configuration from an environment as os.Environ gives it, and the options of the
// dialects into the list. The error joins everything that is wrong, a line each.
func load(environ []string, list dialects.List) (*config, error) {
	return loadFor(environ, list, false)
}

// loadFor is load. deskOnly: it is for the desk alone, which has no agent.
func loadFor(environ []string, list dialects.List, deskOnly bool) (*config, error) {
	environment := env.ToMap(environ)
	c := newConfig(list)
	c.deskOnly = deskOnly
	errs := slices.Concat(c.group().Read(environment), list.Read(environment))
	c.adminGiven = environment[prefix+"ADMIN_LISTEN"] != ""
	routes, routeErrs := readRoutes(environment, list)
	c.routes = routes
	if environment[prefix+"UPSTREAM"] == "" && len(routes) == 0 && !deskOnly {
		errs = append(errs, errors.New("HOLDPOINT_UPSTREAM is not set, want the address of the backend, such as http://localhost:8000/agent"))
	}
	errs = slices.Concat(errs, c.check(), routeErrs, c.checkRoutes())
	if deskOnly {
		errs = append(errs, c.checkDeskOnly()...)
	}
	known := c.known()
	unknown, injected := ownNames(environment, known)
	for _, name := range unknown {
		errs = append(errs, unknownName(name, known))
	}
	c.ignored, c.metrics = injected, c.newMetrics() // with the names that were read
	for i := range errs {
		errs[i] = fmt.Errorf("config: %w", errs[i])
	}
	return c, errors.Join(errs...)
}

// check judges what the types alone cannot judge, and reads the headers.
func (c *config) check() []error {
	var errs []error
	wrong := func(name string, err error) { errs = append(errs, c.group().Wrong(name, err)) }
	if c.isSet() || len(c.routes) == 0 {
		errs = append(errs, c.checkAgent()...)
	}
	errs = append(errs, c.checkListen()...)
	errs = append(errs, c.checkDesk()...)
	errs = append(errs, c.checkEdge()...)
	c.checkStore(wrong)
	c.checkAudit(wrong)
	c.checkWebhook(wrong)
	if c.BodyBytes > 0 && c.BodyBytes < 2*c.MaxRequestBytes {
		wrong("BODY_BYTES", fmt.Errorf("want at least twice HOLDPOINT_MAX_REQUEST_BYTES, %s", 2*c.MaxRequestBytes))
	}
	if c.ResumeIdleGrace == 0 {
		wrong("RESUME_IDLE_GRACE", errors.New("want more than 0, such as 15m"))
	}
	if c.Heartbeat > 0 && c.Heartbeat < time.Second {
		wrong("HEARTBEAT", errors.New("want at least 1s, or 0 for none"))
	}
	if c.PauseRetention == 0 {
		wrong("PAUSE_RETENTION", errors.New("want more than 0, such as 720h"))
	}
	if c.ReplayTTL == 0 {
		wrong("REPLAY_TTL", errors.New("want more than 0, such as 24h"))
	}
	errs = append(errs, c.checkWho()...)
	return errs
}

// split returns the errors that errors.Join joined.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

// newHandler is the proxy for the agent of HOLDPOINT_UPSTREAM, on a store.
func newHandler(c *config, kept store.Store, logger *slog.Logger) (*proxy.Handler, error) {
	c.gate = c.newGate(logger)
	return c.newHandlerOf(&c.Agent, c.metrics.Store(kept), logger)
}

// newHandlerOf is the proxy for one agent. What is not the agent's own is c's.
func (c *config) newHandlerOf(a *Agent, kept store.Store, logger *slog.Logger) (*proxy.Handler, error) {
	dialect, err := a.dialects.New(a.Dialect, logger.Warn)
	if err != nil {
		return nil, err
	}
	recognizer, err := a.dialects.Recognizer(a.Dialect)
	if err != nil {
		return nil, err
	}
	return proxy.New(proxy.Options{
		Agent:           a.Name,
		Prefix:          a.path,
		Upstream:        a.Upstream.URL,
		Dialect:         dialect,
		Recognizer:      recognizer,
		Client:          a.Client,
		Answers:         a.Answers,
		Sessions:        a.Sessions,
		UpstreamHeaders: a.headers,
		PreserveHost:    a.PreserveHost,
		AllowOrigins:    a.CORSOrigins,
		UpstreamTLS:     a.clientTLS(),
		UpstreamHTTP2:   a.UpstreamHTTP2,

		UpstreamKeepAlive: a.UpstreamKeepAlive,

		Gate:            c.gate,
		Store:           kept,
		StoreInMemory:   c.Store.scheme() == "memory",
		StoreOutage:     c.StoreOutage,
		OnDisconnect:    c.OnDisconnect,
		InterruptTTL:    c.InterruptTTL,
		MaxRequestBytes: int64(c.MaxRequestBytes),
		BodyBytes:       int64(c.BodyBytes),
		AddressShare:    c.AddressShare.share(),
		MaxFrameBytes:   int(c.MaxFrameBytes),
		TranscriptBytes: int(c.TranscriptBytes),
		IdleTimeout:     c.StreamIdleTimeout,
		ResumeIdleGrace: c.ResumeIdleGrace,
		Heartbeat:       c.Heartbeat,
		Events:          c.sinks(),
		Notices:         c.notices(),
		Posted:          c.posted(),
		RunEnded:        c.metrics.RunEnded,
		EventsRequired:  c.AuditRequired,
		ShowPrincipal:   c.ShowPrincipal,
		WriteTimeout:    c.WriteTimeout,
		Underscores:     c.HeaderUnderscores,
		Elsewhere:       c.elsewhere(a),
		Tracer:          c.tracer(),
		Logger:          logger,
	})
}
