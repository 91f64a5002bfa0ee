// Package principal identifies who sends a request: a user and a tenant. Either a trusted proxy
// sets a header for each, or the user is in a token, which the package verifies. From user and
// tenant the package derives the owner of a record. If each principal has threads of his own, it
// also derives the thread id that the backend gets.
//
// The package does not decide who may do what, has no login and no sessions, and trusts nothing in
// a body. It follows RFC 7519 (JWT), RFC 7517 (JWK), RFC 8725 (best practices for both) and RFC
// 6750 (bearer tokens).
package principal

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"sync/atomic"
)

// Options configure a Gate. An empty field demands nothing of a request.
type Options struct {
	// Peers are the networks from which headers are trusted. If TenantHeader or PrincipalHeader is
	// set, Peers must be set too.
	Peers           Peers
	TenantHeader    string
	PrincipalHeader string
	// GroupsHeader is the header that contains the groups of the principal, separated by commas. It
	// requires PrincipalHeader.
	GroupsHeader string
	// Socket means that requests through a unix socket are trusted. They have no address; the
	// permissions of the socket decide who can send them.
	Socket bool
	// Tokens verifies bearer tokens. It must be nil if PrincipalHeader is set.
	Tokens *Tokens
	// Keys are the keys for the hashes with which records identify their owner. If there are
	// records, they are required with PrincipalHeader and with Tokens.
	Keys Ring
	// OwnThreads gives each principal threads of his own at the backend, see Identity.Thread.
	OwnThreads bool
}

// A Gate identifies the sender of each request. With zero Options it returns Identity{} for every
// sender. It is safe for concurrent use.
type Gate struct {
	opts   Options
	names  []string // the configured headers, in canonical form
	keys   atomic.Pointer[Ring]
	cancel context.CancelFunc // ends the goroutine that Start began

	settings *Settings // nil if the Gate was not made by Settings.New
}

// New creates a Gate.
func New(o Options) *Gate {
	g := &Gate{opts: o}
	g.keys.Store(&o.Keys)
	for _, name := range []*string{&g.opts.TenantHeader, &g.opts.PrincipalHeader, &g.opts.GroupsHeader} {
		if *name != "" {
			*name = textproto.CanonicalMIMEHeaderKey(*name)
			g.names = append(g.names, *name)
		}
	}
	return g
}

// SetKeys replaces the keys for later requests. If the owner of a thread was hashed with a key that
// is no longer in the ring, that thread belongs to nobody any more.
func (g *Gate) SetKeys(keys Ring) {
	if g != nil {
		g.keys.Store(&keys)
	}
}

// Run fetches the issuer's keys at intervals until ctx is done. If tokens are not used it returns
// at once.
func (g *Gate) Run(ctx context.Context) {
	if g != nil && g.opts.Tokens != nil {
		g.opts.Tokens.Run(ctx)
	}
}

// Start calls Run in a goroutine. Stop ends it.
func (g *Gate) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	g.cancel = cancel
	go g.Run(ctx)
}

// Stop ends the goroutine that Start began.
func (g *Gate) Stop() { g.cancel() }

// An Identity is the sender of a request. The zero Identity means that neither principals nor
// tenants are configured.
type Identity struct {
	Tenant    string // "" if no tenant header is configured
	principal string
	groups    []string
	// where the principal's name is from, such as an issuer; "" if there is no principal
	source    string
	owner     Owner
	ownThread bool
}

// HasPrincipal reports whether the request has a principal.
func (w Identity) HasPrincipal() bool { return w.source != "" }

// Name returns the principal's name, or "". Only the desk may show this name directly. The log and
// the audit use NameStyle.NameOf.
func (w Identity) Name() string { return w.principal }

// Groups returns the groups of the principal, or nil if groups are not configured.
func (w Identity) Groups() []string { return w.groups }

// Owner returns the principal in the form that records contain.
func (w Identity) Owner() Owner { return w.owner }

// A Refusal describes why a request is refused, with the HTTP status.
type Refusal struct {
	Status    int
	Reason    string // a text for the developer of the client
	Challenge string // the value of WWW-Authenticate, or ""
	IsForged  bool   // an untrusted peer has sent a configured header
	Err       error  // an error of Holdpoint's own, for the log; otherwise nil
}

func refuse(status int, reason string) *Refusal { return &Refusal{Status: status, Reason: reason} }

// Identify returns who sends the request, or why the request is refused. It must be called with the
// header as it was received, before the proxy removes the headers that the client names in
// Connection. anonymous means that the request needs no name, as a browser's preflight does not.
// Even then Identify refuses a configured header from an untrusted peer.
func (g *Gate) Identify(req *http.Request, anonymous bool) (Identity, *Refusal) {
	if g == nil {
		return Identity{}, nil
	}
	if refused := g.refuseForged(req); refused != nil {
		return Identity{}, refused
	}
	if anonymous {
		return Identity{}, nil
	}
	var who Identity
	var refused *Refusal
	if name := g.opts.TenantHeader; name != "" {
		if who.Tenant, refused = singleValue(req.Header, name); refused != nil {
			return Identity{}, refused
		}
	}
	switch {
	case g.opts.PrincipalHeader != "":
		who.source = "header"
		if who.principal, refused = singleValue(req.Header, g.opts.PrincipalHeader); refused == nil {
			who.groups, refused = joinedValues(req.Header, g.opts.GroupsHeader)
		}
	case g.opts.Tokens != nil:
		who.source = g.opts.Tokens.source()
		who.principal, who.groups, refused = g.opts.Tokens.bearer(req)
	default:
		return who, nil
	}
	if refused != nil {
		return Identity{}, refused
	}
	who.owner = g.keys.Load().owner(who.source, who.Tenant, who.principal)
	who.ownThread = g.opts.OwnThreads
	return who, nil
}

// refuseForged refuses a request that has one of the configured headers and comes from an untrusted
// peer. Without this check, a client that reaches Holdpoint without the proxy could claim any name.
func (g *Gate) refuseForged(req *http.Request) *Refusal {
	for _, name := range g.names {
		if len(req.Header[name]) > 0 && !g.Trusts(req) {
			r := refuse(http.StatusForbidden, fmt.Sprintf(textNotTrusted, name))
			r.IsForged = true
			return r
		}
	}
	return nil
}

// Trusts reports whether the configured headers of the request are trusted, because of the address
// that it comes from.
func (g *Gate) Trusts(req *http.Request) bool {
	if g == nil {
		return false
	}
	_, err := netip.ParseAddrPort(req.RemoteAddr)
	return g.opts.Socket && err != nil || g.opts.Peers.trustsAddress(req.RemoteAddr)
}

// maxName bounds the name of a principal or a tenant, in bytes. maxGroups bounds how many groups a
// principal may have.
const (
	maxName   = 1 << 10
	maxGroups = 1000
)

// singleValue returns the value of the header name, or a Refusal unless the header occurs exactly
// once.
func singleValue(header http.Header, name string) (string, *Refusal) {
	values := header[name]
	switch {
	case len(values) == 0 || len(values) == 1 && strings.TrimSpace(values[0]) == "":
		return "", refuse(http.StatusUnauthorized, fmt.Sprintf(textHeaderMissing, name))
	case len(values) > 1:
		return "", refuse(http.StatusBadRequest, fmt.Sprintf(textHeaderTwice, name))
	case len(values[0]) > maxName:
		return "", refuse(http.StatusBadRequest, fmt.Sprintf(textHeaderTooLong, name))
	}
	return strings.Clone(values[0]), nil
}

// joinedValues returns the values of a header whose values are separated by commas. It returns nil
// if name is "" or the header is missing.
func joinedValues(header http.Header, name string) ([]string, *Refusal) {
	if name == "" || len(header[name]) == 0 {
		return nil, nil
	}
	if len(header[name]) > 1 {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf(textHeaderTwice, name))
	}
	var list []string
	for one := range strings.SplitSeq(header[name][0], ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, strings.Clone(one))
		}
	}
	if len(list) > maxGroups {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf(textTooManyValues, name))
	}
	return list, nil
}

// CleanHeader corrects out, the header of a request to the backend. in is the header as the client
// sent it. CleanHeader sets the headers that identify the sender to their values in in: a client
// may have named X-User in Connection, so that the proxy has removed it. It also removes other
// spellings of these headers from out, because some servers read X_User as X-User.
func (g *Gate) CleanHeader(out, in http.Header) {
	if g == nil {
		return
	}
	for name := range out {
		if g.canSpell(name) {
			delete(out, name)
		}
	}
	restored := g.names
	if g.opts.Tokens != nil {
		restored = append(restored[:len(restored):len(restored)], "Authorization")
	}
	for _, name := range restored {
		if values := in[name]; len(values) > 0 {
			out[name] = values
		}
	}
}

// canSpell reports whether a server could read the header name as one of the configured headers.
// CGI and WSGI have the same variable for X-User and X_User. Apache treats every character that is
// not a letter or a digit in that way.
func (g *Gate) canSpell(name string) bool {
	return slices.ContainsFunc(g.names, func(ours string) bool { return len(name) == len(ours) && variable(name) == variable(ours) })
}

// variable returns the name of the CGI variable for a header (RFC 3875, section 4.1.18).
func variable(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
			return c
		}
		return '_'
	}, name)
}
