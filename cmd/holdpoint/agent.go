package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"holdpoint/internal/edge/certificates"
	"holdpoint/internal/edge/headers"
	"holdpoint/internal/variables"
	"holdpoint/proxy"
	"holdpoint/translate/dialects"
)

// An Agent has the settings of one agent: the agent of HOLDPOINT_UPSTREAM or that of a route. The
// type is exported because package variables reads embedded structs only if they are exported.
type Agent struct {
	Upstream            address `env:"UPSTREAM" short:"address of the backend, such as http://localhost:8000/agent" doc:"address of the backend, http or https. Holdpoint appends the path of each request to the path of this address"`
	UpstreamHeadersFile string  `env:"UPSTREAM_HEADERS_FILE" doc:"file with headers, one line Name: value for each. Holdpoint adds them to every request to the backend. It is read again when it changes"`
	UpstreamCAFile      string  `env:"UPSTREAM_CA_FILE" doc:"file with the authorities (PEM) that may have issued the backend's certificate, instead of the system's. It is read again when it changes"`
	UpstreamCertFile    string  `env:"UPSTREAM_CERT_FILE" doc:"file with the certificate (PEM) that Holdpoint shows to the backend"`
	UpstreamKeyFile     string  `env:"UPSTREAM_KEY_FILE" doc:"file with the private key (PEM) of that certificate"`
	UpstreamServerName  string  `env:"UPSTREAM_SERVER_NAME" doc:"name that the backend's certificate must have, if it is not the host of HOLDPOINT_UPSTREAM"`
	proxy.AgentSettings
	Dialect     string  `env:"DIALECT" envDefault:"auto" short:"how the backend asks its questions" doc:"how the backend asks its questions. auto recognizes this in the stream"`
	CORSOrigins origins `env:"CORS_ORIGINS" short:"origins of pages that may read responses, if the backend allows none" doc:"origins whose pages may read responses: origin;origin, such as https://app.example.com or https://*.example.com, or * for all pages without credentials. Holdpoint then answers preflights, replaces the backend's CORS headers, and allows any request header. Without it, the backend's own CORS headers count (docs/browser.md)"`

	DeskHeadersFile string `env:"DESK_HEADERS_FILE" doc:"file with headers, one line Name: value for each. A request that Holdpoint itself starts, for a decision of the desk, has them instead of the credentials of the run that asked. So it has Holdpoint's rights, and not that user's. It is read again when it changes"`

	// another process serves the agent; this one only judges decisions on the agent's questions
	servedElsewhere bool
	prefix          string                       // begins the names of the agent's variables
	path            string                       // of the agent's route, "" for all paths
	dialects        dialects.List                // all dialects, with the options that are set
	headers         http.Header                  // content of UpstreamHeadersFile
	upstreamTLS     *certificates.Set            // nil if no certificate file is set
	deskHeaders     *atomic.Pointer[http.Header] // content of DeskHeadersFile, nil if it is not set
}

func (a *Agent) group() variables.Group { return variables.Group{Prefix: a.prefix, Options: a} }

// isSet reports whether HOLDPOINT_UPSTREAM, or the route's UPSTREAM, is set.
func (a *Agent) isSet() bool { return a.Upstream.URL != nil }

// Check reads the files of the agent, and returns the errors in its settings.
func (a *Agent) Check() []error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, a.group().ErrorFor(name, fmt.Errorf(format, args...)))
	}
	if !slices.Contains(a.dialects.Names(), a.Dialect) {
		wrong("DIALECT", textOneOf, strings.Join(a.dialects.Names(), ", "))
	}
	errs = append(errs, variables.Group{Prefix: a.prefix, Options: &a.AgentSettings}.Check()...)
	errs = append(errs, a.dialects.Check(a.Dialect)...)
	errs = append(errs, a.checkTLS()...)
	read := func(name, file string) http.Header {
		list, err := headers.Read(file)
		for _, err := range variables.SplitErrors(err) {
			errs = append(errs, fmt.Errorf("%s%s: %w", a.prefix, name, err))
		}
		return list
	}
	if a.UpstreamHeadersFile != "" {
		a.headers = read("UPSTREAM_HEADERS_FILE", a.UpstreamHeadersFile)
	}
	if a.DeskHeadersFile != "" {
		list := read("DESK_HEADERS_FILE", a.DeskHeadersFile)
		a.deskHeaders = &atomic.Pointer[http.Header]{}
		a.deskHeaders.Store(&list)
	}
	return errs
}

// checkTLS reads the TLS files of the agent, and returns the errors in its TLS settings.
func (a *Agent) checkTLS() []error {
	if a.isSet() && a.Upstream.Scheme == "http" {
		var errs []error
		for _, one := range [][2]string{
			{"UPSTREAM_CA_FILE", a.UpstreamCAFile}, {"UPSTREAM_CERT_FILE", a.UpstreamCertFile},
			{"UPSTREAM_KEY_FILE", a.UpstreamKeyFile}, {"UPSTREAM_SERVER_NAME", a.UpstreamServerName},
		} {
			if one[1] != "" {
				errs = append(errs, a.group().ErrorFor(one[0], errors.New(a.prefix+textPlainUpstream)))
			}
		}
		if errs != nil {
			return errs
		}
	}
	var err error
	a.upstreamTLS, err = certificates.OpenNamed(certificates.Files{Cert: a.UpstreamCertFile, Key: a.UpstreamKeyFile, CA: a.UpstreamCAFile}, a.prefix, "UPSTREAM_CERT_FILE", "UPSTREAM_KEY_FILE", "UPSTREAM_CA_FILE")
	return variables.SplitErrors(err)
}

// clientTLS returns the value of proxy.Options.UpstreamTLS, or nil if no TLS setting is set.
func (a *Agent) clientTLS() func(protocols ...string) *tls.Config {
	name := a.UpstreamServerName
	if a.upstreamTLS == nil && name == "" {
		return nil
	}
	if name == "" {
		name = a.Upstream.Hostname()
	}
	return func(protocols ...string) *tls.Config {
		if a.upstreamTLS == nil {
			return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name, NextProtos: protocols}
		}
		return a.upstreamTLS.Client(name, protocols...)
	}
}

// orPath returns the agent's name, or its path if it has no name.
func (a *Agent) orPath() string {
	if a.Name == "" {
		return a.path + "/"
	}
	return a.Name
}
