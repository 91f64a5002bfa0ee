package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/caarlos0/env/v11"

	"holdpoint/internal/edge/admin"
	"holdpoint/internal/edge/listen"
	"holdpoint/internal/observe/metrics"
	"holdpoint/store"
	"holdpoint/translate/dialects"
)

// startAdmin starts the admin listener. It is nil if there is none, which is no error where nobody
// asked for one: two Holdpoints on one machine need no setting for it.
func startAdmin(c *config, logger *slog.Logger) (*admin.Server, error) {
	if c.AdminListen == off {
		return nil, nil
	}
	listener, err := c.admin.Listen()
	switch {
	case err != nil && c.adminGiven:
		return nil, err
	case err != nil:
		logger.Warn("there is no admin listener, so probes and holdpoint drain find nothing or another process: set HOLDPOINT_ADMIN_LISTEN to an address of its own, or to off", "err", err)
		return nil, nil
	}
	logger.Info("admin listener", "admin_addr", c.admin.Shown(listener))
	s := admin.New(admin.Options{
		Build:    readBuild(),
		Profiles: c.PProf,
		Logger:   logger,
		Metrics:  c.metrics.Handler(),
	})
	go s.Serve(listener)
	return s, nil
}

// reaches asks the store as a run does, for a thread that is not there. m is told
// whether it answered.
func reaches(kept store.Store, m *metrics.Metrics) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := kept.Load(ctx, "readiness", "")
		m.StoreAnswers(err == nil)
		return err
	}
}

// watchStore keeps the probes and the metrics told of the store until stop is closed.
func watchStore(probes *admin.Server, kept store.Store, m *metrics.Metrics, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go probes.Watch(ctx, reaches(kept, m))
	<-stop
}

// probeTimeout bounds holdpoint healthcheck. A probe of Kubernetes has a second, unless it is given
// more.
const probeTimeout = 5 * time.Second

// probes are what holdpoint healthcheck takes, and what it asks for.
var probes = map[string]string{"live": "/healthz", "ready": "/readyz", "started": "/startupz"}

// healthcheck is `holdpoint healthcheck`: a probe for an image without a shell and curl.
func healthcheck(environ []string, list dialects.List, what string, stdout, stderr io.Writer) int {
	path, ok := probes[what]
	if !ok {
		return misuse(stderr, fmt.Sprintf("healthcheck takes live, ready or started, got %q", what))
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	return askAdmin(ctx, environ, list, http.MethodGet, path, stdout, stderr)
}

// drain is `holdpoint drain`: what a preStop hook runs in an image without a shell. It returns when
// the process has nothing left to drain, which is within the drain's own times.
func drain(environ []string, list dialects.List, stdout, stderr io.Writer) int {
	return askAdmin(context.Background(), environ, list, http.MethodPost, "/drain", stdout, stderr)
}

// askAdmin asks the admin listener of the process with the same environment. Of that it reads
// HOLDPOINT_ADMIN_LISTEN only.
func askAdmin(ctx context.Context, environ []string, list dialects.List, method, path string, stdout, stderr io.Writer) int {
	c := newConfig(list)
	if given := env.ToMap(environ)[prefix+"ADMIN_LISTEN"]; given != "" {
		c.AdminListen = given
	}
	if c.AdminListen == off {
		fmt.Fprintln(stderr, "holdpoint: HOLDPOINT_ADMIN_LISTEN is off, so there is nobody to ask")
		return exitMisuse
	}
	at, err := listen.Parse(c.AdminListen)
	if err == nil && !at.Fixed() {
		err = fmt.Errorf("its port is another one at each start, want a fixed one")
	}
	if err != nil {
		fmt.Fprintf(stderr, "config: %v\n", c.group().Wrong("ADMIN_LISTEN", err))
		return exitMisuse
	}
	text, err := admin.Ask(ctx, at, method, path)
	if err != nil {
		fmt.Fprintf(stderr, "holdpoint: %v\n", err)
		return exitError
	}
	fmt.Fprintln(stdout, text)
	return exitOK
}
