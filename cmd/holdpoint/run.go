package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"holdpoint/internal/observe/metrics"
	"holdpoint/store"
	"holdpoint/translate/dialects"
)

// run runs `holdpoint run`: it serves the proxy until a signal ends it. If deskOnly is set, it runs
// `holdpoint desk`: it serves the desk for all agents whose records are in the store. The processes
// that serve these agents then send the desk's decisions to them.
func run(environ []string, list dialects.List, deskOnly bool, stderr *os.File) int {
	started := time.Now()
	s, err := loadFor(environ, list, deskOnly, os.DirFS("/"))
	if err == nil && !deskOnly {
		columns, is := terminalWidth(stderr)
		err = s.desk.CheckScreen(is && columns > 0, environ)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitMisuse
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	hangups, forget := notifyHangup()
	defer forget()
	logger := s.log.New(stderr)
	logStart(s, logger)
	s.memory.start(logger)
	p := &program{settings: s, logger: logger, screen: stderr, reloader: &reloader{logger: logger, startTime: started}}
	defer p.stop()
	starting, built := signalContext(signals)
	f := p.build(starting)
	built()
	if f != nil && starting.Err() == nil {
		logger.Error(f.message, f.args...)
		return f.code
	}
	select {
	case sig := <-signals:
		logger.Info("stopped before it took runs", "signal", sig.String())
		return exitOK
	default:
	}
	stop := make(chan struct{})
	defer close(stop)
	go onHangup(hangups, p.reloader, stop)
	if deskOnly {
		return p.waitAtDesk(signals)
	}
	server := newServer(s.desk.WithoutSessions(p.handler), p.handler.Drain, logger)
	server.delay, server.timeout, server.adminServer = s.shutdown.Delay, s.shutdown.Timeout, p.adminServer
	logger.Info("listening", "addr", s.front.Listen.Address.Describe(p.listener))
	return server.serve(s.front.Configure(server.http, p.listener, s.identity.TrustedPeers.Contains, logger), signals)
}

// signalContext returns a context that the first signal cancels. It puts the signal back into the
// channel signals. The function done ends the watching of the channel.
func signalContext(signals chan os.Signal) (starting context.Context, done func()) {
	starting, cancel := context.WithCancel(context.Background())
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig := <-signals:
			cancel()
			select {
			case signals <- sig:
			default: // the channel is full of newer signals
			}
		case <-over:
		}
	}()
	return starting, func() { close(over); <-ended }
}

// waitAtDesk waits until a signal or a drain ends a `holdpoint desk`.
func (p *program) waitAtDesk(signals <-chan os.Signal) int {
	ended := make(chan struct{})
	var once sync.Once
	end := func() <-chan struct{} {
		once.Do(func() { p.adminServer.MarkDraining(); p.desk.Stop(); p.adminServer.MarkDrained(); close(ended) })
		return ended
	}
	p.adminServer.MarkStarted(end)
	sig := <-signals
	end()
	p.logger.Info("stopped", "signal", sig.String())
	return exitOK
}

// storeProbe returns a function that returns nil if the store responds, and the store's error
// otherwise. The function loads the record of a thread that does not exist. It also reports the
// result to m.
func storeProbe(threadStore store.Store, m *metrics.Metrics) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := threadStore.Load(ctx, "readiness", "")
		m.SetStoreUp(err == nil)
		return err
	}
}
