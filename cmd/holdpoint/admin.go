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

// probeTimeout bounds how long holdpoint healthcheck waits. Kubernetes ends a probe after one
// second by default, so in Kubernetes that shorter limit counts.
const probeTimeout = 5 * time.Second

// probes maps the argument of holdpoint healthcheck to the path that it requests.
var probes = map[string]string{"live": "/healthz", "ready": "/readyz", "started": "/startupz"}

// healthcheck runs `holdpoint healthcheck`, a probe for images that have neither a shell nor curl.
func healthcheck(environ []string, what string, stdout, stderr io.Writer) int {
	path, ok := probes[what]
	if !ok {
		return misuse(stderr, fmt.Sprintf(textHealthcheck, what))
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	return askAdmin(ctx, environ, http.MethodGet, path, stdout, stderr)
}

// drain runs `holdpoint drain`, for the preStop hook of an image without a shell. It returns when
// the serving process has ended its streams, at the latest after HOLDPOINT_DRAIN_DELAY plus
// HOLDPOINT_DRAIN_TIMEOUT.
func drain(environ []string, stdout, stderr io.Writer) int {
	return askAdmin(context.Background(), environ, http.MethodPost, "/drain", stdout, stderr)
}

// requestReload runs `holdpoint reload`: the serving process reads its files again, as after a HUP
// signal. The command is for callers that can run a command in the container but cannot send a
// signal to its process.
func requestReload(environ []string, stdout, stderr io.Writer) int {
	return askAdmin(context.Background(), environ, http.MethodPost, "/reload", stdout, stderr)
}

// askAdmin sends a request to the admin listener of the process that has the same environment,
// prints the response, and returns the exit code. Of the environment, it reads
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
		fmt.Fprintf(stderr, "config: %v\n", group.ErrorFor("ADMIN_LISTEN", wrong))
		return exitMisuse
	case err != nil:
		fmt.Fprintf(stderr, "holdpoint: %v\n", err)
		return exitError
	}
	fmt.Fprintln(stdout, text)
	return exitOK
}
