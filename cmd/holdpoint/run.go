package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"holdpoint/translate/dialects"
)

// run is `holdpoint run`: the proxy until a signal ends it.
func run(environ []string, list dialects.List, stderr *os.File) int {
	c, err := load(environ, list)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitMisuse
	}
	if err := c.checkTerminal(environ, stderr); err != nil {
		fmt.Fprintln(stderr, err)
		return exitMisuse
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	hangups, forget := notifyHangup()
	defer forget()
	logger := newLogger(c, stderr)
	logStart(c, logger)
	if c.audit, err = c.openAudit(logger); err != nil {
		logger.Error("cannot open the audit", "err", err)
		return exitError
	}
	defer closeAudit(c.audit, logger)
	if err := c.newSender(logger); err != nil {
		logger.Error("cannot start the webhook", "err", err)
		return exitError
	}
	endSpans, err := c.startSpans(logger)
	if err != nil {
		logger.Error("cannot make spans", "err", err)
		return exitMisuse
	}
	defer endSpans()
	probes, err := startAdmin(c, logger)
	if err != nil {
		logger.Error("cannot listen", "variable", "HOLDPOINT_ADMIN_LISTEN", "err", err)
		return exitError
	}
	defer probes.Close()
	kept, err := c.openStore(logger)
	if err != nil {
		logger.Error("cannot open the store", "err", err)
		return exitError
	}
	defer func() {
		if err := kept.stop(); err != nil {
			logger.Error("the store did not close well", "err", err)
		}
	}()
	handler, agents, err := newService(c, kept, logger)
	if err != nil {
		logger.Error("cannot start", "err", err)
		return exitError
	}
	listener, err := c.listen.Listen()
	if err != nil {
		logger.Error("cannot listen", withListenHint(err, "variable", "HOLDPOINT_LISTEN", "err", err)...)
		return exitError
	}
	select {
	case sig := <-signals:
		logger.Info("stopped before it took runs", "signal", sig.String())
		return exitOK
	default:
	}
	defer c.runSender(kept)()
	k := c.startCarrier(kept, agents, logger)
	defer k.stop()
	d, err := c.startDesk(kept, agents, k, stderr, logger)
	if err != nil {
		logger.Error("cannot listen", "variable", "HOLDPOINT_DESK_LISTEN", "err", err)
		return exitError
	}
	defer d.close()
	stop := make(chan struct{})
	defer close(stop)
	if d != nil && d.gate != nil {
		go runGate(d.gate, stop)
	}
	go newCalm().run(stop)
	go runGate(c.gate, stop)
	go watchAudit(c.audit, logger, auditHeadEvery, stop)
	hooks := c.reloads(agents, kept, logger) // a piece that is to hear of HUP adds itself here
	c.reloadDesk(&hooks, d)
	sets := c.certificateSets(agents)
	for _, s := range sets {
		hooks.add(s.what, s.reload)
	}
	go watchCertificates(sets, logger, stop)
	go c.watchPolicy(logger, stop)
	go onHangup(hangups, hooks, logger, stop)
	go watchStore(probes, kept, c.metrics, stop)
	go watchWaiting(c.metrics, kept, stop)
	s := newServer(c.withoutSessions(handler), handler.Drain, logger)
	s.delay, s.timeout, s.probes = c.DrainDelay, c.DrainTimeout, probes
	logger.Info("listening", "addr", c.listen.Shown(listener))
	return s.serve(c.behindFront(s.http, listener, logger), signals)
}

// newLogger is the logger that c asks for.
func newLogger(c *config, w *os.File) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // load has judged it
	}
	options := &slog.HandlerOptions{Level: level}
	_, onTerminal := terminalWidth(w)
	if c.LogFormat == "text" || c.LogFormat == "auto" && onTerminal {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// logStart logs once what is started, all that is in effect at debug, and what follows from it that
// a user may not expect.
func logStart(c *config, logger *slog.Logger) {
	var attrs []any
	for _, s := range c.settings() {
		attrs = append(attrs, slog.String(strings.ToLower(strings.TrimPrefix(s.name, prefix)), s.value))
	}
	if c.ignored != nil {
		attrs = append(attrs, slog.Any("ignored", c.ignored))
	}
	start := []any{"version", readBuild().Version}
	if c.isSet() {
		start = append(start, "upstream", c.Upstream.String(), "dialect", c.Dialect)
	}
	logger.Info("holdpoint", append(start, "store", c.Store.scheme())...)
	for _, r := range c.routes {
		logger.Info("route", "path", r.Path, "agent", r.Name, "upstream", r.Upstream.String(), "dialect", r.Dialect)
	}
	logger.Debug("configuration", attrs...)
	warnOrigins := func(list origins, name string) {
		if list.everybody() {
			logger.Warn("pages of every origin may read answers: any page can reach Holdpoint through the browser of a person who opens it", "variable", name)
		}
	}
	warnOrigins(c.CORSOrigins, prefix+"CORS_ORIGINS")
	for _, r := range c.routes {
		if name := r.prefix + "CORS_ORIGINS"; r.own[name] {
			warnOrigins(r.CORSOrigins, name)
		}
	}
	logWho(c, logger)
}
