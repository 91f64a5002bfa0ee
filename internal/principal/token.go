package principal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are the accepted signature algorithms. All of them use a public key. HS256 must not be
// accepted, because its secret would be the public key, which everybody has. "none" must not be
// accepted, because it verifies nothing (RFC 8725, section 3.1).
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

const (
	// clockSkew is the largest accepted difference between the issuer's clock and the clock of this
	// machine.
	clockSkew = time.Minute
	// maxToken bounds the size of a token in bytes. By default, all headers of a request together
	// have at most 64 KiB.
	maxToken = 32 << 10
)

// TokenOptions configure Tokens.
type TokenOptions struct {
	Issuer, Audience string           // the required iss, and a required element of aud
	Claim            string           // the claim that contains the principal's name, such as sub
	GroupsClaim      string           // the claim that lists the principal's groups; "" if there is none
	KeysURL          *url.URL         // the address of the issuer's keys, a JWK set
	Now              func() time.Time // nil: time.Now
	// OnFetch is called after each fetch of the keys. skipped names the keys that cannot be used,
	// each with the reason. Fetched may be nil.
	OnFetch func(skipped []string, err error)
}

// Tokens verifies the tokens of one issuer.
type Tokens struct {
	opts TokenOptions
	keys keySet
}

// NewTokens creates Tokens without keys. Run fetches the keys.
func NewTokens(o TokenOptions) *Tokens {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Tokens{opts: o, keys: newKeySet(o)}
}

// Run fetches the issuer's keys at intervals, until ctx is done. Every token is refused before the
// first fetch succeeds.
func (t *Tokens) Run(ctx context.Context) { t.keys.run(ctx) }

// source returns a text that identifies where the principal's name is from. It contains the issuer,
// because sub is unique only within one issuer.
func (t *Tokens) source() string { return "jwt " + t.opts.Issuer + " " + t.opts.Claim }

// bearer verifies the bearer token of a request, and returns the principal and the groups in it.
func (t *Tokens) bearer(req *http.Request) (string, []string, *Refusal) {
	values := req.Header["Authorization"]
	switch {
	case len(values) > 1:
		return "", nil, refuse(http.StatusBadRequest, fmt.Sprintf(textHeaderTwice, "Authorization"))
	case len(values) == 0:
		return "", nil, challengeRefusal("", textNoToken)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil, challengeRefusal("", textNotBearer)
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
	return "", nil, challengeRefusal("invalid_token", err.Error())
}

func challengeRefusal(code, reason string) *Refusal {
	r := refuse(http.StatusUnauthorized, reason)
	r.Challenge = "Bearer"
	if code != "" {
		r.Challenge += ` error="` + code + `"`
	}
	return r
}

// Claims are the claims of a verified token.
type Claims map[string]json.RawMessage

// These are the errors of Verify, and of the claims that it returns. They contain no part of the
// token.
var (
	ErrNoKeys      = errors.New(textNoKeys)
	errFormat      = errors.New(textTokenForm)
	errUnknownKey  = errors.New(textUnknownKey)
	errSignature   = errors.New(textWrongSignature)
	errIssuer      = errors.New(textOtherIssuer)
	errAudience    = errors.New(textOtherAudience)
	errNoExpiry    = errors.New(textNoExpiry)
	errExpired     = errors.New(textTokenExpired)
	errNotYetValid = errors.New(textTokenEarly)
	errClaim       = errors.New(textNoClaim)
	errGroups      = errors.New(textGroupsForm)
)

// Verify returns the claims of a token. It returns an error unless the issuer has signed the token
// for the audience and the token is valid now. ErrNoKeys means that Verify could not check the
// token.
func (t *Tokens) Verify(ctx context.Context, token string) (Claims, error) {
	if len(token) > maxToken {
		return nil, errFormat
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, errFormat
	}
	head := parsed.Headers[0]
	keys, set, err := t.keys.keysFor(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return nil, err
	}
	claims := Claims{}
	signed := func(k jose.JSONWebKey) bool { return parsed.Claims(k, &claims) == nil }
	if !slices.ContainsFunc(keys, signed) && !slices.ContainsFunc(t.keys.keysAfter(ctx, set, head.KeyID, head.Algorithm), signed) {
		return nil, errSignature
	}
	// jwt.Claims without sub; if another claim names the user, sub may have any type
	var said struct {
		Issuer    string           `json:"iss"`
		Audience  jwt.Audience     `json:"aud"`
		Expiry    *jwt.NumericDate `json:"exp"`
		NotBefore *jwt.NumericDate `json:"nbf"`
		IssuedAt  *jwt.NumericDate `json:"iat"`
	}
	// the signature is verified above
	switch err := parsed.UnsafeClaimsWithoutVerification(&said); {
	case err != nil:
		return nil, errFormat
	case said.Expiry == nil:
		return nil, errNoExpiry
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
		return nil, errAudience
	case errors.Is(err, jwt.ErrExpired):
		return nil, errExpired
	}
	return nil, errNotYetValid
}

// principalOf returns the name of the principal. If the name is an email address, the token is
// refused if it has email_verified with any value except true, because at some issuers users can
// enter any address.
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

// groups returns the groups in the claim GroupsClaim. The value of the claim may be a list of texts
// or a single text. groups returns nil if there is no such claim.
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
