package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"holdpoint/internal/desk/api"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/translate/dialects"
)

// deskElsewhere is HOLDPOINT_DESK_LISTEN where another process on the store has the desk.
const deskElsewhere = "elsewhere"

// hasDesk says whether this process has the desk's listener.
func (c *config) hasDesk() bool { return c.DeskListen != off && c.DeskListen != deskElsewhere }

// checkElsewhere judges what is said where another process has the desk.
func (c *config) checkElsewhere() []error {
	errs := c.noDesk()
	if e, _, err := c.engine(); err == nil && !e.remote {
		errs = append(errs, c.group().Wrong("DESK_LISTEN", errors.New("no other process shares this store, want Redis or PostgreSQL as HOLDPOINT_STORE, or an address")))
	}
	return errs
}

// checkDeskOnly judges what `holdpoint desk` needs.
func (c *config) checkDeskOnly() []error {
	var errs []error
	if !c.hasDesk() {
		errs = append(errs, errors.New("HOLDPOINT_DESK_LISTEN is not set, want the address of the desk, such as :7082"))
	}
	if c.isSet() || len(c.routes) > 0 {
		errs = append(errs, errors.New("HOLDPOINT_UPSTREAM: holdpoint desk has no agent of its own, want it left out, and the routes too; or holdpoint run, which has a desk as well"))
	}
	if e, _, err := c.engine(); err == nil && !e.remote {
		errs = append(errs, c.group().Wrong("STORE", errors.New("no other process shares it, so there is nothing to see in it: want the Redis or PostgreSQL of the agents")))
	}
	return errs
}

// runDesk is `holdpoint desk`: the desk without an agent, for all agents whose records are in the
// store. What is decided there is carried by the process that serves the agent.
func runDesk(environ []string, list dialects.List, stderr *os.File) int {
	c, err := loadFor(environ, list, true)
	if err != nil {
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
	c.gate = c.newGate(logger)
	defer c.runSender(kept)()
	d, err := c.startDesk(kept, nil, nil, stderr, logger)
	if err != nil {
		logger.Error("cannot listen", "variable", "HOLDPOINT_DESK_LISTEN", "err", err)
		return exitError
	}
	defer d.close()
	stop := make(chan struct{})
	defer close(stop)
	go watchAudit(c.audit, logger, auditHeadEvery, stop)
	hooks := c.reloads(nil, kept, logger)
	c.reloadDesk(&hooks, d)
	sets := c.certificateSets(nil)
	for _, s := range sets {
		hooks.add(s.what, s.reload)
	}
	go watchCertificates(sets, logger, stop)
	go onHangup(hangups, hooks, logger, stop)
	go watchStore(probes, kept, c.metrics, stop)
	go watchWaiting(c.metrics, kept, stop)
	ended := make(chan struct{})
	var once sync.Once
	probes.Started(func() <-chan struct{} {
		once.Do(func() { probes.Draining(); d.close(); close(ended) })
		return ended
	})
	sig := <-signals
	probes.Draining()
	logger.Info("stopped", "signal", sig.String())
	return exitOK
}

// maxJudges is how many agents of other processes are remembered.
const maxJudges = 256

// judges are those who judge decisions on questions of agents that other processes serve: by the
// record alone, with the dialect of the record and the options of this process. They send nothing.
func (c *config) judges(kept store.Store, logger *slog.Logger) func(agent, dialect string) api.Agent {
	type of struct{ agent, dialect string }
	var mu sync.Mutex
	known := map[of]*proxy.Handler{}
	return func(agent, dialect string) api.Agent {
		mu.Lock()
		defer mu.Unlock()
		if h := known[of{agent, dialect}]; h != nil {
			return h
		}
		if !slices.Contains(c.dialects.Names(), dialect) {
			return nil // of a newer version
		}
		a := &Agent{others: true, Name: agent, Dialect: dialect, dialects: c.dialects, Client: proxy.ClientAuto, deskHeaders: c.deskHeaders}
		a.Upstream.URL = &url.URL{Scheme: "http", Host: "no.agent.invalid"}
		h, err := c.newHandlerOf(a, kept, logger)
		if err != nil {
			logger.Warn("the questions of an agent cannot be decided here", "agent", agent, "dialect", dialect, "err", err)
			return nil
		}
		if len(known) >= maxJudges {
			clear(known)
		}
		known[of{agent, dialect}] = h
		return h
	}
}
