// Package principal says who sends a request: a user and a tenant, each by a header of a trusted
// proxy, or the user by a token that is verified. It makes of them what a record keeps of its
// owner, and the thread id that a backend gets in their place.
//
// It does not say who may do what. It logs nobody in, and keeps no sessions. It trusts nothing in a
// body. It follows RFC 7519 (JWT), RFC 7517 (JWK), RFC 8725 (best practices for both) and RFC 6750
// (bearer tokens).
package principal

import (
	"context"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"sync/atomic"
)

// Options configure a Gate. Empty fields ask for nothing.
type Options struct {
	// Peers are the addresses whose headers are believed. TenantHeader and PrincipalHeader need
	// them.
	Peers           Peers
	TenantHeader    string
	PrincipalHeader string
	// GroupsHeader has the groups of the principal of PrincipalHeader, with commas between
	// them.
	GroupsHeader string
	// Socket: who comes by a unix socket has no address, and is believed. The permissions of
	// the socket say who can.
	Socket bool
	// Tokens verifies bearer tokens. It is set instead of PrincipalHeader.
	Tokens *Tokens
	// Keys make the owner of a record. They are needed with PrincipalHeader and Tokens where
	// there are records.
	Keys Ring
	// OwnThreads gives each principal threads of his own at the backend, see Who.Thread.
	OwnThreads bool
}

// A Gate says of each request who sends it. The zero Gate asks for nothing: everybody is Who{}. It
// is safe for concurrent use.
type Gate struct {
	opts  Options
	names []string // of the headers, in the canonical form
	keys  atomic.Pointer[Ring]
	end   context.CancelFunc // of Start

	settings *Settings // nil if New was called with other options
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

// SetKeys gives the Gate other keys, from its next request on. A thread whose owner was made with a
// key that is not among them belongs to nobody who asks.
func (g *Gate) SetKeys(keys Ring) {
	if g != nil {
		g.keys.Store(&keys)
	}
}

// Run keeps the keys of the issuer of tokens fresh until ctx is done. Without tokens it returns at
// once.
func (g *Gate) Run(ctx context.Context) {
	if g != nil && g.opts.Tokens != nil {
		g.opts.Tokens.Run(ctx)
	}
}

// Start keeps the keys fresh from now on, until Stop.
func (g *Gate) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	g.end = cancel
	go g.Run(ctx)
}

// Stop ends what Start began.
func (g *Gate) Stop() { g.end() }

// Identity is who sends a request. The zero Who is nobody in particular: no principals and no
// tenants are configured.
type Identity struct {
	Tenant    string // "" if none is configured
	principal string
	groups    []string
	source    string // where the principal comes from; "" if none is configured
	owner     Owner
	ownThread bool
}

// Known reports whether the request has a principal.
func (w Identity) Known() bool { return w.source != "" }

// Name returns the principal, "" if none is configured. Nobody but who decides and who is told who
// decides may see it: see Shown.
func (w Identity) Name() string { return w.principal }

// Groups returns those that the principal is in, as far as they are asked for.
func (w Identity) Groups() []string { return w.groups }

// Owner returns the request's principal as records keep it.
func (w Identity) Owner() Owner { return w.owner }

// A Refusal is a request that is turned away, with an HTTP status.
type Refusal struct {
	Status    int
	Reason    string // for the developer of the client
	Challenge string // WWW-Authenticate, "" for none
	Forged    bool   // somebody tried to be somebody
	Err       error  // what is wrong on our side, for the log; nil if nothing is
}

func refuse(status int, reason string) *Refusal { return &Refusal{Status: status, Reason: reason} }

// Ask says who sends the request. It reads the header as it came in: a proxy takes headers out that
// the client names in Connection. anonymous says that the request need not say who sends it, as a
// browser's preflight cannot. A header that an untrusted peer sends is refused even then.
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

// refuseForged refuses a header of ours that a peer sends who is not believed. Without it a client
// that reaches Holdpoint past the proxy would be whoever he likes, should the check be lost one
// day.
func (g *Gate) refuseForged(req *http.Request) *Refusal {
	for _, name := range g.names {
		if len(req.Header[name]) > 0 && !g.Trusts(req) {
			r := refuse(http.StatusForbidden, "the header "+name+" is not taken from this address, which is not among the trusted peers")
			r.Forged = true
			return r
		}
	}
	return nil
}

// Trusts reports whether the headers of who sends the request are believed.
func (g *Gate) Trusts(req *http.Request) bool {
	if g == nil {
		return false
	}
	_, err := netip.ParseAddrPort(req.RemoteAddr)
	return g.opts.Socket && err != nil || g.opts.Peers.trust(req.RemoteAddr)
}

// maxName bounds a principal and a tenant, in bytes. maxGroups bounds the groups of one.
const (
	maxName   = 1 << 10
	maxGroups = 1000
)

// singleValue returns the one value of a header.
func singleValue(header http.Header, name string) (string, *Refusal) {
	values := header[name]
	switch {
	case len(values) == 0 || len(values) == 1 && strings.TrimSpace(values[0]) == "":
		return "", refuse(http.StatusUnauthorized, "the header "+name+" is missing")
	case len(values) > 1:
		return "", refuse(http.StatusBadRequest, "the header "+name+" stands there more than once")
	case len(values[0]) > maxName:
		return "", refuse(http.StatusBadRequest, "the header "+name+" is too long")
	}
	return strings.Clone(values[0]), nil
}

// joinedValues returns the values of a header with commas between them; none if no header is named,
// or if it is missing.
func joinedValues(header http.Header, name string) ([]string, *Refusal) {
	if name == "" || len(header[name]) == 0 {
		return nil, nil
	}
	if len(header[name]) > 1 {
		return nil, refuse(http.StatusBadRequest, "the header "+name+" stands there more than once")
	}
	var list []string
	for one := range strings.SplitSeq(header[name][0], ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, strings.Clone(one))
		}
	}
	if len(list) > maxGroups {
		return nil, refuse(http.StatusBadRequest, "the header "+name+" has too many values")
	}
	return list, nil
}

// Clean makes out, the header of a request to the backend, say who sends it as in, the header that
// came in, does. Other spellings of our headers go: servers take X_User for X-User, and a client
// may have named X-User in Connection.
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

// spells reports whether a server behind us could take a header for one of ours. CGI, and WSGI with
// it, has one variable for X-User and X_User, and Apache for all that is not a letter or digit.
func (g *Gate) spells(name string) bool {
	return slices.ContainsFunc(g.names, func(ours string) bool { return len(name) == len(ours) && variable(name) == variable(ours) })
}

// variable returns a header's name as CGI has it (RFC 3875, section 4.1.18).
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
