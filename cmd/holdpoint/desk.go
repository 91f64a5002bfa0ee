package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdpoint/internal/carry"
	"holdpoint/internal/desk"
	"holdpoint/internal/desk/page"
	"holdpoint/internal/front"
	"holdpoint/internal/listen"
	"holdpoint/internal/policy"
	"holdpoint/proxy"
	"holdpoint/store"
	"holdpoint/store/engine"
	"holdpoint/store/redis"
)

// A deskAuth is HOLDPOINT_DESK_AUTH: how a caller of the desk says who it is.
type deskAuth string

// UnmarshalText takes token. It says of the other forms when they come, because docs and issues
// name them.
func (a *deskAuth) UnmarshalText(text []byte) error {
	switch *a = deskAuth(text); *a {
	case "token":
		return nil
	case "header", "jwt":
		return errors.New("it comes with the rest of the desk, where callers have rights of their own, want token")
	case "none":
		return errors.New("there is no such thing: in a pod the agent, and each tool that it runs, reaches every address of the pod, want token")
	}
	return errors.New("want token")
}

// String is the form that is read.
func (a deskAuth) String() string { return string(a) }

// checkDesk judges what belongs to HOLDPOINT_DESK_LISTEN, and reads the tokens.
func (c *config) checkDesk() []error {
	var errs []error
	wrong := func(name string, err error) { errs = append(errs, c.group().Wrong(name, err)) }
	if c.DeskListen == off {
		for _, one := range [][2]string{{"DESK_TOKEN", c.DeskToken.text}, {"DESK_TOKEN_FILE", c.DeskTokenFile}} {
			if one[1] != "" {
				wrong(one[0], errors.New("there is no desk, want HOLDPOINT_DESK_LISTEN set as well"))
			}
		}
		if c.DeskHeadersFile != "" {
			wrong("DESK_HEADERS_FILE", errors.New("there is no desk, want HOLDPOINT_DESK_LISTEN set as well"))
		}
		if c.Policy != "" {
			wrong("POLICY", errors.New("there is no desk, and nothing else that it says anything of, want HOLDPOINT_DESK_LISTEN set as well"))
		}
		return errs
	}
	if c.Policy != "" {
		file, err := policy.Open(c.Policy)
		for _, err := range split(err) {
			wrong("POLICY", err)
		}
		c.policy = file
	}
	if c.DeskCarryWithin < 0 {
		wrong("DESK_CARRY_WITHIN", errors.New("want a time such as 1h, or 0"))
	}
	if c.DeskHeadersFile != "" {
		headers, err := readHeaders(c.DeskHeadersFile)
		if err != nil {
			wrong("DESK_HEADERS_FILE", err)
		}
		c.deskHeaders = &atomic.Pointer[http.Header]{}
		c.deskHeaders.Store(&headers)
	}
	at, err := listen.Parse(c.DeskListen)
	if err != nil {
		wrong("DESK_LISTEN", fmt.Errorf("%w, or off", err))
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
	if c.DeskToken.text == "" && c.DeskTokenFile == "" {
		return append(errs, errors.New("HOLDPOINT_DESK_TOKEN_FILE is not set, and the desk of HOLDPOINT_DESK_LISTEN takes nobody without a token, on loopback too: want a file with one, such as openssl rand -hex 32 makes"))
	}
	if c.deskTokens, err = c.readDeskTokens(); err != nil {
		name := "DESK_TOKEN"
		if c.DeskTokenFile != "" {
			name = "DESK_TOKEN_FILE"
		}
		for _, err := range split(err) {
			wrong(name, err)
		}
	}
	return errs
}

// A deskTools is HOLDPOINT_DESK_TOOLS.
type deskTools string

// elsewhere says what the agents are to do for decisions of the desk; nil: there is none.
func (c *config) elsewhere() *proxy.Elsewhere {
	if c.DeskListen == off {
		return nil
	}
	e := &proxy.Elsewhere{
		KeepsInput: c.Store.scheme() == "memory" || c.ring.Seals(),
		Forgets:    slices.Contains(redis.Schemes, c.Store.scheme()) && c.StoreReplicas == 0,
		Tools:      c.DeskTools == "keep",
	}
	if c.DeskHeadersFile != "" {
		e.Headers = func() http.Header { return *c.deskHeaders.Load() }
	}
	return e
}

// A deskCarrier goes on with what is decided. nil: nobody does but the chat.
type deskCarrier struct {
	*carry.Carrier
	end func()
}

// startCarrier starts it, if there is a desk.
func (c *config) startCarrier(kept store.Store, agents []served, logger *slog.Logger) *deskCarrier {
	if c.DeskListen == off || c.DeskCarryWithin == 0 {
		return nil
	}
	carriers := map[string]carry.Agent{}
	for _, a := range agents {
		carriers[a.Name] = a.handler
	}
	k := &deskCarrier{Carrier: carry.New(carry.Options{Store: kept, Agents: carriers, Within: c.DeskCarryWithin, Log: logger})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); k.Run(ctx) }()
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
func (c *config) readDeskTokens() ([]desk.Token, error) {
	text, err := c.secretOf(c.DeskToken, c.DeskTokenFile)
	if err != nil {
		return nil, err
	}
	if c.DeskTokenFile == "" {
		text = strings.ReplaceAll(text, ",", "\n")
	}
	return desk.ParseTokens(text)
}

// A deskServer is the desk's listener. nil: there is none.
type deskServer struct {
	http   *http.Server
	tokens *desk.Tokens
	keys   *desk.Keys // that sessions are signed with
}

// The desk's answers are short, and its requests have no bodies.
const (
	deskReadTimeout  = 20 * time.Second
	deskWriteTimeout = time.Minute
	deskLastWords    = 2 * time.Second
)

// startDesk starts the desk on the store, if there is to be one.
func (c *config) startDesk(kept store.Store, agents []served, k *deskCarrier, logger *slog.Logger) (*deskServer, error) {
	if c.DeskListen == off {
		return nil, nil
	}
	listener, err := c.desk.Listen()
	if err != nil {
		return nil, err
	}
	s := &deskServer{tokens: &desk.Tokens{}, keys: &desk.Keys{}}
	s.keys.Set(c.ring.Derive(sessionPurpose))
	deciders := map[string]desk.Agent{}
	for _, a := range agents {
		deciders[a.Name] = a.handler
	}
	s.tokens.Set(c.deskTokens)
	s.http = &http.Server{
		Handler: page.Over(desk.New(desk.Options{
			Store: c.metrics.Store(kept), Tokens: s.tokens, Agents: deciders, Decided: k.decided(), Events: c.sinks(), EventsRequired: c.AuditRequired, Notices: c.notices(), Posted: c.posted(),
			Access: c.access(), Keys: s.keys, Trusted: c.deskTrusts,
			Refused: front.Refused, Logger: logger,
		})),
		ReadTimeout: deskReadTimeout, WriteTimeout: deskWriteTimeout,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	if c.policy == nil {
		logger.Warn("each caller of the desk has all rights: there is no policy", "variable", prefix+"POLICY")
	}
	logger.Info("desk", "desk_addr", c.desk.Shown(listener), "tokens", len(c.deskTokens))
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

// deskTrusts says whether the headers are believed by which a proxy says how the client has come to
// the desk.
func (c *config) deskTrusts(req *http.Request) bool {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return c.desk.Unix() // the permissions of the socket say who can come by it
	}
	return c.TrustedPeers.Has(peer.Addr().Unmap().WithZone(""))
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
	if c.DeskHeadersFile != "" {
		l.add(prefix+"DESK_HEADERS_FILE", func() error {
			headers, err := readHeaders(c.DeskHeadersFile)
			if err == nil {
				c.deskHeaders.Store(&headers)
			}
			return err
		})
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
