package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/desk/api"
	"holdpoint/internal/desk/carry"
	"holdpoint/internal/desk/page"
	"holdpoint/internal/desk/policy"
	"holdpoint/internal/edge/front"
	"holdpoint/internal/edge/listen"
	"holdpoint/internal/principal"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/redis"
)

// checkDesk judges what belongs to HOLDPOINT_DESK_LISTEN, and reads its files.
func (c *config) checkDesk() []error {
	if c.DeskListen == off {
		return c.noDesk()
	}
	var errs []error
	wrong := func(name string, err error) { errs = append(errs, c.group().Wrong(name, err)) }
	if c.DeskCarryWithin < 0 {
		wrong("DESK_CARRY_WITHIN", errors.New("want a time such as 1h, or 0"))
	}
	if c.DeskListen == deskElsewhere {
		return append(errs, c.checkElsewhere()...)
	}
	at, err := listen.Parse(c.DeskListen)
	if err != nil {
		wrong("DESK_LISTEN", fmt.Errorf("%w, or off, or elsewhere", err))
	}
	c.desk = at
	for _, other := range [][2]string{{"HOLDPOINT_LISTEN", c.Listen}, {"HOLDPOINT_ADMIN_LISTEN", c.AdminListen}} {
		if taken, otherErr := listen.Parse(other[1]); err == nil && otherErr == nil && taken.Overlaps(at) {
			wrong("DESK_LISTEN", fmt.Errorf("it is taken by %s (%s), want an address of its own", other[0], other[1]))
		}
	}
	for _, a := range c.agents() {
		if err == nil && isOwn(a.Upstream.URL, c.DeskListen) {
			errs = append(errs, a.group().Wrong("UPSTREAM", fmt.Errorf("this is where Holdpoint's desk is (HOLDPOINT_DESK_LISTEN %s), want the backend's address", c.DeskListen)))
		}
	}
	return append(errs, c.checkDeskWho()...)
}

// redisForgets says that the store is a Redis that may fail over to a replica that is behind.
func (c *config) redisForgets() bool {
	return slices.Contains(redis.Schemes, c.Store.scheme()) && c.StoreReplicas == 0
}

// forgets says whether the store may lose that an answer was sent, and keep what was decided.
func (c *config) forgets() bool {
	return c.redisForgets() || c.storeForgets != nil && c.storeForgets(context.Background())
}

// A deskTools is HOLDPOINT_DESK_TOOLS.
type deskTools string

// A deskCarry is HOLDPOINT_DESK_CARRY.
type deskCarry string

// elsewhere says what an agent is to do for decisions of the desk; nil: there is none.
func (c *config) elsewhere(a *Agent) *proxy.Elsewhere {
	if c.DeskListen == off {
		return nil
	}
	e := &proxy.Elsewhere{
		KeepsInput: c.Store.scheme() == "memory" || c.ring.Seals(),
		Forgets:    c.forgets,
		Tools:      c.DeskTools == "keep",
	}
	if c.DeskCarry == "home" && !a.others {
		e.Home = homeOf(a)
	}
	if a.deskHeaders != nil {
		e.Headers = func() http.Header { return *a.deskHeaders.Load() }
	}
	return e
}

// homeOf names this machine, or container, and the backend. It is the same after a restart: the
// backend may have lived on.
func homeOf(a *Agent) string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	sum := sha256.Sum256([]byte(host + "\n" + a.Upstream.URL.String()))
	return hex.EncodeToString(sum[:8])
}

// waitsForChat logs why no decision is carried without the chat, whatever the run was.
func (c *config) waitsForChat(agents []served, logger *slog.Logger) {
	if len(agents) == 0 {
		return // it carries nothing
	}
	e := c.elsewhere(agents[0].Agent)
	var why []string
	if !e.KeepsInput {
		why = append(why, "HOLDPOINT_STORE_KEYS is not set, so the store keeps no input of a run")
	}
	switch {
	case c.redisForgets():
		why = append(why, "HOLDPOINT_STORE_REPLICAS is not set, so Redis may forget that an answer was sent")
	case c.DeskCarryWithin > 0 && c.forgets():
		why = append(why, "PostgreSQL cannot be asked, or has a standby that it does not wait for, so it may forget that an answer was sent (synchronous_standby_names)")
	}
	if c.DeskCarryWithin == 0 {
		why = append(why, "HOLDPOINT_DESK_CARRY_WITHIN is 0")
	}
	if len(why) > 0 {
		logger.Warn("what is decided at the desk waits for the chat's next request", "why", why)
	}
	for _, a := range agents {
		if a.Client == proxy.ClientNative {
			logger.Warn("what is decided at the desk waits for the chat's next request: HOLDPOINT_CLIENT is native, and nothing is made for such a client", "agent", a.Name)
		}
	}
}

// A deskCarrier goes on with what is decided. nil: nobody does but the chat.
type deskCarrier struct {
	*carry.Carrier
	end func()
}

// startCarrier starts it, if there is a desk.
func (c *config) startCarrier(kept store.Store, agents []served, logger *slog.Logger) *deskCarrier {
	if c.DeskListen == off {
		return nil
	}
	if c.DeskCarryWithin == 0 {
		c.waitsForChat(agents, logger)
		return nil
	}
	carriers := map[string]carry.Agent{}
	for _, a := range agents {
		carriers[a.Name] = a.handler
	}
	k := &deskCarrier{Carrier: carry.New(carry.Options{Store: kept, Agents: carriers, Within: c.DeskCarryWithin, Log: logger})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.waitsForChat(agents, logger) // it may have to wait for the store
		k.Run(ctx)
	}()
	k.end = func() { cancel(); <-ended }
	return k
}

// stop begins no further run, and waits for those that are under way.
func (k *deskCarrier) stop() {
	if k != nil {
		k.end()
	}
}

// decided is what the desk tells of a record that is decided; nil if nobody is to hear of it.
func (k *deskCarrier) decided() func(store.Key) {
	if k == nil {
		return nil
	}
	return k.Kick
}

// readDeskTokens reads the tokens of the variable or of the file. No error has a part of one.
func (c *config) readDeskTokens() ([]api.Token, error) {
	text, err := c.secretOf(c.DeskToken, c.DeskTokenFile)
	if err != nil {
		return nil, err
	}
	if c.DeskTokenFile == "" {
		text = strings.ReplaceAll(text, ",", "\n")
	}
	return api.ParseTokens(text)
}

// A deskServer is the desk's listener. nil: there is none.
type deskServer struct {
	http   *http.Server
	gate   *principal.Gate // nil: tokens say who somebody is
	tokens *api.Tokens
	keys   *api.Keys // that sessions are signed with
}

// The desk's answers are short, and its requests have no bodies.
const (
	deskReadTimeout  = 20 * time.Second
	deskWriteTimeout = time.Minute
	deskLastWords    = 2 * time.Second
)

// startDesk starts the desk on the store, if there is to be one. A token that it makes is told by
// screen.
func (c *config) startDesk(kept store.Store, agents []served, k *deskCarrier, screen io.Writer, logger *slog.Logger) (*deskServer, error) {
	if !c.hasDesk() {
		return nil, nil
	}
	listener, err := c.desk.Listen()
	if err != nil {
		return nil, err
	}
	s := &deskServer{tokens: &api.Tokens{}, keys: &api.Keys{}, gate: c.newDeskGate(logger)}
	if c.deskMakes {
		c.makeToken(listener, screen)
	}
	s.keys.Set(c.ring.Derive(sessionPurpose))
	deciders := map[string]api.Agent{}
	for _, a := range agents {
		deciders[a.Name] = a.handler
	}
	s.tokens.Set(c.deskTokens)
	s.http = &http.Server{
		Handler: page.Over(api.New(api.Options{
			Store: c.metrics.Store(kept), Tokens: s.tokens, Agents: deciders, Others: c.judges(c.metrics.Store(kept), logger), Decided: k.decided(), Events: c.sinks(), EventsRequired: c.AuditRequired, Notices: c.notices(), Posted: c.posted(),
			Auth: api.Auth(c.DeskAuth), Gate: s.gate, Access: c.access(), Keys: s.keys, Trusted: c.deskTrusts,
			Refused: front.Refused, Logger: logger,
		})),
		ReadTimeout: deskReadTimeout, WriteTimeout: deskWriteTimeout,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	c.logDesk(listener, logger)
	behind := c.behindFront(s.http, listener, logger)
	go func() {
		if err := s.http.Serve(behind); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("the desk's listener has ended", "err", err)
		}
	}()
	return s, nil
}

// close ends the desk. Answers that are on their way have a moment.
func (s *deskServer) close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deskLastWords)
	defer cancel()
	_ = s.http.Shutdown(ctx)
	_ = s.http.Close()
}

// sessionPurpose is what keys of sessions are derived for.
const sessionPurpose = "holdpoint desk sessions 1"

// access is who has which rights at the moment; nil: everybody has all.
func (c *config) access() func() policy.Access {
	if c.policy == nil {
		return nil
	}
	return func() policy.Access { return c.policy.Now().Access }
}

// reloadPolicy reads the policy again, for HUP.
func (c *config) reloadPolicy() error {
	_, err := c.policy.Reload()
	return err
}

// watchPolicy reads the policy again when the file changes, until stop is closed.
func (c *config) watchPolicy(logger *slog.Logger, stop <-chan struct{}) {
	if c.policy == nil {
		return
	}
	ticker := time.NewTicker(rereadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		switch changed, err := c.policy.Reload(); {
		case err != nil && !errors.Is(err, policy.ErrSame):
			logger.Error("not read again: what was read before stays in effect", "what", prefix+"POLICY", "err", err)
		case changed:
			logger.Info("read again", "what", prefix+"POLICY")
		}
	}
}

// reloadDesk adds the tokens and the policy to what HUP reads again.
func (c *config) reloadDesk(l *reloads, s *deskServer) {
	if s == nil {
		return
	}
	if c.StoreKeysFile != "" {
		l.add("keys of sessions at the desk", func() error {
			text, err := c.secretOf(c.StoreKeys, c.StoreKeysFile)
			if err != nil {
				return err
			}
			ring, err := engine.ParseRing(text)
			if err == nil {
				s.keys.Set(ring.Derive(sessionPurpose))
			}
			return err
		})
	}
	if c.policy != nil {
		l.add(prefix+"POLICY", c.reloadPolicy)
	}
	if c.DeskTokenFile == "" {
		return
	}
	l.add(prefix+"DESK_TOKEN_FILE", func() error {
		list, err := c.readDeskTokens()
		if err == nil {
			s.tokens.Set(list)
		}
		return err
	})
}
