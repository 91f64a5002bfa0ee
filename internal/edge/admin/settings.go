package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"holdpoint/internal/edge/listen"
	"holdpoint/internal/variables"
)

// Settings are the variables of the admin listener.
type Settings struct {
	Listen listen.Variable `env:"ADMIN_LISTEN" envDefault:"127.0.0.1:7081" short:"address of /readyz and other probes, or off" doc:"address of /healthz, /readyz, /startupz, /metrics and the other paths for operators, in the same forms as LISTEN, or off (docs/operations.md#the-admin-listener). If the default address is in use, Holdpoint runs without this listener. If an address that you set is in use, Holdpoint does not start"`
	PProf  bool            `env:"PPROF" envDefault:"false" doc:"true: serve Go's profiles at /debug/pprof/ on the admin listener"`

	// IsSet is true if the environment sets the address, even if it sets the default address.
	IsSet bool
}

// Check returns what is wrong with the settings.
func (s *Settings) Check() []error {
	if s.Listen.IsOff() {
		if s.PProf {
			return []error{variables.ErrorAtf("PPROF", textProfilesOff)}
		}
		return nil
	}
	if err := s.Listen.Check(); err != nil {
		return []error{variables.ErrorAt("ADMIN_LISTEN", fmt.Errorf(textOrOff, err))}
	}
	return nil
}

// New listens at the address of the settings, and starts a Server. It returns nil if the listener
// is off. If the default address is in use and the environment did not set it, New logs a warning
// and returns nil without an error. So two Holdpoints on one machine need no setting.
func (s *Settings) New(build any, metrics http.Handler, logger *slog.Logger) (*Server, error) {
	if s.Listen.IsOff() {
		return nil, nil
	}
	listener, err := s.Listen.Address.Listen()
	switch {
	case err != nil && s.IsSet:
		return nil, err
	case err != nil:
		logger.Warn(logNoListener, "err", err)
		return nil, nil
	}
	logger.Info("admin listener", "admin_addr", s.Listen.Address.Describe(listener))
	server := New(Options{Build: build, Profiles: s.PProf, Logger: logger, Metrics: metrics})
	go server.Serve(listener)
	return server, nil
}

// These are the errors of Settings.Ask if the settings have no address to send a request to.
var (
	ErrOff     = errors.New(textListenerOff)
	errNoFixed = errors.New(textNoFixedPort)
)

// Ask sends a request to the process that runs with these settings, and returns the body of the
// response. wrong is an error of the settings; err is an error of the request.
func (s *Settings) Ask(ctx context.Context, method, path string) (text string, wrong, err error) {
	if s.Listen.IsOff() {
		return "", ErrOff, nil
	}
	wrong = s.Listen.Check()
	if wrong == nil && !s.Listen.Address.IsFixed() {
		wrong = errNoFixed
	}
	if wrong != nil {
		return "", wrong, nil
	}
	text, err = Ask(ctx, s.Listen.Address, method, path)
	return text, nil, err
}
