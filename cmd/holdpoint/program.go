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
	do     func(ctx context.Context)
	cancel context.CancelFunc
}

// Start starts the goroutine.
func (b *background) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	go b.do(ctx)
}

// Stop cancels the function's context. It does not wait for the function to return.
func (b *background) Stop() { b.cancel() }

// A program has the parts of `holdpoint run` or `holdpoint desk`. Both commands make and start
// their parts in the same order.
type program struct {
	settings *settings
	logger   *slog.Logger
	screen   *os.File // where a token is shown that the desk has made
	stoppers []stopper
	reloader *reloader

	adminServer *admin.Server // nil if HOLDPOINT_ADMIN_LISTEN is off
	handler     service       // nil in `holdpoint desk`, and so is listener
	listener    net.Listener
	desk        *desk.Server // nil without a desk in this process
}

// start starts a part, and registers it so that stop stops it.
func (p *program) start(part any) {
	if s, is := part.(starter); is {
		s.Start()
	}
	if s, is := part.(stopper); is {
		p.stoppers = append(p.stoppers, s)
	}
}

// stop stops the started parts, in reverse order.
func (p *program) stop() {
	for _, s := range slices.Backward(p.stoppers) {
		s.Stop()
	}
}

// A failure is the reason why the program did not start.
type failure struct {
	message string
	args    []any
	code    int
}

func failureOf(what string, err error) *failure { return &failure{what, []any{"err", err}, exitError} }

func listenFailure(variable string, err error) *failure {
	return &failure{logNoListen, []any{"variable", variable, "err", err}, exitError}
}

// build makes and starts the parts, in order. It returns nil if all parts were started. If another
// process uses the file of the store, it waits for the file until ctx ends.
func (p *program) build(ctx context.Context) *failure {
	s, logger := p.settings, p.logger
	log, err := s.audit.New(ctx, logger)
	if err != nil {
		return failureOf(logNoAudit, err)
	}
	if log != nil {
		p.start(log)
	}
	receivers := newEvents(s, log)
	var spans *trace.Part
	if !s.deskOnly {
		if spans, err = trace.NewPart(readBuild().Version, logger); err != nil {
			return &failure{logNoSpans, []any{"err", err}, exitMisuse}
		}
	}
	if spans != nil {
		p.start(spans)
	}
	if p.adminServer, err = s.admin.New(readBuild(), receivers.metrics.Handler(), logger); err != nil {
		return listenFailure("HOLDPOINT_ADMIN_LISTEN", err)
	}
	p.start(&runningPart{p.adminServer.Close})

	threadStore, err := p.openStore(ctx, receivers)
	if err != nil {
		return failureOf(logNoStore, err)
	}
	p.start(threadStore)
	measured := receivers.metrics.MeasureStore(threadStore)
	hook, err := s.webhook.New(threadStore, receivers.metrics.CountNotice, logger)
	if err != nil {
		return failureOf(logNoWebhook, err)
	}
	maker := &handlerMaker{settings: s, store: measured, gate: s.identity.New(logger), events: receivers, storeMayForget: threadStore.Forgets, spans: spans, logger: logger}
	if hook != nil {
		maker.onNotices = hook.Wake
	}
	var agents []servedAgent
	if !s.deskOnly {
		if p.handler, agents, err = maker.handlers(); err != nil {
			return failureOf(logNoStart, err)
		}
		if p.listener, err = s.front.Listen.Address.Listen(); err != nil {
			return &failure{logNoListen, withListenHint(err, "variable", "HOLDPOINT_LISTEN", "err", err), exitError}
		}
	}
	p.adminServer.Agents(probedAgents(agents))
	if hook != nil {
		p.start(hook)
	}
	if maker.gate != nil {
		p.start(maker.gate)
	}
	carrier := p.startCarrier(maker, threadStore, agents)
	if err := p.startDesk(maker, agents, carrier); err != nil {
		return listenFailure("HOLDPOINT_DESK_LISTEN", err)
	}
	p.start(&background{do: func(ctx context.Context) { newMemoryReleaser().run(ctx.Done()) }})
	p.start(&background{do: func(ctx context.Context) { p.adminServer.Watch(ctx, storeProbe(threadStore, receivers.metrics)) }})
	p.start(&background{do: func(ctx context.Context) { receivers.metrics.Watch(ctx, measured) }})

	p.addReloads(maker, threadStore, hook, log, agents)
	p.adminServer.SetReload(func() (failed int) { _, failed = p.reloader.runAll(); return failed })
	p.start(&background{do: p.reloader.watch})
	return nil
}

// addReloads registers the settings and files that are read again at HUP. They are read again, and
// this is logged, in the order in which addReloads registers them.
func (p *program) addReloads(maker *handlerMaker, threadStore *stores.Store, hook *webhook.Part, log *audit.Part, agents []servedAgent) {
	s, add := p.settings, p.reloader.add
	p.reloadAgents(agents)
	add(prefix+"STORE_KEYS_FILE", threadStore.ReloadKeys(), s.store.Keys.File)
	add(prefix+"STORE", threadStore.ReloadLogin(), s.store.LoginFiles()...)
	if maker.gate != nil && s.identity.Key.File != "" {
		add(prefix+"PRINCIPAL_KEY_FILE", maker.gate.Reload, s.identity.Key.File)
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
	p.reloader.add(what, func() error {
		is, err := set.Reload()
		if is {
			changed()
			p.logger.Info("certificate", "what", what, "expires", set.Expiry())
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
func (p *program) openStore(ctx context.Context, receivers events) (*stores.Store, error) {
	threadStore, err := p.settings.store.New(ctx, stores.Options{
		Share: p.settings.runs.AddressShare.Hundredths(), LongestLease: proxy.LeaseTime, OnEnded: receivers.recordExpiry,
		Notices: receivers.expiryNotices(), NoticesLost: receivers.onNoticesLost(p.logger), OnEvicted: receivers.metrics.CountEviction, Logger: p.logger,
	})
	if err != nil {
		return nil, err
	}
	p.settings.warnBounds(p.logger)
	return threadStore, nil
}

// startCarrier starts the carrier, which sends the desk's decisions to the agents. It returns nil
// if this process has no carrier. A decision then reaches the agent only with the chat's next
// request.
func (p *program) startCarrier(maker *handlerMaker, threadStore store.Store, agents []servedAgent) *desk.Carrier {
	carriers := map[string]carry.Agent{}
	for _, a := range agents {
		carriers[a.Name] = a.handler
	}
	tell := func() { maker.warnChatOnly(agents) }
	c := p.settings.desk.NewCarrier(threadStore, carriers, tell, p.logger)
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
func (p *program) startDesk(maker *handlerMaker, agents []servedAgent, carrier *desk.Carrier) (err error) {
	s := p.settings
	deciders := map[string]api.Agent{}
	for _, a := range agents {
		deciders[a.Name] = a.handler
	}
	p.desk, err = s.desk.New(desk.Options{
		Store: maker.store, Agents: deciders, OtherAgents: maker.otherAgents(), OnDecided: carrier.OnDecided(),
		Events: maker.events.sink(), EventsRequired: s.audit.Required, Notices: maker.events.notices(), OnNotices: maker.onNotices,
		Keys: func(purpose string) ([][]byte, error) {
			ring, err := s.store.ReadRing()
			return ring.Derive(purpose), err
		},
		Peers: s.identity.TrustedPeers, Front: &s.front, Screen: p.screen, Logger: p.logger,
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
		p.reloader.add(name, func() error {
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
