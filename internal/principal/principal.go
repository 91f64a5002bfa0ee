// Package principal identifies the sender of a request, by a user and a tenant. A trusted proxy
// sets a header for each, or the user is in a token, which the package verifies. It derives the
// owner of a record from them, and a thread id for the backend if each principal has threads of his
// own.
//
// It does not decide who may do what, has no login and no sessions, and trusts nothing in a body.
// It follows RFC 7519 (JWT), RFC 7517 (JWK), RFC 8725 (best practices for both) and RFC 6750
// (bearer tokens).
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

// Options configure a Gate. Empty fields require nothing of a request.
type Options struct {
	// Peers are the networks whose headers are trusted. TenantHeader and PrincipalHeader need them.
	Peers           Peers
	TenantHeader    string
	PrincipalHeader string
	// GroupsHeader is the header with the groups of the principal, separated by commas. It needs
	// PrincipalHeader.
	GroupsHeader string
	// Socket trusts requests through a unix socket, which have no address. The permissions of the
	// socket decide who can send them.
	Socket bool
	// Tokens verifies bearer tokens. It must be nil if PrincipalHeader is set.
	Tokens *Tokens
	// Keys are the keys of the hashes by which records name their owner. They are required with
	// PrincipalHeader and with Tokens, if there are records.
	Keys Ring
	// OwnThreads gives each principal threads of his own at the backend, see Identity.Thread.
	OwnThreads bool
}

// A Gate identifies the sender of each request. With zero Options every sender is Identity{}. It is
// safe for concurrent use.
type Gate struct {
	opts  Options
	names []string // the configured headers, in canonical form
	keys  atomic.Pointer[Ring]
	end   context.CancelFunc // ends the goroutine of Start

	settings *Settings // nil if the Gate was not made by Settings.New
}

// New makes a Gate.
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

// SetKeys replaces the keys, for later requests. A thread whose owner was hashed with a key that is
// no longer in the ring belongs to nobody any more.
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

// Start runs Run in a goroutine until Stop.
func (g *Gate) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	g.end = cancel
	go g.Run(ctx)
}

// Stop ends what Start began.
func (g *Gate) Stop() { g.end() }

// An Identity is the sender of a request. The zero Identity means that neither principals nor
// tenants are configured.
type Identity struct {
	Tenant    string // "" if none is configured
	principal string
	groups    []string
	source    string // kind and issuer of the principal's name; "" if there is no principal
	owner     Owner
	ownThread bool
}

// Known reports whether the request has a principal.
func (w Identity) Known() bool { return w.source != "" }

// Name returns the principal's name, or "". Only the desk may show it as it is; the log and the
// audit use NameStyle.Of.
func (w Identity) Name() string { return w.principal }

// Groups returns the groups of the principal, or nil if they are not configured.
func (w Identity) Groups() []string { return w.groups }

// Owner returns the principal in the form that records keep.
func (w Identity) Owner() Owner { return w.owner }

// A Refusal describes why a request is refused, with the HTTP status.
type Refusal struct {
	Status    int
	Reason    string // for the developer of the client
	Challenge string // the value of WWW-Authenticate, or ""
	Forged    bool   // an untrusted peer sent one of the configured headers
	Err       error  // an error on our side, for the log; else nil
}

func refuse(status int, reason string) *Refusal { return &Refusal{Status: status, Reason: reason} }

// Ask returns the sender of the request, or why the request is refused. It must get the header as
// it was received, because a proxy removes the headers that a client names in Connection. anonymous
// means that the request may come without a name, as a browser's preflight does. Even then a
// configured header from an untrusted peer is refused.
func (g *Gate) Ask(req *http.Request, anonymous bool) (Identity, *Refusal) {
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

// refuseForged refuses a request from an untrusted peer that has one of the configured headers.
// Without this check, a client that reaches Holdpoint without the proxy could claim any name.
func (g *Gate) refuseForged(req *http.Request) *Refusal {
	for _, name := range g.names {
		if len(req.Header[name]) > 0 && !g.Trusts(req) {
			r := refuse(http.StatusForbidden, fmt.Sprintf(textNotTrusted, name))
			r.Forged = true
			return r
		}
	}
	return nil
}

// Trusts reports whether the configured headers of the request are trusted.
func (g *Gate) Trusts(req *http.Request) bool {
	if g == nil {
		return false
	}
	_, err := netip.ParseAddrPort(req.RemoteAddr)
	return g.opts.Socket && err != nil || g.opts.Peers.trust(req.RemoteAddr)
}

// maxName bounds the name of a principal or a tenant, in bytes. maxGroups bounds the number of
// groups of a principal.
const (
	maxName   = 1 << 10
	maxGroups = 1000
)

// singleValue returns the value of a header that must occur exactly once.
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

// joinedValues returns the values in a header, which commas separate. It returns nil if name is ""
// or the header is missing.
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

// Clean restores the headers that identify the sender in out, the header of a request to the
// backend, to the values in in, the header as it was received. It removes other spellings of these
// headers from out, because some servers read X_User as X-User. It restores headers because a
// client may have named X-User in Connection, so that the proxy removed it.
func (g *Gate) Clean(out, in http.Header) {
	if g == nil {
		return
	}
	for name := range out {
		if g.spells(name) {
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

// spells reports whether a server could read the header name as one of ours. CGI and WSGI have one
// variable for X-User and X_User. Apache also treats every other character that is not a letter or
// digit alike.
func (g *Gate) spells(name string) bool {
	return slices.ContainsFunc(g.names, func(ours string) bool { return len(name) == len(ours) && variable(name) == variable(ours) })
}

// variable returns the CGI variable of a header name (RFC 3875, section 4.1.18).
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
