package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"holdpoint/internal/desk/api"
	"holdpoint/internal/desk/carry"
	"holdpoint/internal/desk/page"
	"holdpoint/internal/desk/policy"
	"holdpoint/internal/edge/front"
	"holdpoint/internal/event"
	"holdpoint/internal/principal"
	"holdpoint/store"
)

// Options has the parts of the program that the desk's listener needs.
type Options struct {
	Store  store.Store
	Agents map[string]api.Agent
	// returns an Agent that judges decisions for an agent of another process
	OtherAgents func(agent, dialect string) api.Agent
	// OnDecided, if set, is called with the key of a record when every question of its pause has a
	// decision.
	OnDecided func(store.Key)

	Events         event.Sink
	EventsRequired bool
	Notices        func(*event.Event) (store.Notice, bool)
	OnNotices      func(store.Key)

	// Keys returns the keys that sign sessions. They are derived for the purpose.
	Keys func(purpose string) ([][]byte, error)
	// Peers is the value of HOLDPOINT_TRUSTED_PEERS.
	Peers  principal.Peers
	Front  *front.Settings
	Screen io.Writer // the terminal on which a new token is shown
	Logger *slog.Logger
}

// A Server is the desk's listener with its API and page.
type Server struct {
	settings *Settings
	options  Options
	http     *http.Server
	listener net.Listener
	gate     *principal.Gate // nil if tokens of the desk identify the callers
	tokens   *api.Tokens
	keys     *api.Keys // keys that sign sessions
	cancel   context.CancelFunc
}

// The timeouts are short, because the desk's requests and responses are small.
const (
	readTimeout     = 20 * time.Second
	writeTimeout    = time.Minute
	shutdownTimeout = 2 * time.Second
)

// sessionPurpose is the purpose for which the keys that sign sessions are derived.
const sessionPurpose = "holdpoint desk sessions 1"

// New makes the desk and opens its listener. It returns nil if this process has no desk. If it
// makes a token, it shows the token on Options.Screen.
func (s *Settings) New(o Options) (*Server, error) {
	if !s.IsHere() {
		return nil, nil
	}
	listener, err := s.Listen.Address.Listen()
	if err != nil {
		return nil, err
	}
	d := &Server{settings: s, options: o, listener: listener, tokens: &api.Tokens{}, keys: &api.Keys{}, gate: s.newGate(o.Peers, o.Logger)}
	if s.makesToken {
		d.makeToken()
	}
	d.tokens.Set(s.tokens)
	if err := d.ReloadKeys(); err != nil {
		listener.Close()
		return nil, err
	}
	d.http = &http.Server{
		Handler: page.Handler(api.New(api.Options{
			Store: o.Store, Tokens: d.tokens, Agents: o.Agents, OtherAgents: o.OtherAgents, OnDecided: o.OnDecided,
			Events: o.Events, EventsRequired: o.EventsRequired, Notices: o.Notices, OnNotices: o.OnNotices,
			Auth: api.Auth(s.Auth), Gate: d.gate, Access: s.access(), Keys: d.keys, Trusted: d.trustsProxy,
			Refused: front.Refused, Logger: o.Logger,
		})),
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	return d, nil
}

// Start begins to serve requests.
func (d *Server) Start() {
	d.settings.LogStart(d.options.Peers, d.options.Logger)
	attrs := []any{"desk_addr", d.settings.Listen.Address.Describe(d.listener), "auth", d.settings.Auth.String()}
	if d.settings.Auth == "token" {
		attrs = append(attrs, "tokens", len(d.settings.tokens))
	}
	d.options.Logger.Info("desk", attrs...)
	ctx, cancel := context.WithCancel(context.Background())
	d.cancel = cancel
	go d.gate.Run(ctx)
	behind := d.options.Front.Configure(d.http, d.listener, d.options.Peers.Contains, d.options.Logger)
	go func() {
		if err := d.http.Serve(behind); !errors.Is(err, http.ErrServerClosed) {
			d.options.Logger.Error(logListenerEnded, "err", err)
		}
	}()
}

// Stop ends the desk. Requests in progress have shutdownTimeout to finish. Stop may be called
// twice.
func (d *Server) Stop() {
	d.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	_ = d.http.Shutdown(ctx)
	_ = d.http.Close()
}

// ReloadKeys derives the keys that sign sessions again.
func (d *Server) ReloadKeys() error {
	keys, err := d.options.Keys(sessionPurpose)
	if err == nil {
		d.keys.Set(keys)
	}
	return err
}

// ReloadTokens returns a function that reads the token file again, or nil if there is no such file.
func (d *Server) ReloadTokens() func() error {
	if d.settings.Token.File == "" {
		return nil
	}
	return func() error {
		list, err := d.settings.readTokens()
		if err == nil {
			d.tokens.Set(list)
		}
		return err
	}
}

// ReloadPolicy returns a function that reads the policy file again, and the name of that file. The
// function is nil if there is no policy.
func (d *Server) ReloadPolicy() (do func() error, file string) {
	if d.settings.policy == nil {
		return nil, ""
	}
	return d.settings.policy.Reload, d.settings.policy.Name()
}

// access returns a function that returns the rights in effect. It returns nil if there is no
// policy, so that every caller has all rights.
func (s *Settings) access() func() policy.Access {
	if s.policy == nil {
		return nil
	}
	return func() policy.Access { return s.policy.Policy().Access }
}

// newGate returns the gate that identifies callers of the desk by a header or by an issuer's
// tokens. It returns nil if tokens of the desk identify them.
func (s *Settings) newGate(peers principal.Peers, logger *slog.Logger) *principal.Gate {
	switch s.Auth {
	case "header":
		return principal.New(principal.Options{PrincipalHeader: s.Principal, GroupsHeader: s.Groups, Peers: s.Peers(peers), Socket: s.Listen.Address.IsUnix()})
	case "jwt":
		claim := s.Principal
		claim = cmp.Or(claim, "sub")
		return principal.New(principal.Options{Tokens: principal.NewTokens(principal.TokenOptions{
			Issuer: s.JWTIssuer, Audience: s.JWTAudience, Claim: claim, GroupsClaim: s.Groups, KeysURL: s.JWKSURL.URL,
			OnFetch: principal.LogFetches(logger, "HOLDPOINT_DESK_JWT_JWKS_URL"),
		})})
	}
	return nil
}

// trustsProxy reports whether the desk believes the headers in which a proxy describes the client's
// connection.
func (d *Server) trustsProxy(req *http.Request) bool {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return d.settings.Listen.Address.IsUnix() // the permissions of the socket decide who can connect
	}
	return d.settings.Peers(d.options.Peers).Contains(peer.Addr().Unmap().WithZone(""))
}

// makeToken makes a token for a desk without tokens, and shows it.
func (d *Server) makeToken() {
	text, token := api.NewToken(api.Operator)
	d.settings.tokens = []api.Token{token}
	scheme := "http"
	if d.options.Front.TLS() != nil {
		scheme = "https"
	}
	fmt.Fprintf(d.options.Screen, textDeskAddress, scheme, d.listener.Addr(), text)
}

// LogStart logs warnings about settings that allow more people than expected to decide at the desk.
// The parameter proxyPeers is the value of HOLDPOINT_TRUSTED_PEERS.
func (s *Settings) LogStart(proxyPeers principal.Peers, logger *slog.Logger) {
	if !s.IsHere() {
		return
	}
	if s.policy == nil {
		logger.Warn(logNoPolicy, "variable", "HOLDPOINT_POLICY")
	}
	if s.ByHeader() && s.Peers(proxyPeers).HasLoopback() {
		logger.Warn(logLocalDecides, "variable", "HOLDPOINT_DESK_TRUSTED_PEERS")
	}
	if s.JWKSURL.IsPlainHTTP() {
		logger.Warn(logPlainKeys, "variable", "HOLDPOINT_DESK_JWT_JWKS_URL")
	}
}

// A Carrier sends the desk's decisions to the agents, from Start to Stop. In a process without a
// Carrier, a decision waits for the chat's next request.
type Carrier struct {
	*carry.Carrier
	first  func()
	cancel context.CancelFunc
	done   chan struct{}
}

// NewCarrier makes the Carrier for agents, which are keyed by their names. It returns nil if there
// is no desk, or if HOLDPOINT_DESK_CARRY_WITHIN is 0. The function first is called once after the
// start, and may wait for the store.
func (s *Settings) NewCarrier(threadStore store.Store, agents map[string]carry.Agent, first func(), logger *slog.Logger) *Carrier {
	if !s.IsOn() || s.CarryWithin == 0 {
		return nil
	}
	return &Carrier{Carrier: carry.New(carry.Options{Store: threadStore, Agents: agents, MaxAge: s.CarryWithin, Log: logger}), first: first, done: make(chan struct{})}
}

// Start begins to send decisions.
func (c *Carrier) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		defer close(c.done)
		c.first()
		c.Run(ctx)
	}()
}

// Stop lets no further run begin, and waits for the runs in progress.
func (c *Carrier) Stop() {
	c.cancel()
	<-c.done
}

// OnDecided returns the function to call with the key of a record when its pause is decided. It
// returns nil if c is nil.
func (c *Carrier) OnDecided() func(store.Key) {
	if c == nil {
		return nil
	}
	return c.Kick
}
