package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"holdpoint/internal/desk/api"
	"holdpoint/internal/desk/policy"
	"holdpoint/internal/principal"
)

// A deskAuth is HOLDPOINT_DESK_AUTH: how a caller of the desk says who it is.
type deskAuth string

// UnmarshalText takes token, header and jwt.
func (a *deskAuth) UnmarshalText(text []byte) error {
	switch *a = deskAuth(text); *a {
	case "token", "header", "jwt":
		return nil
	case "none":
		return errors.New("there is no such thing: in a pod the agent, and each tool that it runs, reaches every address of the pod, want token, header or jwt")
	}
	return errors.New("want token, header or jwt")
}

// String is the form that is read.
func (a deskAuth) String() string { return string(a) }

var errNoDesk = errors.New("there is no desk, want HOLDPOINT_DESK_LISTEN set as well")

// A deskURL is HOLDPOINT_DESK_URL. Its path ends in a slash.
type deskURL struct{ *url.URL }

// UnmarshalText reads the address.
func (d *deskURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("not an address, want something like https://desk.example.com")
	case u.User != nil:
		return errors.New("user and password do not belong here: everybody who is told of a question reads this address")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("want an address without ? and #: what follows the page's address says which question is open")
	}
	if !strings.HasSuffix(u.Path, "/") {
		u = u.JoinPath("/")
	}
	d.URL = u
	return nil
}

// String is the address.
func (d deskURL) String() string {
	if d.URL == nil {
		return ""
	}
	return d.URL.String()
}

// noDesk says what is set for a desk that there is none of.
func (c *config) noDesk() (errs []error) {
	for name, is := range map[string]bool{
		"DESK_TOKEN": c.DeskToken.text != "", "DESK_TOKEN_FILE": c.DeskTokenFile != "",
		"DESK_PRINCIPAL": c.DeskPrincipal != "", "DESK_GROUPS": c.DeskGroups != "", "DESK_TRUSTED_PEERS": len(c.DeskTrustedPeers.Peers) > 0,
		"DESK_JWT_ISSUER": c.DeskJWTIssuer != "", "DESK_JWT_AUDIENCE": c.DeskJWTAudience != "", "DESK_JWT_JWKS_URL": c.DeskJWKSURL.URL != nil, "POLICY": c.Policy != "",
	} {
		if is {
			errs = append(errs, c.group().Wrong(name, errNoDesk))
		}
	}
	if c.DeskURL.URL != nil && c.DeskListen == off {
		errs = append(errs, c.group().Wrong("DESK_URL", errNoDesk))
	}
	for _, a := range c.agents() {
		if a.DeskHeadersFile != "" && c.DeskListen == off {
			errs = append(errs, a.group().Wrong("DESK_HEADERS_FILE", errNoDesk))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// checkDeskWho judges what says who a caller of the desk is and what he may do, and reads the
// files.
func (c *config) checkDeskWho() (errs []error) {
	wrong := func(name, format string, args ...any) {
		errs = append(errs, c.group().Wrong(name, fmt.Errorf(format, args...)))
	}
	if c.Policy != "" {
		file, err := policy.Open(c.Policy)
		for _, err := range split(err) {
			wrong("POLICY", "%w", err)
		}
		c.policy = file
	}
	auth := c.DeskAuth.String()
	for name, of := range map[string]struct {
		is   bool
		with string // the forms that it goes with
	}{
		"DESK_TOKEN": {c.DeskToken.text != "", "token"}, "DESK_TOKEN_FILE": {c.DeskTokenFile != "", "token"},
		"DESK_PRINCIPAL": {c.DeskPrincipal != "", "header jwt"}, "DESK_GROUPS": {c.DeskGroups != "", "header jwt"},
		"DESK_TRUSTED_PEERS": {len(c.DeskTrustedPeers.Peers) > 0, "token header"},
		"DESK_JWT_ISSUER":    {c.DeskJWTIssuer != "", "jwt"}, "DESK_JWT_AUDIENCE": {c.DeskJWTAudience != "", "jwt"}, "DESK_JWT_JWKS_URL": {c.DeskJWKSURL.URL != nil, "jwt"},
	} {
		if of.is && !slices.Contains(strings.Fields(of.with), auth) {
			wrong(name, "with HOLDPOINT_DESK_AUTH=%s nothing is taken from it, leave it out", auth)
		}
	}
	if auth != "token" && c.Policy == "" {
		errs = append(errs, errors.New("HOLDPOINT_POLICY is not set, and with HOLDPOINT_DESK_AUTH="+auth+" everybody who can say who he is would have all rights: want a file that says who has which (docs/desk.md#rights)"))
	}
	if c.DeskTrustedPeers.Everybody() {
		wrong("DESK_TRUSTED_PEERS", "a whole family of addresses is in it: anybody who reaches the desk could be anybody, want the network of the proxy")
	}
	if len(c.DeskTrustedPeers.Peers) > 0 && c.desk.Unix() {
		wrong("DESK_TRUSTED_PEERS", "who comes by the unix socket of HOLDPOINT_DESK_LISTEN has no address: the permissions of the socket say who can, leave it out")
	}
	switch auth {
	case "header":
		errs = append(errs, c.checkDeskHeader()...)
	case "jwt":
		errs = append(errs, c.checkDeskJWT()...)
	default:
		errs = append(errs, c.checkDeskTokens()...)
	}
	return errs
}

func (c *config) checkDeskHeader() (errs []error) {
	wrong := func(name string, err error) { errs = append(errs, c.group().Wrong(name, err)) }
	if c.DeskPrincipal == "" {
		errs = append(errs, errors.New("HOLDPOINT_DESK_PRINCIPAL is not set, want the header by which the proxy in front says who the caller is, such as X-Forwarded-User"))
	}
	for _, h := range [][2]string{{"DESK_PRINCIPAL", c.DeskPrincipal}, {"DESK_GROUPS", c.DeskGroups}} {
		if h[1] == "" {
			continue
		}
		if err := checkIdentityHeader(h[1]); err != nil {
			wrong(h[0], err)
		}
	}
	if c.DeskGroups != "" && strings.EqualFold(c.DeskGroups, c.DeskPrincipal) {
		wrong("DESK_GROUPS", errors.New("it is HOLDPOINT_DESK_PRINCIPAL too, want another one"))
	}
	switch {
	case c.desk.Unix():
	case len(c.deskPeers()) == 0:
		errs = append(errs, errors.New("HOLDPOINT_DESK_TRUSTED_PEERS is not set (nor HOLDPOINT_TRUSTED_PEERS), and no header is believed without it, want the networks of the proxy that sets them, such as 10.0.0.0/8, or a unix socket for HOLDPOINT_DESK_LISTEN"))
	case c.deskPeers().Everybody():
		wrong("TRUSTED_PEERS", errors.New("a whole family of addresses is in it: anybody who reaches the desk could be anybody, want HOLDPOINT_DESK_TRUSTED_PEERS with the network of the desk's proxy"))
	}
	return errs
}

func (c *config) checkDeskJWT() (errs []error) {
	for _, v := range []struct {
		name, want string
		is         bool
	}{
		{"DESK_JWT_ISSUER", "the issuer (iss) of the tokens", c.DeskJWTIssuer != ""},
		{"DESK_JWT_AUDIENCE", "the audience (aud) of tokens for the desk alone", c.DeskJWTAudience != ""},
		{"DESK_JWT_JWKS_URL", "the address of the issuer's keys", c.DeskJWKSURL.URL != nil},
	} {
		if !v.is {
			errs = append(errs, fmt.Errorf("%s%s is not set, and HOLDPOINT_DESK_AUTH=jwt needs it, want %s", prefix, v.name, v.want))
		}
	}
	if c.DeskJWTIssuer != "" && c.DeskJWTIssuer == c.JWTIssuer && c.DeskJWTAudience == c.JWTAudience {
		errs = append(errs, c.group().Wrong("DESK_JWT_AUDIENCE", errors.New("it is HOLDPOINT_JWT_AUDIENCE too: the agent gets the tokens of its users, and could answer its own questions with them, want an audience of the desk's own")))
	}
	return errs
}

// checkDeskTokens reads the tokens. Without any, on loopback, one is made at start.
func (c *config) checkDeskTokens() (errs []error) {
	if c.DeskToken.text == "" && c.DeskTokenFile == "" {
		if c.desk.Loopback() {
			c.deskMakes = true
			return nil
		}
		return []error{errors.New("HOLDPOINT_DESK_TOKEN_FILE is not set, and the desk of HOLDPOINT_DESK_LISTEN takes nobody without a token: want a file with one, such as openssl rand -hex 32 makes")}
	}
	list, err := c.readDeskTokens()
	name := "DESK_TOKEN"
	if c.DeskTokenFile != "" {
		name = "DESK_TOKEN_FILE"
	}
	for _, err := range split(err) {
		errs = append(errs, c.group().Wrong(name, err))
	}
	c.deskTokens = list
	return errs
}

// checkTerminal says why no token can be made for the desk, nil if one can, or if there are some. A
// token is told to a person's terminal and nowhere else: what a container writes to its terminal
// goes into a log, which others read.
func (c *config) checkTerminal(environ []string, f *os.File) error {
	if !c.deskMakes {
		return nil
	}
	columns, is := terminalWidth(f)
	inPod := slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "KUBERNETES_SERVICE_HOST=") })
	if is && columns > 0 && !inPod && os.Getpid() != 1 {
		return nil
	}
	return errors.New("config: HOLDPOINT_DESK_TOKEN_FILE is not set, and the desk of HOLDPOINT_DESK_LISTEN takes nobody without a token, on loopback too. One is made at start only where a terminal shows it to a person: want a file with one, such as openssl rand -hex 32 makes")
}

// makeToken makes the token of a desk that has none, and tells it by w, which is a terminal.
func (c *config) makeToken(at net.Listener, w io.Writer) {
	text, token := api.NewToken(api.Operator)
	c.deskTokens = []api.Token{token}
	scheme := "http"
	if c.serverTLS != nil {
		scheme = "https"
	}
	fmt.Fprintf(w, "\nThe desk is at %s://%s/\nThe token to sign in with, until Holdpoint ends: %s\n\n", scheme, at.Addr(), text)
}

// deskPeers are the networks whose headers the desk believes.
func (c *config) deskPeers() principal.Peers {
	if len(c.DeskTrustedPeers.Peers) > 0 {
		return c.DeskTrustedPeers.Peers
	}
	return c.TrustedPeers.Peers
}

// deskUsesPeers says whether the desk believes headers of HOLDPOINT_TRUSTED_PEERS.
func (c *config) deskUsesPeers() bool {
	return c.hasDesk() && !c.desk.Unix() && c.DeskAuth == "header" && len(c.DeskTrustedPeers.Peers) == 0
}

// deskTrusts says whether the headers are believed by which a proxy says how the client has come to
// the desk.
func (c *config) deskTrusts(req *http.Request) bool {
	peer, err := netip.ParseAddrPort(req.RemoteAddr)
	if err != nil {
		return c.desk.Unix() // the permissions of the socket say who can come by it
	}
	return c.deskPeers().Has(peer.Addr().Unmap().WithZone(""))
}

// newDeskGate says who a caller of the desk is; nil: his token does.
func (c *config) newDeskGate(logger *slog.Logger) *principal.Gate {
	switch c.DeskAuth {
	case "header":
		return principal.New(principal.Options{PrincipalHeader: c.DeskPrincipal, GroupsHeader: c.DeskGroups, Peers: c.deskPeers(), Socket: c.desk.Unix()})
	case "jwt":
		claim := c.DeskPrincipal
		if claim == "" {
			claim = "sub"
		}
		return principal.New(principal.Options{Tokens: principal.NewTokens(principal.TokenOptions{
			Issuer: c.DeskJWTIssuer, Audience: c.DeskJWTAudience, Claim: claim, GroupsClaim: c.DeskGroups, KeysURL: c.DeskJWKSURL.URL,
			Fetched: keysFetched(logger, "HOLDPOINT_DESK_JWT_JWKS_URL"),
		})})
	}
	return nil
}

// logDesk says what follows from who may come to the desk.
func (c *config) logDesk(at net.Listener, logger *slog.Logger) {
	if c.policy == nil {
		logger.Warn("each caller of the desk has all rights: there is no policy", "variable", prefix+"POLICY")
	}
	if c.DeskAuth == "header" && !c.desk.Unix() && c.deskPeers().Loopback() {
		logger.Warn("this machine may say who decides: in a pod so can the agent and its tools, and answer their own questions. A unix socket that they do not reach keeps them out, and so do tokens (HOLDPOINT_DESK_AUTH=jwt)", "variable", prefix+"DESK_TRUSTED_PEERS")
	}
	if u := c.DeskJWKSURL.URL; u != nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		logger.Warn("the keys of the desk's issuer come over plain HTTP: whoever stands on the way can decide as anybody", "variable", prefix+"DESK_JWT_JWKS_URL")
	}
	attrs := []any{"desk_addr", c.desk.Shown(at), "auth", c.DeskAuth.String()}
	if c.DeskAuth == "token" {
		attrs = append(attrs, "tokens", len(c.deskTokens))
	}
	logger.Info("desk", attrs...)
}
