package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"holdpoint/translate/dialects"
)

// run is `holdpoint run`: the proxy until a signal ends it.
func run(environ []string, list dialects.List, stderr *os.File) int {
	c, err := load(environ, list)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitMisuse
	}
	logger := newLogger(c, stderr)
	logStart(c, logger)
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
	handler, err := newHandler(c, kept, logger)
	if err != nil {
		logger.Error("cannot start", "err", err)
		return exitError
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		logger.Error("cannot listen", "err", err)
		return exitError
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	stop := make(chan struct{})
	defer close(stop)
	go newCalm().run(stop)
	go runGate(c.gate, stop)
	return newServer(handler, handler.Drain, logger).serve(listener, signals)
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

// logStart logs once what is in effect, and what follows from it that a user may not expect.
func logStart(c *config, logger *slog.Logger) {
	var attrs []any
	for _, s := range c.settings() {
		attrs = append(attrs, slog.String(strings.ToLower(strings.TrimPrefix(s.name, prefix)), s.value))
	}
	if c.ignored != nil {
		attrs = append(attrs, slog.Any("ignored", c.ignored))
	}
	logger.Info("configuration", attrs...)
	if c.CORSOrigins.everybody() {
		logger.Warn("pages of every origin may read answers: any page can reach Holdpoint through the browser of a person who opens it", "variable", "HOLDPOINT_CORS_ORIGINS")
	}
	logWho(c, logger)
}

// A server is the HTTP server around the proxy. It knows how to end.
type server struct {
	http   *http.Server
	drain  func(context.Context) error // proxy.Handler.Drain
	logger *slog.Logger

	// settle is how long new connections are still taken after the signal. Kubernetes takes a pod
	// out of its Services at the same time as it sends TERM, so connections keep coming until every
	// node has heard of it.
	settle time.Duration
	// deadline is how long running streams may go on. With settle and last it stays under the 30 s
	// that Kubernetes waits by default before it kills.
	deadline time.Duration
	// last is for the clean ends that Drain wrote, and for requests that are not runs.
	last time.Duration
	// together is how close two signals must be to count as one. timeout(1) and some supervisors
	// signal the process and its group.
	together time.Duration
}

func newServer(handler http.Handler, drain func(context.Context) error, logger *slog.Logger) *server {
	return &server{
		http: &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       120 * time.Second,
			MaxHeaderBytes:    64 << 10,
			// No WriteTimeout: it counts from the request's first byte and would cut healthy
			// streams. The proxy has deadlines of its own that move with the stream.
			ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		},
		drain:    drain,
		logger:   logger,
		settle:   time.Second,
		deadline: 25 * time.Second,
		last:     2 * time.Second,
		together: 100 * time.Millisecond,
	}
}

// serve takes connections until a signal comes, and then ends in order. It keeps accepting for a
// moment and stops. It lets streams run on until the deadline, and has Drain end what is left. A
// second signal ends it at once. It closes the listener in any case.
func (s *server) serve(listener net.Listener, signals <-chan os.Signal) int {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(listener) }()
	s.logger.Info("listening", "addr", listener.Addr().String())
	defer s.http.Close()

	select {
	case err := <-failed:
		s.logger.Error("cannot serve", "err", err)
		return exitError
	case sig := <-signals:
		s.logger.Info("draining", "signal", sig.String(), "deadline", s.deadline.String(), "hint", "a second signal ends it at once")
	}
	first := time.Now()
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer close(ended)
		s.end(ctx)
	}()
	for {
		select {
		case <-ended:
			s.logger.Info("stopped")
			return exitOK
		case sig := <-signals:
			if time.Since(first) < s.together {
				continue
			}
			s.logger.Warn("stopped by a second signal, running streams are cut", "signal", sig.String())
			return exitError
		}
	}
}

// end is the orderly end. It returns early when ctx is done.
func (s *server) end(ctx context.Context) {
	select {
	case <-time.After(s.settle):
	case <-ctx.Done():
		return
	}
	streams, cancel := context.WithTimeout(ctx, s.deadline)
	defer cancel()
	all, cancelAll := context.WithTimeout(ctx, s.deadline+s.last)
	defer cancelAll()

	closed := make(chan struct{})
	go func() {
		defer close(closed)
		err := s.http.Shutdown(all) // closes the listener first and waits for connections then
		if errors.Is(err, context.DeadlineExceeded) {
			s.logger.Warn("connections were cut at the deadline", "err", err)
		}
	}()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drainAll(streams, closed)
	}()
	<-closed
	select {
	case <-drained:
	case <-all.Done(): // a client that takes not even the end
	}
}

// drainAll drains until the connections are closed, and once more after that. A connection that was
// accepted just before may bring its run after a Drain that had nothing to wait for. And a run may
// outlive its connection, if a client left while a claim is held.
func (s *server) drainAll(ctx context.Context, closed <-chan struct{}) {
	for last := false; ; {
		if err := s.drain(ctx); err != nil {
			s.logger.Warn("streams did not end in order", "err", err)
		}
		if last {
			return
		}
		select {
		case <-closed:
			last = true
		case <-time.After(s.together):
		}
	}
}
