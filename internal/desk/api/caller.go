package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdpoint/internal/desk/policy"
	"holdpoint/store"
)

// A Caller is the person or program that sent a request to the desk.
type Caller struct {
	Name   string
	Groups []string

	access *policy.Access // nil if the caller has all rights
	// hasAmbientIdentity means that the browser adds the identity by itself: by a cookie, or because a
	// proxy recognizes the browser. So a page of another origin could cause a request of this caller.
	hasAmbientIdentity bool
	session            *session // nil if the caller has not signed in
}

// rights returns the caller's rights for the agent and tenant in scope. A nil Caller has no rights.
func (c *Caller) rights(scope policy.Scope) policy.Rights {
	switch {
	case c == nil:
		return policy.NoRights
	case c.access == nil:
		return policy.AllRights
	}
	return c.access.RightsFor(c.Name, c.Groups, scope)
}

// rightsAnywhere returns the rights that the caller has for at least one agent and tenant.
func (c *Caller) rightsAnywhere() policy.Rights {
	switch {
	case c == nil:
		return policy.NoRights
	case c.access == nil:
		return policy.AllRights
	}
	return c.access.RightsAnywhere(c.Name, c.Groups)
}

// scopeOf returns the agent and the tenant of a record. They are part of the record's key, so they
// are the same for all its pauses.
func scopeOf(rec *store.Record) policy.Scope {
	if p := rec.Pause; p != nil && p.Origin != nil {
		return policy.Scope{Agent: p.Origin.Agent, Tenant: p.Origin.Tenant, IsKnown: true}
	}
	for _, r := range rec.Results {
		if p := r.Pause; p != nil && p.Origin != nil {
			return policy.Scope{Agent: p.Origin.Agent, Tenant: p.Origin.Tenant, IsKnown: true}
		}
	}
	return policy.Scope{}
}

type callerKey struct{}

// callerIn returns the caller that is stored in the context of a request, or nil if there is none.
func callerIn(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// requireCaller returns a handler that calls next if the sender of the request is known. It accepts
// a correct token even after too many wrong tokens: an agent that has the same address as its
// operator must not be able to lock the operator out.
func (d *Desk) requireCaller(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		caller := d.identify(w, req)
		if caller == nil {
			return
		}
		if d.opts.Access != nil {
			access := d.opts.Access()
			caller.access = &access
		}
		if caller.hasAmbientIdentity && !isOwnPage(req, d.isSecure(req)) {
			refuse(w, http.StatusForbidden, codeCrossOrigin, textOwnPage)
			return
		}
		if !caller.isNamed(req.Header.Values(callerHeader)) {
			refuse(w, http.StatusPreconditionFailed, codeAnother, fmt.Sprintf(textAnotherCaller, callerHeader))
			return
		}
		next.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), callerKey{}, caller)))
	})
}

// callerHeader is the header in which a page names the person for whom it sends the request,
// percent-encoded. The header proves nothing. Its purpose: if another person has signed in in the
// same browser since, a decision on the page must not be sent in the name of that other person.
const callerHeader = "Holdpoint-Caller"

// isNamed reports whether the caller is the person whom the request names, or the request names
// nobody.
func (c *Caller) isNamed(named []string) bool {
	if len(named) == 0 {
		return true
	}
	name, err := url.PathUnescape(named[0])
	return err == nil && len(named) == 1 && name == c.Name
}

// identify returns the sender of a request. If the sender is unknown, it responds to the request
// with an error and returns nil.
func (d *Desk) identify(w http.ResponseWriter, req *http.Request) *Caller {
	if d.opts.Gate != nil {
		return d.callerFromGate(w, req)
	}
	if authorization := req.Header.Values("Authorization"); len(authorization) > 0 {
		token := d.opts.Tokens.bearer(authorization)
		if token == nil {
			d.refuseCaller(w, req, true)
			return nil
		}
		return token.caller()
	}
	cookie := d.cookieOf(req)
	if cookie == "" {
		d.refuseCaller(w, req, false)
		return nil
	}
	s, token := d.sessions.find(cookie, d.opts.Tokens, d.opts.Now())
	if s == nil {
		d.refuseSignedOut(w, req)
		return nil
	}
	switch over, err := d.signedOutAnywhere(req.Context(), s); {
	case req.Context().Err() != nil:
		return nil
	case err != nil:
		d.refuseStore(w, err)
		return nil
	case over:
		d.refuseSignedOut(w, req)
		return nil
	}
	c := token.caller()
	c.session, c.hasAmbientIdentity = s, true
	return c
}

// callerFromGate returns the sender whom the header of a trusted proxy names, or a token of an
// issuer.
func (d *Desk) callerFromGate(w http.ResponseWriter, req *http.Request) *Caller {
	who, refused := d.opts.Gate.Identify(req, false)
	if refused == nil && (who.Name() == "" || !utf8.ValidString(who.Name()) || strings.ContainsFunc(who.Name(), unicode.IsControl)) {
		refuse(w, http.StatusBadRequest, codeParameter, textBadName)
		return nil
	}
	if refused == nil {
		return &Caller{Name: who.Name(), Groups: who.Groups(), hasAmbientIdentity: d.opts.Auth == AuthHeader}
	}
	switch {
	case refused.IsForged:
		d.log.Warn(logNotBelieved, "peer", req.RemoteAddr, "reason", refused.Reason)
		refuse(w, http.StatusForbidden, codeForged, refused.Reason)
	case refused.Status == http.StatusUnauthorized && d.opts.Auth == AuthJWT:
		d.refuseCaller(w, req, len(req.Header.Values("Authorization")) > 0)
	case refused.Status == http.StatusUnauthorized:
		d.refuseUnknown(w, fmt.Sprintf(textNotByProxy, refused.Reason))
	case refused.Status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
		refuse(w, refused.Status, codeKeys, refused.Reason)
	default:
		refuse(w, refused.Status, codeParameter, refused.Reason)
	}
	return nil
}

// refusalDelay is the delay of the response to a wrong token, after too many wrong tokens. So each
// guess occupies a connection for this time.
const refusalDelay = time.Second

// realm names the desk to a browser or program that has to send credentials.
const realm = "holdpoint desk"

// refuseCaller refuses a request whose sender is unknown. shown says that the request has a token,
// which is wrong; otherwise it has none.
func (d *Desk) refuseCaller(w http.ResponseWriter, req *http.Request, shown bool) {
	challenge := `Bearer realm="` + realm + `"`
	if shown {
		challenge += `, error="invalid_token"`
		if !d.mayTry(w, req) {
			return
		}
	}
	w.Header().Set("WWW-Authenticate", challenge)
	d.refuseUnknown(w, textWantToken)
}

// mayTry counts a wrong token. If too many wrong tokens came from this address, it responds to the
// request with an error and returns false.
func (d *Desk) mayTry(w http.ResponseWriter, req *http.Request) bool {
	wait := d.tries.take(networkOf(req.RemoteAddr))
	if wait == 0 {
		d.log.Warn(logWrongToken, "peer", req.RemoteAddr)
		return true
	}
	timer := time.NewTimer(refusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-req.Context().Done():
	}
	w.Header().Set("Retry-After", seconds(wait))
	refuse(w, http.StatusTooManyRequests, codeTries, textManyTokens)
	return false
}

// refuseUnknown responds that the sender is unknown, and says how to authenticate.
func (d *Desk) refuseUnknown(w http.ResponseWriter, detail string) {
	refuseProblem(w, problem{Status: http.StatusUnauthorized, Code: codeUnauthenticated, Detail: detail, Auth: string(d.opts.Auth)})
}

// mayChange counts a change by the caller. If the caller made too many changes, it responds to the
// request with an error and returns false.
func (d *Desk) mayChange(w http.ResponseWriter, who *Caller) bool {
	wait := d.changes.take(who.Name)
	if wait > 0 {
		w.Header().Set("Retry-After", seconds(wait))
		refuse(w, http.StatusTooManyRequests, codeChanges, textManyChanges)
	}
	return wait == 0
}

// An Auth is a way in which a caller can authenticate.
type Auth string

// AuthToken: by a token from a file; a browser gets a session for it. AuthHeader: by a header that
// a trusted proxy sets. AuthJWT: by a token of an issuer. An empty Auth means AuthToken.
const (
	AuthToken  Auth = "token"
	AuthHeader Auth = "header"
	AuthJWT    Auth = "jwt"
)

// serveMe serves GET /v1/me.
func (d *Desk) serveMe(w http.ResponseWriter, req *http.Request) {
	c := callerIn(req.Context())
	respond(w, http.StatusOK, struct {
		Name    string    `json:"name"`
		Groups  []string  `json:"groups"`
		Auth    Auth      `json:"auth"`
		Session bool      `json:"session"`
		Until   time.Time `json:"until,omitzero"` // when the session ends
		Rights  []string  `json:"rights"`
	}{c.Name, append([]string{}, c.Groups...), d.opts.Auth, c.session != nil, c.session.expiry(), c.rightsAnywhere().Names()})
}

// trustsProxy reports whether the desk believes the X-Forwarded-Proto of the request.
func (d *Desk) trustsProxy(req *http.Request) bool {
	return d.opts.Trusted != nil && d.opts.Trusted(req)
}

// isSecure reports whether the browser's connection uses TLS. The connection may end at this
// process or at a trusted proxy.
func (d *Desk) isSecure(req *http.Request) bool {
	if req.TLS != nil {
		return true
	}
	proto := req.Header.Values("X-Forwarded-Proto")
	return len(proto) == 1 && strings.EqualFold(proto[0], "https") && d.trustsProxy(req)
}

func isSafeMethod(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, method)
}
