package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/caarlos0/env/v11"

	"holdpoint/cmd/holdpoint/internal/injector"
	"holdpoint/internal/inject"
	"holdpoint/internal/variables"
	"holdpoint/translate/dialects"
)

// injectTopic is the name of the help topic with the variables of `holdpoint inject`.
const injectTopic = "inject"

// injectSettings has the settings of `holdpoint inject`. It reads no other variables, because it
// has no agent, store or desk.
type injectSettings struct {
	injector injector.Settings
	log      logSettings
}

func (s *injectSettings) groups() []variables.Group {
	return []variables.Group{{Prefix: prefix, Options: &s.injector}, {Prefix: prefix, Options: &s.log}}
}

func (s *injectSettings) variables() (list []variables.Variable) {
	for _, g := range s.groups() {
		list = append(list, g.Variables()...)
	}
	return list
}

// loadInject reads the settings from environ. Its error joins all errors in them, one line for
// each.
func loadInject(environ []string) (*injectSettings, error) {
	s, environment := &injectSettings{}, env.ToMap(environ)
	var errs []error
	for _, g := range s.groups() {
		errs = append(errs, g.Read(environment)...)
		errs = append(errs, g.Check()...)
	}
	unknown, _ := ownNames(environment, s.variables())
	for _, name := range unknown {
		errs = append(errs, fmt.Errorf(textUnknownInject, name, injectTopic))
	}
	for i := range errs {
		errs[i] = fmt.Errorf("config: %w", errs[i])
	}
	return s, errors.Join(errs...)
}

// checkInject runs `holdpoint check inject`.
func checkInject(environ []string, all bool, t terminal) int {
	s, err := loadInject(environ)
	if err != nil {
		fmt.Fprintln(t.err, err)
		return exitMisuse
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, v := range s.variables() {
		if one := (setting{name: v.Name, value: v.Value, isDefault: v.IsDefault}); all || !one.isDefault {
			fmt.Fprintf(w, "%s\t%s\n", one.name, one)
		}
	}
	w.Flush()
	if s.injector.Files() == nil {
		fmt.Fprintln(t.out, textOwnCertificate)
	} else {
		fmt.Fprintf(t.out, textCertificateEnds, s.injector.Files().Expiry().UTC().Format(time.RFC3339))
	}
	return exitOK
}

// API servers may send requests for a while after a signal, until they learn that this replica
// ends. The webhook still answers requests for injectDelay, and then waits up to injectTimeout for
// open requests to end.
const (
	injectDelay   = 5 * time.Second
	injectTimeout = 10 * time.Second
)

// runInject runs `holdpoint inject`: it serves the webhook until a signal ends it.
func runInject(environ []string, stderr *os.File) int {
	started := time.Now()
	s, err := loadInject(environ)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitMisuse
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	logger := s.log.New(stderr)
	logger.Info("holdpoint inject", "version", readBuild().Version, "image", s.injector.Image)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	secure, ready, err := keepCertificate(ctx, s, started, logger)
	if err != nil {
		logger.Error(logNoStart, "err", err)
		return exitError
	}
	listener, err := s.injector.Listen.Address.Listen()
	if err != nil {
		logger.Error(logNoListen, withListenHint(err, "variable", "HOLDPOINT_INJECT_LISTEN", "err", err)...)
		return exitError
	}
	var server *server
	handler := injector.Handler(&inject.Injector{Image: s.injector.Image, Check: checkSidecar},
		func() bool { return ready() && !server.isDraining.Load() }, logger)
	server = newServer(handler, func(context.Context) error { return nil }, logger)
	server.delay, server.timeout = injectDelay, injectTimeout
	server.http.ReadTimeout, server.http.WriteTimeout = injectTimeout, 2*injectTimeout
	logger.Info("listening", "addr", s.injector.Listen.Address.Describe(listener))
	return server.serve(tls.NewListener(listener, secure), signals)
}

// keepCertificate starts the goroutine that keeps the webhook's certificate current. If certificate
// files are set, the goroutine reads them again when they change. Otherwise it makes and renews a
// certificate with a Keeper. The function ready reports whether the API server trusts the
// certificate.
func keepCertificate(ctx context.Context, s *injectSettings, started time.Time, logger *slog.Logger) (secure *tls.Config, ready func() bool, err error) {
	if files := s.injector.Files(); files != nil {
		reloads := &reloader{logger: logger, startTime: started}
		reloads.add(prefix+"INJECT_*_FILE", func() error { _, err := files.Reload(); return err }, files.Names()...)
		go reloads.watch(ctx)
		return files.Server("http/1.1"), func() bool { return true }, nil
	}
	keeper, err := s.injector.NewKeeper(logger)
	if err != nil {
		return nil, nil, err
	}
	if err := keeper.CheckVersion(ctx); err != nil {
		return nil, nil, err
	}
	go keeper.Run(ctx)
	return keeper.TLS(), keeper.Ready, nil
}

// checkSidecar returns the errors that a sidecar with this environment would report at its start.
// If HOLDPOINT_STORE names a file, checkSidecar leaves the variable out, because the sidecar's
// files are not on this machine.
func checkSidecar(environ []string) []error {
	var judged []string
	for _, v := range environ {
		if !strings.HasPrefix(v, prefix+"STORE=bolt:") {
			judged = append(judged, v)
		}
	}
	_, err := loadFor(judged, dialects.All(), false, nil)
	var errs []error
	for _, err := range variables.SplitErrors(err) {
		errs = append(errs, errors.New(strings.TrimPrefix(err.Error(), "config: ")))
	}
	return errs
}
