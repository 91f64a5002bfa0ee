// Package injector is the HTTP server of `holdpoint inject`: its variables, its webhook, and the
// certificate that it makes for itself.
//
// Package inject decides how a pod is changed. This package reads and writes two objects of the API
// server, a Secret and a MutatingWebhookConfiguration. It does so with net/http, without a
// Kubernetes client.
package injector

import (
	"errors"
	"regexp"
	"time"

	"holdpoint/internal/edge/certificates"
	"holdpoint/internal/edge/listen"
	"holdpoint/internal/variables"
)

// Settings are the variables of the injector.
type Settings struct {
	Image    string          `env:"INJECT_IMAGE" doc:"image of the sidecars that holdpoint inject adds. holdpoint inject requires it (docs/injector.md)"`
	Listen   listen.Variable `env:"INJECT_LISTEN" envDefault:":8443" doc:"address of the webhook and of its probes /healthz and /readyz, host:port. It accepts only TLS"`
	CertFile string          `env:"INJECT_CERT_FILE" doc:"file with the webhook's certificate (PEM), such as one of cert-manager. It is read again when it changes. Without it the injector makes its own certificate"`
	KeyFile  string          `env:"INJECT_KEY_FILE" doc:"file with the private key (PEM) of that certificate"`
	Name     string          `env:"INJECT_NAME" envDefault:"holdpoint-injector" doc:"name of the injector's Service, of its MutatingWebhookConfiguration, and of the Secret with the certificate that it makes"`
	Lifetime time.Duration   `env:"INJECT_CERT_LIFETIME" envDefault:"2160h" doc:"how long a certificate that the injector makes is valid. It is renewed after two thirds of this time"`

	files *certificates.Set // set by Check; nil if the injector makes its certificate itself
}

// shortestLifetime is the shortest allowed lifetime of a certificate. It is long enough for each
// replica to check the certificate several times before the certificate expires.
const shortestLifetime = time.Minute

var objectName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Check returns the errors in the settings. It also reads the certificate files.
func (s *Settings) Check() (errs []error) {
	if s.Image == "" {
		errs = append(errs, errors.New(textNoImage))
	}
	if err := s.Listen.Check(); err != nil {
		errs = append(errs, variables.ErrorAt("INJECT_LISTEN", err))
	} else if s.Listen.Address.IsUnix() {
		errs = append(errs, variables.ErrorAtf("INJECT_LISTEN", textUnixListen))
	}
	if !objectName.MatchString(s.Name) {
		errs = append(errs, variables.ErrorAtf("INJECT_NAME", textNotService))
	}
	if s.Lifetime < shortestLifetime {
		errs = append(errs, variables.ErrorAtf("INJECT_CERT_LIFETIME", textAtLeast, shortestLifetime))
	}
	var err error
	s.files, err = certificates.OpenNamed(certificates.Files{Cert: s.CertFile, Key: s.KeyFile}, "HOLDPOINT_", "INJECT_CERT_FILE", "INJECT_KEY_FILE", "")
	return append(errs, variables.SplitErrors(err)...)
}

// Files returns the certificate of the certificate files, or nil if the injector makes a
// certificate itself.
func (s *Settings) Files() *certificates.Set { return s.files }
