// Package desk is the part of the program for the desk (the web page of approvers): its variables,
// its listener with the API and the page, and the carrier that sends decisions to the agents.
//
// It does not handle runs, and serves nothing by itself: package api has the API, and package page
// has the page's files.
package desk

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"holdpoint/internal/desk/api"
	"holdpoint/internal/desk/policy"
	"holdpoint/internal/edge/listen"
	"holdpoint/internal/principal"
	"holdpoint/internal/variables"
)

// Settings has the variables of the desk.
type Settings struct {
	Listen       listen.Variable   `env:"DESK_LISTEN" envDefault:"off" short:"address of the desk, where questions are answered outside of the chat" doc:"address of the desk, which lists open questions and accepts decisions, in the same forms as LISTEN, or off (docs/desk.md). elsewhere: another process on the store has the desk, and this one sends its decisions to the agent. Every caller must identify itself, also on loopback (DESK_AUTH). With HOLDPOINT_TLS_CERT_FILE the desk accepts only TLS"`
	Auth         auth              `env:"DESK_AUTH" envDefault:"token" values:"token|header|jwt" doc:"how a caller of the desk identifies itself: by a token of DESK_TOKEN_FILE, by the header of a trusted proxy such as oauth2-proxy, or by an issuer's bearer token (docs/desk.md#who)"`
	Token        variables.Secret  `env:"DESK_TOKEN" doc:"token of the desk's callers, of at least 32 characters. To replace one, set several with commas" file:"file with a token in each line: the token itself; or a name, its groups if it has some, and sha256: with the hash of a token. It is read again when it changes"`
	URL          pageURL           `env:"DESK_URL" doc:"address of the desk's page as people open it, such as https://desk.example.com. The webhook's events then have links to it"`
	CarryWithin  time.Duration     `env:"DESK_CARRY_WITHIN" envDefault:"1h" doc:"maximum age of a decision of the desk that Holdpoint sends to the backend by itself. An older decision waits for the chat. 0: every decision does"`
	Carry        string            `env:"DESK_CARRY" envDefault:"any" values:"any|home" doc:"which of several processes on the store sends a decision: any, or only the one that has seen the question (home). Set home if each backend keeps its questions in its own process, behind a Holdpoint of its own"`
	Tools        string            `env:"DESK_TOOLS" envDefault:"wait" values:"wait|keep" doc:"what happens to a decision if the run declared tools of its client: the decision waits for the chat, because only the chat can answer their calls, or Holdpoint sends it nevertheless (keep)"`
	Principal    string            `env:"DESK_PRINCIPAL" doc:"header (DESK_AUTH is header) or claim (jwt; the default is sub) that names a caller of the desk"`
	Groups       string            `env:"DESK_GROUPS" doc:"header or claim with the groups of a caller: separated by commas, or a list"`
	TrustedPeers principal.Peers   `env:"DESK_TRUSTED_PEERS" doc:"networks of the proxy in front of the desk, whose headers the desk accepts: network;network. Without it those of TRUSTED_PEERS"`
	JWTIssuer    string            `env:"DESK_JWT_ISSUER" doc:"issuer (iss) of the bearer tokens of the desk's callers"`
	JWTAudience  string            `env:"DESK_JWT_AUDIENCE" doc:"audience (aud) that such a token must have. It must differ from JWT_AUDIENCE, because the agent gets the tokens of its users"`
	JWKSURL      principal.KeysURL `env:"DESK_JWT_JWKS_URL" doc:"address of that issuer's keys, a JWK set"`
	Policy       string            `env:"POLICY" doc:"YAML file with the rights at the desk (docs/desk.md#rights). It is read again when it changes. It is required if DESK_AUTH is header or jwt. Without it each token of the desk has all rights"`

	tokens     []api.Token // set by Check
	makesToken bool        // make a token at start, because no token is set
	policy     *policy.File
}

// listenElsewhere is the value of HOLDPOINT_DESK_LISTEN if another process on the same store has
// the desk.
const listenElsewhere = "elsewhere"

// IsOn reports whether there is a desk, in this process or in another one.
func (s *Settings) IsOn() bool { return !s.Listen.IsOff() }

// IsElsewhere reports whether another process has the desk.
func (s *Settings) IsElsewhere() bool { return s.Listen.String() == listenElsewhere }

// IsHere reports whether this process has the desk's listener.
func (s *Settings) IsHere() bool { return s.IsOn() && !s.IsElsewhere() }

// Peers returns the networks of proxies whose headers the desk believes. The parameter proxyPeers
// is the value of HOLDPOINT_TRUSTED_PEERS.
func (s *Settings) Peers(proxyPeers principal.Peers) principal.Peers {
	if len(s.TrustedPeers) > 0 {
		return s.TrustedPeers
	}
	return proxyPeers
}

// UsesPeers reports whether the desk believes headers from the networks in HOLDPOINT_TRUSTED_PEERS.
func (s *Settings) UsesPeers() bool {
	return s.IsHere() && s.ByHeader() && len(s.TrustedPeers) == 0
}

// ByHeader reports whether a proxy connects to the desk over a network, and names the caller in a
// header.
func (s *Settings) ByHeader() bool { return s.Auth == "header" && !s.Listen.Address.IsUnix() }

// ByToken reports whether an issuer's bearer tokens identify callers.
func (s *Settings) ByToken() bool { return s.Auth == "jwt" }

// An auth is the value of HOLDPOINT_DESK_AUTH: the way in which callers of the desk authenticate.
type auth string

// UnmarshalText accepts token, header and jwt.
func (a *auth) UnmarshalText(text []byte) error {
	switch *a = auth(text); *a {
	case "token", "header", "jwt":
		return nil
	case "none":
		return errors.New(textNoAuthNone)
	}
	return errors.New(textAuth)
}

// String returns the value of HOLDPOINT_DESK_AUTH.
func (a auth) String() string { return string(a) }

// A pageURL is the address in HOLDPOINT_DESK_URL. Its path ends in a slash.
type pageURL struct{ *url.URL }

// UnmarshalText reads the address of the page. It adds a slash to the path if needed.
func (d *pageURL) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New(textPageAddress)
	case u.User != nil:
		return errors.New(textPageUser)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New(textPageQuery)
	}
	if !strings.HasSuffix(u.Path, "/") {
		u = u.JoinPath("/")
	}
	d.URL = u
	return nil
}

// String returns the address.
func (d pageURL) String() string {
	if d.URL == nil {
		return ""
	}
	return d.URL.String()
}

// ErrOff is the error for a variable of the desk that is set although the desk is off.
var ErrOff = errors.New(textNoDesk)

// Check reads the files that the settings name, and returns the errors in the settings.
func (s *Settings) Check() (errs []error) {
	if !s.IsHere() {
		return s.checkUnused()
	}
	if err := s.Listen.Check(); err != nil {
		errs = append(errs, variables.ErrorAt("DESK_LISTEN", fmt.Errorf(textListenForms, err)))
	}
	return append(errs, s.checkCallers()...)
}

// checkUnused returns an error for each variable that has no effect, because this process does not
// have the desk's listener.
func (s *Settings) checkUnused() (errs []error) {
	for _, of := range []struct {
		name string
		set  bool
	}{
		{"DESK_GROUPS", s.Groups != ""}, {"DESK_JWT_AUDIENCE", s.JWTAudience != ""}, {"DESK_JWT_ISSUER", s.JWTIssuer != ""},
		{"DESK_JWT_JWKS_URL", s.JWKSURL.URL != nil}, {"DESK_PRINCIPAL", s.Principal != ""}, {"DESK_TOKEN", s.Token.InVariable()},
		{"DESK_TOKEN_FILE", s.Token.File != ""}, {"DESK_TRUSTED_PEERS", len(s.TrustedPeers) > 0},
		{"DESK_URL", s.URL.URL != nil && !s.IsOn()}, {"POLICY", s.Policy != ""},
	} {
		if of.set {
			errs = append(errs, variables.ErrorAt(of.name, ErrOff))
		}
	}
	return errs
}

// checkCallers checks the settings that identify callers and give them rights, and reads the files
// that these settings name.
func (s *Settings) checkCallers() (errs []error) {
	wrong := func(name, format string, args ...any) { errs = append(errs, variables.ErrorAtf(name, format, args...)) }
	if s.Policy != "" {
		file, err := policy.Open(s.Policy)
		for _, err := range variables.SplitErrors(err) {
			wrong("POLICY", "%w", err)
		}
		s.policy = file
	}
	auth := s.Auth.String()
	for _, of := range []struct {
		name string
		is   bool
		with []string // values of DESK_AUTH that use the variable
	}{
		{"DESK_TOKEN", s.Token.InVariable(), []string{"token"}}, {"DESK_TOKEN_FILE", s.Token.File != "", []string{"token"}},
		{"DESK_PRINCIPAL", s.Principal != "", []string{"header", "jwt"}}, {"DESK_GROUPS", s.Groups != "", []string{"header", "jwt"}},
		{"DESK_TRUSTED_PEERS", len(s.TrustedPeers) > 0, []string{"token", "header"}},
		{"DESK_JWT_ISSUER", s.JWTIssuer != "", []string{"jwt"}}, {"DESK_JWT_AUDIENCE", s.JWTAudience != "", []string{"jwt"}}, {"DESK_JWT_JWKS_URL", s.JWKSURL.URL != nil, []string{"jwt"}},
	} {
		if of.is && !slices.Contains(of.with, auth) {
			wrong(of.name, textUnusedWithAuth, auth)
		}
	}
	if auth != "token" && s.Policy == "" {
		errs = append(errs, fmt.Errorf(textNoPolicy, auth))
	}
	if s.TrustedPeers.HasEverybody() {
		wrong("DESK_TRUSTED_PEERS", textAllPeers)
	}
	if len(s.TrustedPeers) > 0 && s.Listen.Address.IsUnix() {
		wrong("DESK_TRUSTED_PEERS", textPeersOfSocket)
	}
	switch auth {
	case "header":
		errs = append(errs, s.checkHeaders()...)
	case "jwt":
		errs = append(errs, s.checkIssuer()...)
	default:
		errs = append(errs, s.checkTokens()...)
	}
	return errs
}

func (s *Settings) checkHeaders() (errs []error) {
	if s.Principal == "" {
		errs = append(errs, errors.New(textNoPrincipal))
	}
	for _, h := range [][2]string{{"DESK_PRINCIPAL", s.Principal}, {"DESK_GROUPS", s.Groups}} {
		if h[1] == "" {
			continue
		}
		if err := principal.CheckHeader(h[1]); err != nil {
			errs = append(errs, variables.ErrorAt(h[0], err))
		}
	}
	if s.Groups != "" && strings.EqualFold(s.Groups, s.Principal) {
		errs = append(errs, variables.ErrorAtf("DESK_GROUPS", textSameHeader))
	}
	return errs
}

func (s *Settings) checkIssuer() (errs []error) {
	for _, v := range []struct {
		name, want string
		is         bool
	}{
		{"DESK_JWT_ISSUER", textWantIssuer, s.JWTIssuer != ""},
		{"DESK_JWT_AUDIENCE", textWantAudience, s.JWTAudience != ""},
		{"DESK_JWT_JWKS_URL", textWantKeys, s.JWKSURL.URL != nil},
	} {
		if !v.is {
			errs = append(errs, fmt.Errorf(textForJWT, v.name, v.want))
		}
	}
	return errs
}

// checkTokens reads the tokens. A desk that listens on loopback and has no tokens makes a token at
// start.
func (s *Settings) checkTokens() (errs []error) {
	if !s.Token.IsSet() {
		if s.Listen.Address.IsLoopback() {
			s.makesToken = true
			return nil
		}
		return []error{errors.New(textNoToken)}
	}
	list, err := s.readTokens()
	s.tokens = list
	return variables.SplitErrors(err)
}

// readTokens reads the tokens in HOLDPOINT_DESK_TOKEN or in its file. Its errors contain no part of
// a token.
func (s *Settings) readTokens() ([]api.Token, error) {
	text, err := s.Token.Read("DESK_TOKEN")
	if err != nil {
		return nil, err
	}
	if s.Token.File == "" {
		text = strings.ReplaceAll(text, ",", "\n")
	}
	list, err := api.ParseTokens(text)
	errs := variables.SplitErrors(err)
	for n, err := range errs {
		errs[n] = variables.ErrorAt(s.Token.VariableName("DESK_TOKEN"), err)
	}
	return list, errors.Join(errs...)
}

// CheckScreen returns an error if a token must be made for the desk but cannot be shown. A new
// token is shown only on a person's terminal: the output of a container goes into a log, which
// others can read. isTerminal says that the output is a terminal.
func (s *Settings) CheckScreen(isTerminal bool, environ []string) error {
	if !s.makesToken {
		return nil
	}
	inPod := slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "KUBERNETES_SERVICE_HOST=") })
	if isTerminal && !inPod && os.Getpid() != 1 {
		return nil
	}
	return errors.New(textNoTerminal)
}
