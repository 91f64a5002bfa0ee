package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"holdpoint/internal/edge/admin"
)

// shutdownSettings are the variables of the end of the process.
type shutdownSettings struct {
	Delay   time.Duration `env:"DRAIN_DELAY" envDefault:"5s" doc:"how long connections are still taken after TERM or a drain, while load balancers learn that it is not ready"`
	Timeout time.Duration `env:"DRAIN_TIMEOUT" envDefault:"20s" doc:"how long open streams run on after that, any length. What is left then gets PROXY_DRAINING. With 5s more the two must fit the grace period of whoever kills (docs/operations.md#the-grace-period)"`
}

// A server is the HTTP server around the proxy. It knows how to end.
//
// The end begins with a signal or with POST /drain of the admin listener, and is the same: not
// ready at once, connections are taken for delay, streams run on for timeout, and what is left then
// is told and cut. After a drain the process waits for its signal. TERM during a drain means that
// whoever drains was cut short: a kubelet sends it when the grace period is over, and kills two
// seconds later. What is left is told at once then.
type server struct {
	http   *http.Server
	drain  func(context.Context) error // proxy.Handler.Drain
	probes *admin.Server               // nil: there are none
	logger *slog.Logger

	// delay is how long new connections are still taken. Kubernetes takes a pod out of its Services
	// at the same time as it sends TERM, so connections keep coming until every node has heard of it.
	delay time.Duration
	// timeout is how long running streams may go on after that.
	timeout time.Duration
	// last is for the clean ends that Drain wrote, and for requests that are not runs. With the
	// defaults, all three stay under the 30 s that Kubernetes waits by default before it kills.
	last time.Duration
	// moment is last after a second signal, and after TERM during a drain.
	moment time.Duration
	// together is how close two signals must be to count as one. timeout(1) and some supervisors
	// signal the process and its group.
	together time.Duration

	once   sync.Once
	ending atomic.Bool
	hurry  chan struct{} // closed by the second signal, or by TERM during a drain
	ended  chan struct{} // closed when nothing is left to wait for
}

// lastWords is how long the clean ends may take.
const lastWords = 4 * time.Second

func newServer(handler http.Handler, drain func(context.Context) error, logger *slog.Logger) *server {
	s := &server{
		drain:    drain,
		logger:   logger,
		delay:    5 * time.Second,
		timeout:  20 * time.Second,
		last:     lastWords,
		moment:   time.Second,
		together: 100 * time.Millisecond,
		hurry:    make(chan struct{}),
		ended:    make(chan struct{}),
	}
	s.http = &http.Server{
		Handler:           s.leaving(handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		// No WriteTimeout: it counts from the request's first byte and would cut healthy
		// streams. The proxy has deadlines of its own that move with the stream.
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	return s
}

// leaving asks clients of a server that is about to end for a new connection with their next
// request. One that was kept would be closed by the end, perhaps while a run is on its way.
func (s *server) leaving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.ending.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, req)
	})
}

// serve takes connections until a signal comes, and then ends in order. A second signal cuts that
// short, and a third one is not waited for. It closes the listener in any case.
func (s *server) serve(listener net.Listener, signals <-chan os.Signal) int {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(listener) }()
	s.probes.Started(func() <-chan struct{} {
		ended, _ := s.begin(s.delay, byDrain)
		return ended
	})
	defer s.http.Close()

	var sig os.Signal
	for sig == nil {
		select {
		case err := <-failed:
			if !errors.Is(err, http.ErrServerClosed) { // that is a drain
				s.logger.Error(logNoServe, "err", err)
				return exitError
			}
		case sig = <-signals:
		}
	}
	delay := s.delay
	if sig == os.Interrupt {
		delay = 0 // a person at a terminal waits, and no load balancer
	}
	first := time.Now()
	ended, begun := s.begin(delay, sig.String())
	hurried, cutShort := false, !begun && sig != os.Interrupt
	if cutShort {
		select {
		case <-ended:
		default:
			s.logger.Warn(logDrainCut, "signal", sig.String())
			close(s.hurry)
		}
	}
	for {
		select {
		case <-ended:
			if hurried {
				return exitError
			}
			s.logger.Info("stopped")
			return exitOK
		case sig := <-signals:
			switch {
			case time.Since(first) < s.together:
			case hurried:
				return exitError
			case cutShort:
				return exitError
			default:
				s.logger.Warn(logSecondSignal, "signal", sig.String())
				hurried, first = true, time.Now()
				close(s.hurry)
			}
		}
	}
}

// byDrain is the cause of an end that the admin listener was asked for.
const byDrain = "POST /drain"

// begin begins the end, unless it has begun. ended is closed at the end of that; begun says that it
// was this call. The log has by as the cause: a signal's name, or byDrain.
func (s *server) begin(delay time.Duration, by string) (ended <-chan struct{}, begun bool) {
	s.once.Do(func() {
		begun = true
		s.logger.Info("draining", "by", by, "delay", delay.String(), "timeout", s.timeout.String(), "hint", "a second signal ends it at once")
		s.ending.Store(true)
		s.probes.Draining()
		go func() {
			defer close(s.ended)
			s.end(delay)
			s.probes.Drained()
			if by == byDrain {
				s.logger.Info("drained, waiting for a signal")
			}
		}()
	})
	if !begun {
		s.logger.Info("the drain has begun already", "by", by)
	}
	return s.ended, begun
}

// end is the orderly end.
func (s *server) end(delay time.Duration) {
	streams, cut := context.WithCancel(context.Background()) // done: streams are told and cut
	defer cut()
	all, cutAll := context.WithCancel(context.Background()) // done: nothing is waited for
	defer cutAll()
	go func() {
		s.wait(delay+s.timeout, all.Done())
		cut()
		select {
		case <-s.hurry:
			time.AfterFunc(s.moment, cutAll)
		case <-time.After(s.last):
			cutAll()
		case <-all.Done():
		}
	}()
	s.wait(delay, nil)

	closed := make(chan struct{})
	go func() {
		defer close(closed)
		err := s.http.Shutdown(all) // closes the listener first and waits for connections then
		if errors.Is(err, context.Canceled) {
			s.logger.Warn(logCutAtDeadline)
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

// wait waits for that long, or until somebody is in a hurry, or until done.
func (s *server) wait(d time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.hurry:
	case <-done:
	}
}

// drainAll drains until the connections are closed, and again after that. A connection that was
// accepted just before may bring its run after a Drain that had nothing to wait for. And a run may
// outlive its connection, if a client left while a claim is held.
func (s *server) drainAll(ctx context.Context, closed <-chan struct{}) {
	for last := false; ; {
		if err := s.drain(ctx); err != nil {
			s.logger.Warn(logNotInOrder, "err", err)
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
