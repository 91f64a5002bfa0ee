package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/caarlos0/env/v11"

	"holdpoint/internal/edge/admin"
	"holdpoint/internal/variables"
)

// probeTimeout bounds holdpoint healthcheck. A probe of Kubernetes has a second, unless it is given
// more.
const probeTimeout = 5 * time.Second

// probes are what holdpoint healthcheck takes, and what it asks for.
var probes = map[string]string{"live": "/healthz", "ready": "/readyz", "started": "/startupz"}

// healthcheck is `holdpoint healthcheck`: a probe for an image without a shell and curl.
func healthcheck(environ []string, what string, stdout, stderr io.Writer) int {
	path, ok := probes[what]
	if !ok {
		return misuse(stderr, fmt.Sprintf(textHealthcheck, what))
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	return askAdmin(ctx, environ, http.MethodGet, path, stdout, stderr)
}

// drain is `holdpoint drain`: what a preStop hook runs in an image without a shell. It returns when
// the process has nothing left to drain, which is within the drain's own times.
func drain(environ []string, stdout, stderr io.Writer) int {
	return askAdmin(context.Background(), environ, http.MethodPost, "/drain", stdout, stderr)
}

// readAgain is `holdpoint reload`: HUP for whoever can run a command beside the process and send it
// no signal.
func readAgain(environ []string, stdout, stderr io.Writer) int {
	return askAdmin(context.Background(), environ, http.MethodPost, "/reload", stdout, stderr)
}

// askAdmin asks the admin listener of the process with the same environment. Of that it reads
// HOLDPOINT_ADMIN_LISTEN only.
func askAdmin(ctx context.Context, environ []string, method, path string, stdout, stderr io.Writer) int {
	var s admin.Settings
	group := variables.Group{Prefix: prefix, Options: &s}
	group.Read(map[string]string{prefix + "ADMIN_LISTEN": env.ToMap(environ)[prefix+"ADMIN_LISTEN"]})
	text, wrong, err := s.Ask(ctx, method, path)
	switch {
	case wrong == admin.ErrOff: //nolint:errorlint // Ask returns it bare
		fmt.Fprintf(stderr, "holdpoint: %v\n", wrong)
		return exitMisuse
	case wrong != nil:
		fmt.Fprintf(stderr, "config: %v\n", group.Wrong("ADMIN_LISTEN", wrong))
		return exitMisuse
	case err != nil:
		fmt.Fprintf(stderr, "holdpoint: %v\n", err)
		return exitError
	}
	fmt.Fprintln(stdout, text)
	return exitOK
}
