package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"holdpoint/internal/principal"
)

// peers are the networks of HOLDPOINT_TRUSTED_PEERS.
type peers struct{ principal.Peers }

// UnmarshalText reads peers.
func (p *peers) UnmarshalText(text []byte) (err error) {
	p.Peers, err = principal.ParsePeers(string(text))
	return err
}

// A keysURL is the address of an issuer's keys.
type keysURL struct{ *url.URL }

// UnmarshalText reads the address.
func (k *keysURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("not an address, want something like https://id.example.com/jwks.json")
	case u.User != nil:
		return errors.New("user and password do not belong here: the keys of an issuer are public")
	}
	k.URL = u
	return nil
}

// String is the address as logs may hold it.
func (k keysURL) String() string { return shownURL(k.URL) }

// ownThreads is the HOLDPOINT_THREAD_NAMESPACE that gives each principal threads of his own.
const ownThreads = "principal"

// hasPrincipal says whether requests have a principal.
func (c *config) hasPrincipal() bool { return c.PrincipalHeader != "" || c.JWKSURL.URL != nil }

// checkWho judges the variables that say who asks, and reads the keys.
func (c *config) checkWho() []error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, c.group().Wrong(name, fmt.Errorf(format, args...)))
	}
	missing := func(name, why string) { errs = append(errs, fmt.Errorf("%s%s is not set, %s", prefix, name, why)) }
	headers := 0
	for _, h := range [][2]string{{"PRINCIPAL_HEADER", c.PrincipalHeader}, {"TENANT_HEADER", c.TenantHeader}} {
		if h[1] == "" {
			continue
		}
		headers++
		if err := checkIdentityHeader(h[1]); err != nil {
			wrong(h[0], "%w", err)
		}
	}
	switch {
	case headers > 0 && len(c.TrustedPeers.Peers) == 0:
		missing("TRUSTED_PEERS", "and no header is believed without it, want the networks of the proxy that sets them, such as 10.0.0.0/8")
	case headers == 0 && len(c.TrustedPeers.Peers) > 0 && !c.deskUsesPeers():
		wrong("TRUSTED_PEERS", "nothing is taken from them, set HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_TENANT_HEADER, or leave it out")
	case headers > 0 && strings.HasPrefix(c.Listen, "unix:"):
		wrong("TRUSTED_PEERS", "who comes by the unix socket of HOLDPOINT_LISTEN has no address, so no header would be believed: want host:port there")
	case headers == 2 && strings.EqualFold(c.PrincipalHeader, c.TenantHeader):
		wrong("TENANT_HEADER", "it is HOLDPOINT_PRINCIPAL_HEADER too, want another one")
	}
	errs = append(errs, c.checkTokens()...)
	if c.ThreadNamespace == ownThreads && !c.hasPrincipal() {
		wrong("THREAD_NAMESPACE", "there is no principal, set HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_JWT_ISSUER")
	}
	return append(errs, c.readPrincipalKeys()...)
}

// checkTokens judges HOLDPOINT_JWT_*. They are set together.
func (c *config) checkTokens() []error {
	set := map[string]bool{"JWT_ISSUER": c.JWTIssuer != "", "JWT_AUDIENCE": c.JWTAudience != "", "JWT_JWKS_URL": c.JWKSURL.URL != nil}
	var names, lacking []string
	for name, is := range set {
		if names = append(names, prefix+name); !is {
			lacking = append(lacking, prefix+name)
		}
	}
	slices.Sort(names)
	slices.Sort(lacking)
	switch {
	case len(lacking) == len(set):
		return nil
	case c.PrincipalHeader != "":
		return []error{c.group().Wrong("PRINCIPAL_HEADER", errors.New("HOLDPOINT_JWT_ISSUER is set too, and a request has one principal: leave one of them out"))}
	case len(lacking) > 0:
		return []error{fmt.Errorf("%s: not set, and %s are set together", strings.Join(lacking, ", "), strings.Join(names, ", "))}
	}
	return nil
}

// readPrincipalKeys reads the ring from its variable or its file.
func (c *config) readPrincipalKeys() []error {
	const variable, file = "PRINCIPAL_KEY", "PRINCIPAL_KEY_FILE"
	text, name := c.PrincipalKey.text, variable
	switch {
	case text != "" && c.PrincipalKeyFile != "":
		return []error{c.group().Wrong(file, errors.New("HOLDPOINT_PRINCIPAL_KEY is set too, leave one of them out"))}
	case c.PrincipalKeyFile != "":
		b, err := os.ReadFile(c.PrincipalKeyFile)
		if err != nil {
			return []error{fmt.Errorf("%s%s: %w", prefix, file, err)}
		}
		text, name = string(b), file
	case text == "" && c.hasPrincipal():
		return []error{errors.New(prefix + variable + " is not set, and threads of principals need it: records name their owner by a hash under this key (or " + prefix + file + "). Make one with openssl rand -hex 32")}
	case text == "":
		return nil
	}
	ring, err := principal.ParseRing(text)
	switch {
	case err != nil:
		return []error{c.group().Wrong(name, err)}
	case !c.hasPrincipal():
		return []error{c.group().Wrong(name, errors.New("there is no principal, set HOLDPOINT_PRINCIPAL_HEADER or HOLDPOINT_JWT_ISSUER, or leave it out"))}
	}
	c.principalKeys = ring
	return nil
}

// checkIdentityHeader says what is wrong with the name of a header that says who asks.
func checkIdentityHeader(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	switch why := notTaken[canonical]; {
	case !isToken(name):
		return errors.New("not the name of a header, want one such as X-Forwarded-User")
	case why != "":
		return errors.New("it cannot say who asks: " + why)
	case canonical == "Authorization" || canonical == "Cookie":
		return errors.New("it holds a secret that changes, and no name: want a header that your proxy sets, or HOLDPOINT_JWT_ISSUER")
	case strings.HasPrefix(canonical, "X-Forwarded-For") || canonical == "Forwarded" || canonical == "Origin":
		return errors.New("its sender can write anything there")
	}
	return nil
}

// newGate is the gate that c describes, nil if nobody is asked who he is.
func (c *config) newGate(logger *slog.Logger) *principal.Gate {
	if !c.hasPrincipal() && c.TenantHeader == "" {
		return nil
	}
	o := principal.Options{
		Peers: c.TrustedPeers.Peers, TenantHeader: c.TenantHeader, PrincipalHeader: c.PrincipalHeader,
		Keys: c.principalKeys, OwnThreads: c.ThreadNamespace == ownThreads,
	}
	if c.JWKSURL.URL != nil {
		o.Tokens = principal.NewTokens(principal.TokenOptions{
			Issuer: c.JWTIssuer, Audience: c.JWTAudience, Claim: c.JWTClaim, KeysURL: c.JWKSURL.URL,
			Fetched: keysFetched(logger, "HOLDPOINT_JWT_JWKS_URL"),
		})
	}
	return principal.New(o)
}

// keysFetched logs how a fetch of an issuer's keys has ended.
func keysFetched(logger *slog.Logger, variable string) func(skipped []string, err error) {
	var mu sync.Mutex
	said := ""
	// The keys are fetched every few minutes: what is skipped is told when it changes.
	isNew := func(skipped []string) bool {
		mu.Lock()
		defer mu.Unlock()
		before := said
		said = strings.Join(skipped, "; ")
		return said != "" && said != before
	}
	return func(skipped []string, err error) {
		if isNew(skipped) {
			logger.Warn("keys of the issuer's set are skipped: tokens signed with them are refused", "variable", variable, "skipped", skipped)
		}
		if err != nil {
			logger.Warn("the keys of the issuer could not be fetched: tokens signed with a key that is not known yet are refused", "variable", variable, "err", err)
			return
		}
		logger.Debug("the keys of the issuer were fetched", "variable", variable)
	}
}

// runGate keeps the issuer's keys fresh until stop is closed.
func runGate(gate *principal.Gate, stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go gate.Run(ctx)
	<-stop
}

// logWho says in one line who may answer what is asked.
func logWho(c *config, logger *slog.Logger) {
	var attrs []any
	if c.Name != "" {
		attrs = append(attrs, "agent", c.Name)
	}
	if c.TenantHeader != "" {
		attrs = append(attrs, "tenant", "header "+c.TenantHeader)
	}
	switch {
	case c.hasPrincipal():
		from := "header " + c.PrincipalHeader
		if c.PrincipalHeader == "" {
			from = "claim " + c.JWTClaim + " of tokens of " + c.JWTIssuer
		}
		logger.Info("each thread belongs to the principal of its first run", append(attrs, "principal", from, "keys", c.principalKeys.String(), "thread_namespace", c.ThreadNamespace)...)
	case everywhere(c.Listen):
		logger.Warn("Holdpoint knows no users, and listens for everybody: the thread id is the key to a thread's open questions", append(attrs, "listen", c.Listen)...)
	default:
		logger.Warn("Holdpoint knows no users: whoever knows a thread id can see and answer its open questions", attrs...)
	}
	if c.TrustedPeers.Everybody() {
		logger.Warn("every address may say who asks: anybody who reaches Holdpoint can be anybody", "variable", "HOLDPOINT_TRUSTED_PEERS")
	} else if c.TrustedPeers.Loopback() {
		logger.Warn("this machine may say who asks: in a pod, so can the agent and its tools", "variable", "HOLDPOINT_TRUSTED_PEERS")
	}
	if c.hasPrincipal() && c.ThreadNamespace != ownThreads && c.Store.scheme() == "memory" {
		logger.Warn("a restart forgets who a thread belongs to: whoever then comes first with its id has it, and all that the backend keeps of it", "variable", "HOLDPOINT_STORE")
	}
	if u := c.JWKSURL.URL; u != nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		logger.Warn("the issuer's keys come over plain HTTP: whoever stands on the way can sign tokens for anybody", "variable", "HOLDPOINT_JWT_JWKS_URL")
	}
	if c.Name == "" && c.isSet() && isRemoteStore(c.Store.scheme()) {
		logger.Warn("HOLDPOINT_NAME is not set: another agent on this store, at the same path, would share threads with this one")
	}
}

// isRemoteStore says whether several Holdpoints can share a store, by the scheme of its address.
func isRemoteStore(scheme string) bool {
	return slices.Contains([]string{"redis", "rediss", "postgres", "postgresql"}, strings.ToLower(scheme))
}

// everywhere says whether an address to listen on is all of the machine's.
func everywhere(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && (host == "" || net.ParseIP(host).IsUnspecified())
}

func isLoopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }
