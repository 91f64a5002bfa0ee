package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/internal/desk/api"
	"holdpoint/internal/event"
	"holdpoint/internal/observe/audit"
	"holdpoint/internal/observe/metrics"
	"holdpoint/internal/observe/trace"
	"holdpoint/internal/observe/webhook"
	"holdpoint/internal/principal"
	"holdpoint/proxy"
	"holdpoint/store"
)

// A handlerMaker makes the handlers of the agents. It has the settings and the parts of the program
// that all handlers share.
type handlerMaker struct {
	settings       *settings
	store          store.Store // counts the calls to it in the metrics
	gate           *principal.Gate
	events         events
	onNotices      func(store.Key)
	storeMayForget func() bool // reports whether the store may lose the note that an answer was sent
	spans          *trace.Part
	logger         *slog.Logger
}

// newHandlerMaker returns a handlerMaker for the given store. It has no audit log, and it takes for
// granted that the store loses nothing.
func newHandlerMaker(s *settings, threadStore store.Store, logger *slog.Logger) *handlerMaker {
	receivers := newEvents(s, nil)
	return &handlerMaker{settings: s, store: receivers.metrics.MeasureStore(threadStore), gate: s.identity.New(logger), events: receivers, storeMayForget: func() bool { return false }, logger: logger}
}

// proxyFor returns the proxy for one agent. The proxies of all agents share the store and the other
// parts of m.
func (m *handlerMaker) proxyFor(a *Agent) (*proxy.Handler, error) {
	o, err := m.options(a)
	if err != nil {
		return nil, err
	}
	return proxy.New(o)
}

// options returns the options of the proxy for one agent.
func (m *handlerMaker) options(a *Agent) (proxy.Options, error) {
	dialect, err := a.dialects.New(a.Dialect, m.logger.Warn)
	if err != nil {
		return proxy.Options{}, err
	}
	recognizer, err := a.dialects.Recognizer(a.Dialect)
	if err != nil {
		return proxy.Options{}, err
	}
	s := m.settings
	o := proxy.Options{
		Prefix:          a.path,
		Upstream:        a.Upstream.URL,
		Dialect:         dialect,
		Recognizer:      recognizer,
		UpstreamHeaders: a.headers,
		AllowOrigins:    a.CORSOrigins,
		UpstreamTLS:     a.clientTLS(),

		Gate:           m.gate,
		Store:          m.store,
		StoreInMemory:  s.store.InMemory(),
		Events:         m.events.sink(),
		Notices:        m.events.notices(),
		OnNotices:      m.onNotices,
		RunEnded:       m.events.metrics.CountRun,
		EventsRequired: s.audit.Required,
		ShowPrincipal:  s.identity.Show,
		OtherDoors:     m.otherDoors(a),
		Tracer:         m.tracer(),
		Logger:         m.logger,
	}
	a.Fill(&o)
	s.runs.Fill(&o)
	return o, nil
}

// A servedAgent is an agent with its handler.
type servedAgent struct {
	*Agent
	handler *proxy.Handler
}

// A service handles the requests of all agents.
type service interface {
	http.Handler
	Drain(context.Context) error
}

// handlers returns the handlers of all agents, and the service that dispatches each request to the
// handler of its agent.
func (m *handlerMaker) handlers() (service, []servedAgent, error) {
	var all []servedAgent
	var handlers []*proxy.Handler
	for _, a := range m.settings.agents() {
		h, err := m.proxyFor(a)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.orPath(), err)
		}
		m.events.metrics.RegisterOpenRuns(a.Name, h.OpenRuns)
		all, handlers = append(all, servedAgent{a, h}), append(handlers, h)
	}
	if len(m.settings.routes) == 0 {
		return handlers[0], all, nil
	}
	rt, err := proxy.NewRouter(proxy.RouterOptions{Agents: handlers, AllowOrigins: m.settings.agent.CORSOrigins, Logger: m.logger})
	return rt, all, err
}

// otherDoors returns the settings by which the proxy of the agent a handles decisions that were
// made at the desk (the web page of approvers). It returns nil if there is no desk.
func (m *handlerMaker) otherDoors(a *Agent) *proxy.OtherDoors {
	d := &m.settings.desk
	if !d.IsOn() {
		return nil
	}
	e := &proxy.OtherDoors{
		KeepsInput:     m.settings.store.InMemory() || m.settings.store.Ring().Seals(),
		StoreMayForget: m.storeMayForget,
		Tools:          d.Tools == "keep",
	}
	if d.Carry == "home" && !a.servedElsewhere {
		e.Home = homeOf(a)
	}
	if a.deskHeaders != nil {
		e.Headers = func() http.Header { return *a.deskHeaders.Load() }
	}
	return e
}

// homeOf returns a name for this machine, or container, together with the backend of the agent a.
// The name stays the same after a restart of Holdpoint, because the backend may have kept running
// and may still hold its questions.
func homeOf(a *Agent) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	sum := sha256.Sum256([]byte(host + "\n" + a.Upstream.URL.String()))
	return hex.EncodeToString(sum[:8])
}

// maxJudges is the number of agents of other processes whose handlers are cached.
const maxJudges = 256

// otherAgents returns a function that returns the handler for an agent that another process serves.
// Such a handler judges a decision by the record of its question, with the dialect of the record
// and the options of this process. It sends nothing to a backend. The function returns nil for a
// dialect that this version does not have.
func (m *handlerMaker) otherAgents() func(agent, dialect string) api.Agent {
	type of struct{ agent, dialect string }
	var mu sync.Mutex
	known := map[of]*proxy.Handler{}
	first := &m.settings.agent
	return func(agent, dialect string) api.Agent {
		mu.Lock()
		defer mu.Unlock()
		if h := known[of{agent, dialect}]; h != nil {
			return h
		}
		if !slices.Contains(first.dialects.Names(), dialect) {
			return nil // a newer version asked the question
		}
		a := &Agent{servedElsewhere: true, AgentSettings: proxy.AgentSettings{Name: agent, Client: proxy.ClientAuto}, Dialect: dialect, dialects: first.dialects, deskHeaders: first.deskHeaders}
		a.Upstream.URL = &url.URL{Scheme: "http", Host: "no.agent.invalid"}
		h, err := m.proxyFor(a)
		if err != nil {
			m.logger.Warn(logNotDecidedHere, "agent", agent, "dialect", dialect, "err", err)
			return nil
		}
		if len(known) >= maxJudges {
			clear(known)
		}
		known[of{agent, dialect}] = h
		return h
	}
}

// warnChatOnly logs the settings because of which Holdpoint cannot send a decision of the desk to
// the agent at once, but only with the chat's next request.
func (m *handlerMaker) warnChatOnly(agents []servedAgent) {
	s := m.settings
	if len(agents) == 0 || !s.desk.IsOn() {
		return // without an agent or a desk there are no decisions to send
	}
	var why []string
	if !m.otherDoors(agents[0].Agent).KeepsInput {
		why = append(why, textNoStoreKeys)
	}
	switch {
	case s.store.MayLose():
		why = append(why, textNoReplicas)
	case s.desk.CarryWithin > 0 && m.storeMayForget():
		why = append(why, textStandby)
	}
	if s.desk.CarryWithin == 0 {
		why = append(why, "HOLDPOINT_DESK_CARRY_WITHIN is 0")
	}
	if len(why) > 0 {
		m.logger.Warn(logWaitsForChat, "why", why)
	}
	for _, a := range agents {
		if a.Client == proxy.ClientNative {
			m.logger.Warn(logNativeWaits, "agent", a.Name)
		}
	}
}

// tracer returns the maker of the runs' spans, or nil if tracing is off.
func (m *handlerMaker) tracer() proxy.Tracer {
	if m.spans == nil {
		return nil
	}
	return runTracer{m.spans.Tracer}
}

// A runTracer adapts trace.Tracer to proxy.Tracer.
type runTracer struct{ *trace.Tracer }

// Begin implements proxy.Tracer.
func (t runTracer) Begin(header http.Header, agent, thread, run string) proxy.Span {
	return t.Tracer.Begin(header, agent, thread, run)
}

// events has the receivers of events about questions and answers.
type events struct {
	metrics *metrics.Metrics
	audit   *audit.Part          // nil without an audit log
	webhook *webhook.NoticeMaker // nil without a webhook
}

// newEvents returns the receivers of events that the settings name. log is nil without an audit
// log.
func newEvents(s *settings, log *audit.Part) events {
	var codes []string
	for _, code := range agui.Codes() {
		codes = append(codes, string(code))
	}
	return events{
		metrics: metrics.New(metrics.Options{Version: readBuild().Version, Dialects: s.dialects.Names(), Codes: codes, Agents: s.agentNames(), Retention: s.store.PauseRetention, Head: log.Head}),
		audit:   log,
		webhook: s.webhook.NoticeMaker(s.identity.Show == principal.ShowName, s.desk.URL.URL),
	}
}

// sink returns a sink that sends each event to the metrics and, if there is one, to the audit log.
func (e events) sink() event.Sink {
	all := event.Sinks{e.metrics}
	if e.audit != nil {
		all = append(all, e.audit)
	}
	return all
}

// notices returns the value of proxy.Options.Notices, or nil without a webhook.
func (e events) notices() func(*event.Event) (store.Notice, bool) {
	if e.webhook == nil {
		return nil
	}
	return e.webhook.Notice
}

// recordExpiry sends the event of a pause that ended because its time was over to the metrics and
// the audit log. It does nothing if the result does not end a pause in this way.
func (e events) recordExpiry(key store.Key, result *store.Result) {
	if happened := proxy.EndedByTime(key, result); happened != nil {
		_ = e.sink().Take(happened) // a sink logs its own failures
	}
}

// expiryNotices returns the function that makes the webhook's notices when a pause has ended
// because its time was over. It returns nil without a webhook.
func (e events) expiryNotices() func(store.Key, *store.Result) []store.Notice {
	if e.webhook == nil {
		return nil
	}
	return func(key store.Key, result *store.Result) []store.Notice {
		happened := proxy.EndedByTime(key, result)
		if happened == nil {
			return nil
		}
		n, ok := e.webhook.Notice(happened)
		if !ok {
			return nil
		}
		return []store.Notice{webhook.WithID(n, happened)}
	}
}

// onNoticesLost returns the function that the store calls with the number of notices that it has
// dropped because the webhook's receiver did not accept them. The function counts and logs them.
func (e events) onNoticesLost(logger *slog.Logger) func(int) {
	return func(n int) {
		for range n {
			e.metrics.CountNotice(webhook.ResultLost, 0)
		}
		logger.Error(logNoticesLost, "events", n)
	}
}
