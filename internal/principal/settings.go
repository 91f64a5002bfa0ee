package principal

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"holdpoint/internal/edge/headers"
	"holdpoint/internal/variables"
)

// Settings are the variables that configure how senders are identified.
type Settings struct {
	TenantHeader    string           `env:"TENANT_HEADER" doc:"header with the tenant. The same thread id of two tenants is two threads (docs/principals.md#tenants-and-agents)"`
	PrincipalHeader string           `env:"PRINCIPAL_HEADER" short:"header that names the user, set by a proxy in front" doc:"header with the user, set by a proxy in front. A thread belongs to the user of its first run, and other users cannot use it (docs/principals.md)"`
	TrustedPeers    Peers            `env:"TRUSTED_PEERS" short:"networks of that proxy, such as 10.0.0.0/8" doc:"networks of the proxy that sets these headers: network;network, such as 10.0.0.0/8. Requests with these headers from other addresses are refused"`
	JWTIssuer       string           `env:"JWT_ISSUER" doc:"issuer (iss) of the bearer tokens that identify the user, instead of a header. A request without a valid token is refused"`
	JWTAudience     string           `env:"JWT_AUDIENCE" doc:"audience (aud) that a token must have"`
	JWKSURL         KeysURL          `env:"JWT_JWKS_URL" doc:"address of the issuer's keys, a JWK set"`
	JWTClaim        string           `env:"JWT_CLAIM" envDefault:"sub" doc:"claim of the token that names the user"`
	Key             variables.Secret `env:"PRINCIPAL_KEY" short:"secret key for the hash of the user in records" doc:"secret keys of at least 32 characters, the newest first: key,key. A record names its owner by a hash with such a key. Required if users are identified" file:"file with these keys, one in a line. It is read again when it changes"`
	ThreadNamespace string           `env:"THREAD_NAMESPACE" envDefault:"none" values:"none|principal" doc:"principal: the backend gets a hash of tenant, user and thread id as the thread id, so the same id is another thread for each user (docs/principals.md#threads-of-ones-own)"`
	Show            NameStyle        `env:"SHOW_PRINCIPAL" envDefault:"hash" values:"hash|name|none" doc:"how the audit, the log and the desk show the user: by the keyed hash of the records, by the name, which the records then contain too, or not at all"`

	keys Ring // set by Check
}

// UnmarshalText reads networks in the form of ParsePeers.
func (p *Peers) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePeers(string(text))
	return err
}

// A KeysURL is the address from which an issuer's keys are fetched.
type KeysURL struct{ *url.URL }

// UnmarshalText reads the address.
func (k *KeysURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New(textNotAddress)
	case u.User != nil:
		return errors.New(textUserInURL)
	}
	k.URL = u
	return nil
}

// String returns the address without the secrets that it may contain, for logs.
func (k KeysURL) String() string { return variables.ShownURL(k.URL) }

// IsPlainHTTP reports whether the keys are fetched by plain HTTP from another machine.
func (k KeysURL) IsPlainHTTP() bool {
	if k.URL == nil || k.Scheme != "http" {
		return false
	}
	host := k.Hostname()
	return host != "localhost" && !net.ParseIP(host).IsLoopback()
}

// ownThreads is the value of HOLDPOINT_THREAD_NAMESPACE with which each principal has threads of
// his own.
const ownThreads = "principal"

// HasPrincipal reports whether principals are configured.
func (s *Settings) HasPrincipal() bool { return s.PrincipalHeader != "" || s.JWKSURL.URL != nil }

// HeaderCount returns how many of the two headers for user and tenant are configured.
func (s *Settings) HeaderCount() (n int) {
	for _, name := range []string{s.PrincipalHeader, s.TenantHeader} {
		if name != "" {
			n++
		}
	}
	return n
}

// OwnThreads reports whether each principal has threads of his own at the backend.
func (s *Settings) OwnThreads() bool { return s.ThreadNamespace == ownThreads }

// Keys returns the keys for the hashes with which records identify their owner.
func (s *Settings) Keys() Ring { return s.keys }

// Check reads the keys, and returns what is wrong with the settings.
func (s *Settings) Check() (errs []error) {
	for _, h := range [][2]string{{"PRINCIPAL_HEADER", s.PrincipalHeader}, {"TENANT_HEADER", s.TenantHeader}} {
		if h[1] == "" {
			continue
		}
		if err := CheckHeader(h[1]); err != nil {
			errs = append(errs, variables.ErrorAt(h[0], err))
		}
	}
	switch {
	case s.HeaderCount() > 0 && len(s.TrustedPeers) == 0:
		errs = append(errs, errors.New(textNoPeers))
	case s.HeaderCount() == 2 && strings.EqualFold(s.PrincipalHeader, s.TenantHeader):
		errs = append(errs, variables.ErrorAtf("TENANT_HEADER", textSameHeader))
	}
	errs = append(errs, s.checkTokens()...)
	if s.OwnThreads() && !s.HasPrincipal() {
		errs = append(errs, variables.ErrorAtf("THREAD_NAMESPACE", textNoPrincipal))
	}
	keys, err := s.readKeys()
	if err != nil {
		errs = append(errs, err)
	}
	s.keys = keys
	return errs
}

// checkTokens checks the variables HOLDPOINT_JWT_*. If one of them is set, the others must be set
// too.
func (s *Settings) checkTokens() []error {
	set := map[string]bool{"JWT_ISSUER": s.JWTIssuer != "", "JWT_AUDIENCE": s.JWTAudience != "", "JWT_JWKS_URL": s.JWKSURL.URL != nil}
	var names, lacking []string
	for name, is := range set {
		if names = append(names, "HOLDPOINT_"+name); !is {
			lacking = append(lacking, "HOLDPOINT_"+name)
		}
	}
	slices.Sort(names)
	slices.Sort(lacking)
	switch {
	case len(lacking) == len(set):
		return nil
	case s.PrincipalHeader != "":
		return []error{variables.ErrorAtf("PRINCIPAL_HEADER", textTwoPrincipals)}
	case len(lacking) > 0:
		return []error{fmt.Errorf(textSetTogether, strings.Join(lacking, ", "), strings.Join(names, ", "))}
	}
	return nil
}

// readKeys reads the keys from HOLDPOINT_PRINCIPAL_KEY or from the file that is set in its place.
func (s *Settings) readKeys() (Ring, error) {
	const variable = "PRINCIPAL_KEY"
	if !s.Key.IsSet() {
		if s.HasPrincipal() {
			return nil, errors.New(textNoPrincipalKey)
		}
		return nil, nil
	}
	text, err := s.Key.Read(variable)
	if err != nil {
		return nil, err
	}
	ring, err := ParseRing(text)
	switch {
	case err != nil:
		return nil, variables.ErrorAt(s.Key.VariableName(variable), err)
	case !s.HasPrincipal():
		return nil, variables.ErrorAtf(s.Key.VariableName(variable), textNoPrincipalOrLeave)
	}
	return ring, nil
}

// CheckHeader returns an error if the header name must not be configured as the header of a user or
// a tenant.
func CheckHeader(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	switch why := headers.Refusal(name); {
	case !headers.IsName(name):
		return errors.New(textNotHeader)
	case why != "":
		return errors.New(textReserved + why)
	case canonical == "Authorization" || canonical == "Cookie":
		return errors.New(textSecretHeader)
	case strings.HasPrefix(canonical, "X-Forwarded-For") || canonical == "Forwarded" || canonical == "Origin":
		return errors.New(textForgeable)
	}
	return nil
}

// New creates the Gate of the settings. It returns nil if neither principals nor tenants are
// configured.
func (s *Settings) New(logger *slog.Logger) *Gate {
	if !s.HasPrincipal() && s.TenantHeader == "" {
		return nil
	}
	o := Options{
		Peers: s.TrustedPeers, TenantHeader: s.TenantHeader, PrincipalHeader: s.PrincipalHeader,
		Keys: s.keys, OwnThreads: s.OwnThreads(),
	}
	if s.JWKSURL.URL != nil {
		o.Tokens = NewTokens(TokenOptions{
			Issuer: s.JWTIssuer, Audience: s.JWTAudience, Claim: s.JWTClaim, KeysURL: s.JWKSURL.URL,
			OnFetch: LogFetches(logger, "HOLDPOINT_JWT_JWKS_URL"),
		})
	}
	gate := New(o)
	gate.settings = s
	return gate
}

// Reload reads the file with the keys again.
func (g *Gate) Reload() error {
	keys, err := g.settings.readKeys()
	if err != nil {
		return err
	}
	g.SetKeys(keys)
	return nil
}

// LogFetches returns a function that logs the result of each fetch of an issuer's keys. variable is
// the name of the variable that contains the address of the keys.
func LogFetches(logger *slog.Logger, variable string) func(skipped []string, err error) {
	var mu sync.Mutex
	said := ""
	// The keys are fetched every few minutes. So skipped keys are logged only if they differ from
	// those of the last fetch.
	isNew := func(skipped []string) bool {
		mu.Lock()
		defer mu.Unlock()
		before := said
		said = strings.Join(skipped, "; ")
		return said != "" && said != before
	}
	return func(skipped []string, err error) {
		if isNew(skipped) {
			logger.Warn(logKeysSkipped, "variable", variable, "skipped", skipped)
		}
		if err != nil {
			logger.Warn(logKeysNotFetched, "variable", variable, "err", err)
			return
		}
		logger.Debug("the keys of the issuer were fetched", "variable", variable)
	}
}
