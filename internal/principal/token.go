package principal

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are the signatures that are taken: with a public key, and none else. A token that
// names HS256 would be verified with the public key as its secret, which everybody knows; one that
// names none, with nothing (RFC 8725, section 3.1).
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

const (
	// clockSkew is how far the issuer's clock may be from ours.
	clockSkew = time.Minute
	// maxToken bounds a token, in bytes. Headers have 64 KiB in all.
	maxToken = 32 << 10
)

// TokenOptions configure Tokens.
type TokenOptions struct {
	Issuer, Audience string           // what iss must be, and aud must hold
	Claim            string           // whose text is the principal, such as sub
	GroupsClaim      string           // whose list of texts are the principal's groups; "" for none
	KeysURL          *url.URL         // where the issuer's keys are (a JWK set)
	Now              func() time.Time // nil: time.Now
	// Fetched is told how each fetch of the keys ended, and which keys of the set were skipped, each
	// with the reason. It may be nil.
	Fetched func(skipped []string, err error)
}

// Tokens verifies the tokens of one issuer.
type Tokens struct {
	opts TokenOptions
	keys keySet
}

// NewTokens makes Tokens. It fetches no keys: Run does.
func NewTokens(o TokenOptions) *Tokens {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Tokens{opts: o, keys: newKeySet(o)}
}

// Run fetches the issuer's keys, and again from time to time, until ctx is done. Until the first
// fetch has succeeded every token is refused.
func (t *Tokens) Run(ctx context.Context) { t.keys.run(ctx) }

// source names where the principal comes from: sub is unique with one issuer only.
func (t *Tokens) source() string { return "jwt " + t.opts.Issuer + " " + t.opts.Claim }

// bearer are principal and groups of the token that a request carries.
func (t *Tokens) bearer(req *http.Request) (string, []string, *Refusal) {
	values := req.Header["Authorization"]
	switch {
	case len(values) > 1:
		return "", nil, refuse(http.StatusBadRequest, "the header Authorization stands there more than once")
	case len(values) == 0:
		return "", nil, challenge("", "a bearer token is missing")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil, challenge("", "the header Authorization holds no bearer token")
	}
	claims, err := t.Verify(req.Context(), strings.TrimSpace(token))
	var name string
	var groups []string
	if err == nil {
		name, err = t.principalOf(claims)
	}
	if err == nil {
		groups, err = t.groups(claims)
	}
	switch {
	case err == nil:
		return name, groups, nil
	case errors.Is(err, ErrNoKeys):
		r := refuse(http.StatusServiceUnavailable, err.Error())
		r.Err = err
		return "", nil, r
	}
	return "", nil, challenge("invalid_token", err.Error())
}

func challenge(code, reason string) *Refusal {
	r := refuse(http.StatusUnauthorized, reason)
	r.Challenge = "Bearer"
	if code != "" {
		r.Challenge += ` error="` + code + `"`
	}
	return r
}

// Claims are what a verified token says.
type Claims map[string]json.RawMessage

// Errors of Verify. They hold nothing of the token.
var (
	ErrNoKeys  = errors.New("the keys of the issuer are not known yet: try again later")
	errForm    = errors.New("the token is no signed JWT, or is signed in a way that is not taken")
	errKey     = errors.New("the token is signed with a key that the issuer does not publish")
	errSigned  = errors.New("the signature of the token is wrong")
	errIssuer  = errors.New("the token is of another issuer")
	errForWhom = errors.New("the token is for another audience")
	errEnd     = errors.New("the token does not say when it ends")
	errOver    = errors.New("the token has expired")
	errEarly   = errors.New("the token is not valid yet")
	errClaim   = errors.New("the token does not say who it is for")
	errGroups  = errors.New("the groups of the token are no list of texts")
)

// Verify returns the claims of a token that the issuer has signed for the audience, and that is
// valid now. ErrNoKeys says nothing about the token.
func (t *Tokens) Verify(ctx context.Context, token string) (Claims, error) {
	if len(token) > maxToken {
		return nil, errForm
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, errForm
	}
	head := parsed.Headers[0]
	keys, set, err := t.keys.keysFor(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return nil, err
	}
	claims := Claims{}
	signed := func(k jose.JSONWebKey) bool { return parsed.Claims(k, &claims) == nil }
	if !slices.ContainsFunc(keys, signed) && !slices.ContainsFunc(t.keys.keysAfter(ctx, set, head.KeyID, head.Algorithm), signed) {
		return nil, errSigned
	}
	var said struct { // of jwt.Claims, what is judged: sub may be anything where another claim counts
		Issuer    string           `json:"iss"`
		Audience  jwt.Audience     `json:"aud"`
		Expiry    *jwt.NumericDate `json:"exp"`
		NotBefore *jwt.NumericDate `json:"nbf"`
		IssuedAt  *jwt.NumericDate `json:"iat"`
	}
	switch err := parsed.UnsafeClaimsWithoutVerification(&said); { // they are verified by now
	case err != nil:
		return nil, errForm
	case said.Expiry == nil:
		return nil, errEnd
	}
	standard := jwt.Claims{Issuer: said.Issuer, Audience: said.Audience, Expiry: said.Expiry, NotBefore: said.NotBefore, IssuedAt: said.IssuedAt}
	err = standard.ValidateWithLeeway(jwt.Expected{
		Issuer: t.opts.Issuer, AnyAudience: jwt.Audience{t.opts.Audience}, Time: t.opts.Now(),
	}, clockSkew)
	switch {
	case err == nil:
		return claims, nil
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return nil, errIssuer
	case errors.Is(err, jwt.ErrInvalidAudience):
		return nil, errForWhom
	case errors.Is(err, jwt.ErrExpired):
		return nil, errOver
	}
	return nil, errEarly
}

// principalOf returns the principal that claims name. A mail address counts unless the issuer says
// that nobody has checked it: at some issuers a user may write any into his profile.
func (t *Tokens) principalOf(claims Claims) (string, error) {
	var name string
	if json.Unmarshal(claims[t.opts.Claim], &name) != nil || strings.TrimSpace(name) == "" || len(name) > maxName {
		return "", errClaim
	}
	if checked, said := claims["email_verified"]; t.opts.Claim == "email" && said && string(checked) != "true" && string(checked) != `"true"` {
		return "", errClaim
	}
	return name, nil
}

// groups returns those that claims name: a list of texts, or one text. A token without the claim is
// in none.
func (t *Tokens) groups(claims Claims) ([]string, error) {
	raw, ok := claims[t.opts.GroupsClaim]
	if t.opts.GroupsClaim == "" || !ok || string(raw) == "null" {
		return nil, nil
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		var one string
		if json.Unmarshal(raw, &one) != nil {
			return nil, errGroups
		}
		list = []string{one}
	}
	if len(list) > maxGroups {
		return nil, errGroups
	}
	return list, nil
}
