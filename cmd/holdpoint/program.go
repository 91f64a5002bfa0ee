package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"

	"holdpoint/internal/desk"
	"holdpoint/internal/desk/api"
	"holdpoint/internal/desk/carry"
	"holdpoint/internal/edge/admin"
	"holdpoint/internal/edge/certificates"
	"holdpoint/internal/edge/headers"
	"holdpoint/internal/observe/audit"
	"holdpoint/internal/observe/trace"
	"holdpoint/internal/observe/webhook"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/stores"
)

// A part of the program may implement starter, stopper, both or neither. The constructor of a part
// gets the other parts that it needs.
type (
	starter interface{ Start() }
	stopper interface{ Stop() }
)

// A background is a part that runs a function in a goroutine until the part is stopped.
type background struct {
	do  func(ctx context.Context)
	end context.CancelFunc
}

// Start starts the goroutine.
func (b *background) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	b.end = cancel
	go b.do(ctx)
}

// Stop cancels the function's context. It does not wait for the function to return.
func (b *background) Stop() { b.end() }

// A program has the parts of `holdpoint run` or `holdpoint desk`. Both commands make and start
// their parts in the same order.
type program struct {
	settings *settings
	logger   *slog.Logger
	screen   *os.File // where a token is shown that the desk has made
	stops    []stopper
	reloads  *reloader

	probes   *admin.Server // nil if HOLDPOINT_ADMIN_LISTEN is off
	handler  service       // nil in `holdpoint desk`, and so is listener
	listener net.Listener
	desk     *desk.Server // nil without a desk in this process
}

// start starts a part, and registers it so that stop stops it.
func (p *program) start(part any) {
	if s, is := part.(starter); is {
		s.Start()
	}
	if s, is := part.(stopper); is {
		p.stops = append(p.stops, s)
	}
}

// stop stops the started parts, in reverse order.
func (p *program) stop() {
	for _, s := range slices.Backward(p.stops) {
		s.Stop()
	}
}

// A failure is the reason why the program did not start.
type failure struct {
	what string
	args []any
	code int
}

func failed(what string, err error) *failure { return &failure{what, []any{"err", err}, exitError} }

func cannotListen(variable string, err error) *failure {
	return &failure{logNoListen, []any{"variable", variable, "err", err}, exitError}
}

// build makes and starts the parts, in order. It returns nil if all parts were started. If another
// process uses the file of the store, it waits for the file until ctx ends.
func (p *program) build(ctx context.Context) *failure {
	s, logger := p.settings, p.logger
	log, err := s.audit.New(ctx, logger)
	if err != nil {
		return failed(logNoAudit, err)
	}
	if log != nil {
		p.start(log)
	}
	happens := newEvents(s, log)
	var spans *trace.Part
	if !s.deskOnly {
		if spans, err = trace.NewPart(readBuild().Version, logger); err != nil {
			return &failure{logNoSpans, []any{"err", err}, exitMisuse}
		}
	}
	if spans != nil {
		p.start(spans)
	}
	if p.probes, err = s.admin.New(readBuild(), happens.metrics.Handler(), logger); err != nil {
		return cannotListen("HOLDPOINT_ADMIN_LISTEN", err)
	}
	p.start(&runningPart{p.probes.Close})

	kept, err := p.openStore(ctx, happens)
	if err != nil {
		return failed(logNoStore, err)
	}
	p.start(kept)
	measured := happens.metrics.Store(kept)
	hook, err := s.webhook.New(kept, happens.metrics.Webhook, logger)
	if err != nil {
		return failed(logNoWebhook, err)
	}
	made := &handlerMaker{settings: s, store: measured, gate: s.who.New(logger), events: happens, forgets: kept.Forgets, spans: spans, logger: logger}
	if hook != nil {
		made.posted = hook.Wake
	}
	var agents []servedAgent
	if !s.deskOnly {
		if p.handler, agents, err = made.handlers(); err != nil {
			return failed(logNoStart, err)
		}
		if p.listener, err = s.front.Listen.Address.Listen(); err != nil {
			return &failure{logNoListen, withListenHint(err, "variable", "HOLDPOINT_LISTEN", "err", err), exitError}
		}
	}
	p.probes.Agents(probedAgents(agents))
	if hook != nil {
		p.start(hook)
	}
	if made.gate != nil {
		p.start(made.gate)
	}
	carrier := p.startCarrier(made, kept, agents)
	if err := p.startDesk(made, agents, carrier); err != nil {
		return cannotListen("HOLDPOINT_DESK_LISTEN", err)
	}
	p.start(&background{do: func(ctx context.Context) { newCalm().run(ctx.Done()) }})
	p.start(&background{do: func(ctx context.Context) { p.probes.Watch(ctx, reaches(kept, happens.metrics)) }})
	p.start(&background{do: func(ctx context.Context) { happens.metrics.Watch(ctx, measured) }})

	p.addReloads(made, kept, hook, log, agents)
	p.probes.Reloads(func() (failed int) { _, failed = p.reloads.run(); return failed })
	p.start(&background{do: p.reloads.watch})
	return nil
}

// addReloads registers the settings and files that are read again at HUP. They are read again, and
// this is logged, in the order in which addReloads registers them.
func (p *program) addReloads(made *handlerMaker, kept *stores.Store, hook *webhook.Part, log *audit.Part, agents []servedAgent) {
	s, add := p.settings, p.reloads.add
	p.reloadAgents(agents)
	add(prefix+"STORE_KEYS_FILE", kept.ReloadKeys(), s.store.Keys.File)
	add(prefix+"STORE", kept.ReloadLogin(), s.store.LoginFiles()...)
	if made.gate != nil && s.who.Key.File != "" {
		add(prefix+"PRINCIPAL_KEY_FILE", made.gate.Reload, s.who.Key.File)
	}
	if log.HasFile() {
		add(prefix+"AUDIT", log.Reload)
	}
	if hook != nil && s.webhook.Files() != nil {
		add(prefix+"WEBHOOK_*_FILE", hook.Reload, s.webhook.Files()...)
	}
	if p.desk != nil {
		if s.store.Keys.File != "" {
			add(textSessionKeys, p.desk.ReloadKeys, s.store.Keys.File)
		}
		policy, file := p.desk.ReloadPolicy()
		add(prefix+"POLICY", policy, file)
		add(prefix+"DESK_TOKEN_FILE", p.desk.ReloadTokens(), s.desk.Token.File)
	}
	p.reloadCertificates(prefix+"TLS_*_FILE", s.front.TLS(), func() {})
	for _, a := range agents {
		// An idle connection would still use the old certificate, or an authority that is no longer
		// trusted.
		p.reloadCertificates(a.prefix+"UPSTREAM_*_FILE", a.upstreamTLS, a.handler.CloseIdleConnections)
	}
}

// reloadCertificates registers the files of set, so that they are read again. It does nothing if
// set is nil. The function changed is called each time the certificates have changed.
func (p *program) reloadCertificates(what string, set *certificates.Set, changed func()) {
	if set == nil {
		return
	}
	p.reloads.add(what, func() error {
		is, err := set.Reload()
		if is {
			changed()
			p.logger.Info("certificate", "what", what, "expires", set.Expires())
		}
		return err
	}, set.Names()...)
}

// probedAgents returns the agents to whose backends the admin listener connects for /agentz.
func probedAgents(agents []servedAgent) []admin.Agent {
	var list []admin.Agent
	for _, a := range agents {
		list = append(list, admin.Agent{Name: a.Name, Upstream: a.Upstream.URL})
	}
	return list
}

// openStore opens the store. The events that the store reports go to happens and the metrics.
func (p *program) openStore(ctx context.Context, happens events) (*stores.Store, error) {
	kept, err := p.settings.store.New(ctx, stores.Options{
		Share: p.settings.runs.AddressShare.Share(), LongestLease: proxy.LeaseTime, OnEnded: happens.byTime,
		Notices: happens.noticesByTime(), NoticesLost: happens.noticesLost(p.logger), OnEvicted: happens.metrics.Evicted, Logger: p.logger,
	})
	if err != nil {
		return nil, err
	}
	p.settings.warnBounds(p.logger)
	return kept, nil
}

// startCarrier starts the carrier, which sends the desk's decisions to the agents. It returns nil
// if this process has no carrier. A decision then reaches the agent only with the chat's next
// request.
func (p *program) startCarrier(made *handlerMaker, kept store.Store, agents []servedAgent) *desk.Carrier {
	carriers := map[string]carry.Agent{}
	for _, a := range agents {
		carriers[a.Name] = a.handler
	}
	tell := func() { made.waitsForChat(agents) }
	c := p.settings.desk.NewCarrier(kept, carriers, tell, p.logger)
	if p.settings.deskOnly {
		return nil
	}
	if c == nil {
		tell()
		return nil
	}
	p.start(c)
	return c
}

// startDesk starts the desk, if the settings say that this process has a desk.
func (p *program) startDesk(made *handlerMaker, agents []servedAgent, carrier *desk.Carrier) (err error) {
	s := p.settings
	deciders := map[string]api.Agent{}
	for _, a := range agents {
		deciders[a.Name] = a.handler
	}
	p.desk, err = s.desk.New(desk.Options{
		Store: made.store, Agents: deciders, OtherAgents: made.judges(), OnDecided: carrier.Decided(),
		Events: made.events.sink(), EventsRequired: s.audit.Required, Notices: made.events.notices(), OnNotices: made.posted,
		Keys: func(purpose string) ([][]byte, error) {
			ring, err := s.store.ReadRing()
			return ring.Derive(purpose), err
		},
		Peers: s.who.TrustedPeers, Front: &s.front, Screen: p.screen, Logger: p.logger,
	})
	if err == nil && p.desk != nil {
		p.start(p.desk)
	}
	return err
}

// reloadAgents registers the header files of the agents, so that they are read again. It leaves out
// files with options of dialects: a question that was asked with one content of such a file must be
// answered with the same content.
func (p *program) reloadAgents(agents []servedAgent) {
	add := func(name, file string, set func(http.Header)) {
		if file == "" {
			return
		}
		p.reloads.add(name, func() error {
			list, err := headers.Read(file)
			if err == nil {
				set(list)
			}
			return err
		}, file)
	}
	for _, a := range agents {
		add(a.prefix+"UPSTREAM_HEADERS_FILE", a.UpstreamHeadersFile, a.handler.SetUpstreamHeaders)
	}
	for _, a := range agents {
		add(a.prefix+"DESK_HEADERS_FILE", a.DeskHeadersFile, func(list http.Header) { a.deskHeaders.Store(&list) })
	}
}

// A runningPart is a part that already runs, so the program only has to close it.
type runningPart struct{ close func() }

// Stop closes the part.
func (e *runningPart) Stop() { e.close() }
