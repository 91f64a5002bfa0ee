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

// shutdownSettings has the variables about the end of the process.
type shutdownSettings struct {
	Delay   time.Duration `env:"DRAIN_DELAY" envDefault:"5s" doc:"how long Holdpoint still accepts connections after TERM or the begin of a drain, so that load balancers notice that it is not ready"`
	Timeout time.Duration `env:"DRAIN_TIMEOUT" envDefault:"20s" doc:"how long open streams continue after that, any length. The remaining ones then get PROXY_DRAINING. The two times and 5s must fit into the grace period (docs/operations.md#the-grace-period)"`
}

// A server is the HTTP server around the proxy. It ends in an orderly way.
//
// A signal, or POST /drain of the admin listener, starts the drain. The process stops being ready
// at once. It still accepts new connections for the time delay. Then streams may run for the time
// timeout. Streams that are still open after that get RUN_ERROR PROXY_DRAINING and are cut. After a
// drain by POST /drain, the process waits for a signal. TERM during such a drain means that the
// drain took too long: a kubelet sends TERM when the grace period is over, and kills the process
// two seconds later. So the process then ends open streams at once.
type server struct {
	http        *http.Server
	drain       func(context.Context) error // see proxy.Handler.Drain
	adminServer *admin.Server               // nil if HOLDPOINT_ADMIN_LISTEN is off
	logger      *slog.Logger

	// delay is the time during which new connections are still accepted. Kubernetes removes a pod
	// from its Services at the same time as it sends TERM. So new connections arrive until every
	// node has learned that the pod is gone.
	delay time.Duration
	// timeout is how long streams may still run after delay.
	timeout time.Duration
	// flushTime is the time after timeout. In this time, the terminal events that Drain wrote to the
	// streams are sent, and requests that are not runs may finish. With the defaults, delay,
	// timeout and last together are less than the 30 s after which Kubernetes kills a process by
	// default.
	flushTime time.Duration
	// shortFlushTime replaces flushTime after a second signal, and after TERM during a drain.
	shortFlushTime time.Duration
	// signalWindow is the time within which two signals count as one signal. timeout(1) and some
	// supervisors send a signal both to the process and to its process group.
	signalWindow time.Duration

	once        sync.Once
	isDraining  atomic.Bool
	hurrySignal chan struct{} // closed by a second signal, or by TERM during a drain
	streamsDone chan struct{} // closed when all streams have ended
}

// defaultFlushTime is the default of server.flushTime.
const defaultFlushTime = 4 * time.Second

func newServer(handler http.Handler, drain func(context.Context) error, logger *slog.Logger) *server {
	s := &server{
		drain:          drain,
		logger:         logger,
		delay:          5 * time.Second,
		timeout:        20 * time.Second,
		flushTime:      defaultFlushTime,
		shortFlushTime: time.Second,
		signalWindow:   100 * time.Millisecond,
		hurrySignal:    make(chan struct{}),
		streamsDone:    make(chan struct{}),
	}
	s.http = &http.Server{
		Handler:           s.closeWhenDraining(handler),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		// WriteTimeout is not set: it counts from the end of the header of the request, and would
		// cut healthy streams. The proxy has its own deadlines, which move with the stream.
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	return s
}

// closeWhenDraining wraps next. Once the drain has begun, it makes each client open a new
// connection for its next request. Otherwise the process could close a kept connection while the
// client sends a run on it.
func (s *server) closeWhenDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if s.isDraining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, req)
	})
}

// serve accepts connections until a signal arrives. Then it drains, and returns the exit code. A
// second signal ends the streams at once, and a third one ends the process without waiting. serve
// always closes the listener.
func (s *server) serve(listener net.Listener, signals <-chan os.Signal) int {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(listener) }()
	s.adminServer.MarkStarted(func() <-chan struct{} {
		ended, _ := s.beginDrain(s.delay, byDrain)
		return ended
	})
	defer s.http.Close()

	var sig os.Signal
	for sig == nil {
		select {
		case err := <-failed:
			if !errors.Is(err, http.ErrServerClosed) { // a drain makes Serve return ErrServerClosed
				s.logger.Error(logNoServe, "err", err)
				return exitError
			}
		case sig = <-signals:
		}
	}
	delay := s.delay
	if sig == os.Interrupt {
		delay = 0 // a person at a terminal is waiting, and no load balancer needs the time
	}
	first := time.Now()
	ended, isFirst := s.beginDrain(delay, sig.String())
	hurried, cutShort := false, !isFirst && sig != os.Interrupt
	if cutShort {
		select {
		case <-ended:
		default:
			s.logger.Warn(logDrainCut, "signal", sig.String())
			close(s.hurrySignal)
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
			case time.Since(first) < s.signalWindow:
			case hurried, cutShort:
				return exitError
			default:
				s.logger.Warn(logSecondSignal, "signal", sig.String())
				hurried, first = true, time.Now()
				close(s.hurrySignal)
			}
		}
	}
}

// byDrain is the cause that begin logs when POST /drain of the admin listener starts the drain.
const byDrain = "POST /drain"

// beginDrain starts the drain of the server, unless it was started before. The channel ended is
// closed when the drain is complete. The result isFirst reports whether this call started the
// drain. The parameter by is the cause for the log: the name of a signal, or byDrain.
func (s *server) beginDrain(delay time.Duration, by string) (ended <-chan struct{}, isFirst bool) {
	s.once.Do(func() {
		isFirst = true
		s.logger.Info("draining", "by", by, "delay", delay.String(), "timeout", s.timeout.String(), "hint", "a second signal ends it at once")
		s.isDraining.Store(true)
		s.adminServer.MarkDraining()
		go func() {
			defer close(s.streamsDone)
			s.drainStreams(delay)
			s.adminServer.MarkDrained()
			if by == byDrain {
				s.logger.Info("drained, waiting for a signal")
			}
		}()
	})
	if !isFirst {
		s.logger.Info("the drain has begun already", "by", by)
	}
	return s.streamsDone, isFirst
}

// drainStreams drains the server, and returns when all streams have ended or were cut.
func (s *server) drainStreams(delay time.Duration) {
	// when it is canceled, Drain ends the open streams
	streams, cut := context.WithCancel(context.Background())
	defer cut()
	// when it is canceled, end waits for nothing more
	all, cutAll := context.WithCancel(context.Background())
	defer cutAll()
	go func() {
		s.wait(delay+s.timeout, all.Done())
		cut()
		select {
		case <-s.hurrySignal:
			time.AfterFunc(s.shortFlushTime, cutAll)
		case <-time.After(s.flushTime):
			cutAll()
		case <-all.Done():
		}
	}()
	s.wait(delay, nil)

	closed := make(chan struct{})
	go func() {
		defer close(closed)
		err := s.http.Shutdown(all) // closes the listener, then waits for the connections
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
	case <-all.Done(): // a client reads so little that even the end of its stream cannot be sent
	}
}

// wait waits for d, or until hurry or done is closed.
func (s *server) wait(d time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.hurrySignal:
	case <-done:
	}
}

// drainAll calls drain until all connections are closed, and once more after that. One call is not
// enough, for two reasons. A connection that was accepted just before the listener closed may start
// its run after a drain that found no run. And a run may last longer than its connection: its
// client has left, but the run still holds a claim.
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
		case <-time.After(s.signalWindow):
		}
	}
}
