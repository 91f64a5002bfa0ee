package principal

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// An issuer is a server that publishes a set of keys. The tests sign tokens with these keys.
type issuer struct {
	t      *testing.T
	server *httptest.Server
	tokens *Tokens

	mu      sync.Mutex
	set     jose.JSONWebKeySet
	status  int // status of the response; 0 for 200 with the set
	fetches int
	now     time.Time
}

var (
	rsaKey    = sync.OnceValue(func() *rsa.PrivateKey { k, _ := rsa.GenerateKey(rand.Reader, 2048); return k })
	otherKey  = sync.OnceValue(func() *rsa.PrivateKey { k, _ := rsa.GenerateKey(rand.Reader, 2048); return k })
	smallKey  = sync.OnceValue(func() *rsa.PrivateKey { k, _ := rsa.GenerateKey(rand.Reader, 1024); return k })
	curveKey  = sync.OnceValue(func() *ecdsa.PrivateKey { k, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader); return k })
	edwardKey = sync.OnceValue(func() ed25519.PrivateKey { _, k, _ := ed25519.GenerateKey(rand.Reader); return k })
)

func newIssuer(t *testing.T, keys ...jose.JSONWebKey) *issuer {
	t.Helper()
	i := &issuer{t: t, now: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), set: jose.JSONWebKeySet{Keys: keys}}
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.fetches++
		if i.status != 0 {
			w.WriteHeader(i.status)
			return
		}
		json.NewEncoder(w).Encode(i.set)
	}))
	t.Cleanup(i.server.Close)
	u, _ := url.Parse(i.server.URL + "/jwks.json")
	i.tokens = NewTokens(TokenOptions{Issuer: "https://id", Audience: "holdpoint", Claim: "sub", KeysURL: u, Now: i.clock})
	return i
}

func (i *issuer) clock() time.Time { i.mu.Lock(); defer i.mu.Unlock(); return i.now }

func (i *issuer) change(do func()) { i.mu.Lock(); defer i.mu.Unlock(); do() }

func (i *issuer) fetched() int { i.mu.Lock(); defer i.mu.Unlock(); return i.fetches }

// begun makes i.tokens fetch the keys, and returns i.
func (i *issuer) begun() *issuer {
	i.t.Helper()
	if !i.tokens.keys.fetchNow(i.t.Context()) {
		i.t.Fatal("the keys were not fetched")
	}
	return i
}

func public(id, alg string, key any) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key, KeyID: id, Algorithm: alg, Use: "sig"}
}

// token returns a signed token for alice. change replaces some of the token's claims. A nil value
// in change removes the claim.
func (i *issuer) token(alg jose.SignatureAlgorithm, key any, id string, change map[string]any) string {
	i.t.Helper()
	now := i.clock()
	claims := map[string]any{
		"iss": "https://id", "aud": []string{"other", "holdpoint"}, "sub": "alice",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	for name, value := range change {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	body, _ := json.Marshal(claims)
	options := &jose.SignerOptions{}
	if id != "" {
		options.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		i.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// ask sends a request with these Authorization headers. It returns the principal or the refusal.
func (i *issuer) ask(headers ...string) (string, *Refusal) {
	i.t.Helper()
	g := New(Options{Tokens: i.tokens, Keys: mustRing(i.t, key1)})
	req, _ := http.NewRequestWithContext(i.t.Context(), http.MethodPost, "/", nil)
	if headers != nil {
		req.Header["Authorization"] = headers
	}
	who, refused := g.Identify(req, false)
	return who.principal, refused
}

func TestTokens(t *testing.T) {
	i := newIssuer(t,
		public("r", "", rsaKey().Public()), public("e", "ES256", curveKey().Public()), public("d", "", edwardKey().Public()),
		public("small", "", smallKey().Public()), public("secret", "", []byte(strings.Repeat("s", 32))),
		jose.JSONWebKey{Key: otherKey().Public(), KeyID: "enc", Use: "enc"},
	).begun()
	hour := func(h int) int64 { return i.clock().Add(time.Duration(h) * time.Hour).Unix() }
	seconds := func(s int) int64 { return i.clock().Add(time.Duration(s) * time.Second).Unix() }
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: func() []byte { b, _ := x509.MarshalPKIXPublicKey(rsaKey().Public()); return b }()})
	forged := func(head string) string {
		parts := strings.Split(i.token(jose.RS256, rsaKey(), "r", nil), ".")
		return base64.RawURLEncoding.EncodeToString([]byte(head)) + "." + parts[1] + "."
	}
	swapped := func() string {
		one, two := strings.Split(i.token(jose.RS256, rsaKey(), "r", nil), "."), strings.Split(i.token(jose.RS256, rsaKey(), "r", map[string]any{"sub": "bob"}), ".")
		return one[0] + "." + two[1] + "." + one[2]
	}
	good := func(change map[string]any) string { return i.token(jose.RS256, rsaKey(), "r", change) }
	for _, tt := range []struct {
		name, token string
		want        error // nil if the token is accepted for alice
	}{
		{"RS256", good(nil), nil},
		{"PS384", i.token(jose.PS384, rsaKey(), "r", nil), nil},
		{"ES256", i.token(jose.ES256, curveKey(), "e", nil), nil},
		{"EdDSA", i.token(jose.EdDSA, edwardKey(), "d", nil), nil},
		{"no key id", i.token(jose.ES256, curveKey(), "", nil), nil},
		{"one audience", good(map[string]any{"aud": "holdpoint"}), nil},
		{"clocks differ: expired", good(map[string]any{"exp": seconds(-30)}), nil},
		{"clocks differ: not valid yet", good(map[string]any{"nbf": seconds(30), "iat": seconds(30)}), nil},

		{"expired", good(map[string]any{"exp": hour(-1)}), errExpired},
		{"no end", good(map[string]any{"exp": nil}), errNoExpiry},
		{"not valid yet", good(map[string]any{"nbf": hour(1)}), errNotYetValid},
		{"issued in the future", good(map[string]any{"iat": hour(1)}), errNotYetValid},
		{"another audience", good(map[string]any{"aud": "billing"}), errAudience},
		{"no audience", good(map[string]any{"aud": nil}), errAudience},
		{"another issuer", good(map[string]any{"iss": "https://evil"}), errIssuer},
		{"an issuer that begins so", good(map[string]any{"iss": "https://id/"}), errIssuer},
		{"no issuer", good(map[string]any{"iss": nil}), errIssuer},
		{"nobody", good(map[string]any{"sub": nil}), errClaim},
		{"nobody, by an empty name", good(map[string]any{"sub": ""}), errClaim},
		{"a number", good(map[string]any{"sub": 7}), errClaim},
		{"a list", good(map[string]any{"sub": []string{"alice"}}), errClaim},
		{"alg none", forged(`{"alg":"none"}`), errFormat},
		{"alg none with a key id", forged(`{"alg":"none","kid":"r"}`), errFormat},
		{"alg NONE", forged(`{"alg":"NONE","kid":"r"}`), errFormat},
		{"RS256 without a signature", forged(`{"alg":"RS256","kid":"r"}`), errSignature},
		{"HS256 with the public key as its secret", i.token(jose.HS256, asPEM, "r", nil), errFormat},
		{"HS256 with the key's modulus", i.token(jose.HS256, rsaKey().N.Bytes(), "r", nil), errFormat},
		{"HS256 with a symmetric key of the set", i.token(jose.HS256, []byte(strings.Repeat("s", 32)), "secret", nil), errFormat},
		{"the key of somebody else", i.token(jose.RS256, otherKey(), "r", nil), errSignature},
		{"a key for encryption", i.token(jose.RS256, otherKey(), "enc", nil), errUnknownKey},
		{"a small key", i.token(jose.RS256, smallKey(), "small", nil), errUnknownKey},
		{"an unknown key id", i.token(jose.RS256, rsaKey(), "nowhere", nil), errUnknownKey},
		{"an algorithm that the key is not for", i.token(jose.ES256, curveKey(), "r", nil), errSignature},
		{"another one's claims", swapped(), errSignature},
		{"an end that is no time", good(map[string]any{"exp": "tomorrow"}), errFormat},
		{"an issuer that is a list", good(map[string]any{"iss": []string{"https://id"}}), errFormat},
		{"no token", "alice", errFormat},
		{"a long token", strings.Repeat("a", maxToken+1), errFormat},
		{"an unknown critical header", forged(`{"alg":"RS256","kid":"r","crit":["x"],"x":1}`), errSignature},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name, refused := i.ask("Bearer " + tt.token)
			switch {
			case tt.want == nil && (refused != nil || name != "alice"):
				t.Errorf("%q, %+v", name, refused)
			case tt.want != nil && (refused == nil || refused.Status != http.StatusUnauthorized || refused.Reason != tt.want.Error() || name != ""):
				t.Errorf("%q, %+v, want %v", name, refused, tt.want)
			case tt.want != nil && refused.Challenge != `Bearer error="invalid_token"`:
				t.Errorf("challenge %q", refused.Challenge)
			}
		})
	}
	for name, tt := range map[string]struct {
		headers []string
		status  int
	}{
		"no header":              {nil, 401},
		"another scheme":         {[]string{"Basic YWxpY2U6eA=="}, 401},
		"two headers":            {[]string{"Bearer " + good(nil), "Bearer " + good(nil)}, 400},
		"the scheme in capitals": {[]string{"BEARER " + good(nil)}, 0},
	} {
		_, refused := i.ask(tt.headers...)
		if status := statusOf(refused); status != tt.status {
			t.Errorf("%s: %d", name, status)
		}
		if tt.status == 401 && refused.Challenge != "Bearer" {
			t.Errorf("%s: challenge %q", name, refused.Challenge)
		}
	}
}

func statusOf(r *Refusal) int {
	if r == nil {
		return 0
	}
	return r.Status
}

func TestMailAddressThatNobodyHasChecked(t *testing.T) {
	i := newIssuer(t, public("r", "", rsaKey().Public())).begun()
	i.tokens.opts.Claim = "email"
	for name, tt := range map[string]struct {
		verified any
		status   int
	}{
		"checked":         {true, 0},
		"checked, a text": {"true", 0},
		"nothing is said": {nil, 0},
		"not checked":     {false, 401},
		"who knows":       {"maybe", 401},
	} {
		_, refused := i.ask("Bearer " + i.token(jose.RS256, rsaKey(), "r", map[string]any{"email": "a@example.com", "email_verified": tt.verified}))
		if got := statusOf(refused); got != tt.status {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// TestRotatedKeys: if a token has an unknown key id, Holdpoint fetches the keys again. Two fetches
// must be at least refreshGap apart.
func TestRotatedKeys(t *testing.T) {
	i := newIssuer(t, public("old", "", rsaKey().Public())).begun()
	rotated := "Bearer " + i.token(jose.RS256, otherKey(), "new", nil)
	i.change(func() { i.set.Keys = append(i.set.Keys, public("new", "", otherKey().Public())) })
	if _, refused := i.ask(rotated); statusOf(refused) != 401 || i.fetched() != 1 {
		t.Fatalf("%+v after %d fetches: the first was just now", refused, i.fetched())
	}
	i.change(func() { i.now = i.now.Add(refreshGap) })
	if name, refused := i.ask(rotated); name != "alice" || i.fetched() != 2 {
		t.Fatalf("%+v after %d fetches: the new key is not found", refused, i.fetched())
	}
	// A key that the issuer has removed must not be accepted any more.
	i.change(func() { i.set.Keys, i.now = i.set.Keys[1:], i.now.Add(refreshGap) })
	i.begun()
	if _, refused := i.ask("Bearer " + i.token(jose.RS256, rsaKey(), "old", nil)); statusOf(refused) != 401 {
		t.Errorf("%+v", refused)
	}
	// Many made-up key ids must cause only one fetch in each refreshGap.
	for range 3 {
		i.change(func() { i.now = i.now.Add(refreshGap) })
		before := i.fetched()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, refused := i.ask("Bearer " + i.token(jose.RS256, rsaKey(), rand.Text(), nil)); statusOf(refused) != 401 {
					t.Errorf("%+v", refused)
				}
			})
		}
		all.Wait()
		if n := i.fetched() - before; n != 1 {
			t.Errorf("%d fetches", n)
		}
	}
}

// TestRotatedKeyWithoutAnID: tokens and keys may lack a key id, and a new key may have the id of
// the old key. If no known key fits the signature of a token, Holdpoint must fetch the keys again,
// as it does for an unknown key id.
func TestRotatedKeyWithoutAnID(t *testing.T) {
	for name, kid := range map[string]struct{ token, before, after string }{
		"no ids":                    {},
		"ids in the set only":       {before: "old", after: "new"},
		"one id for both keys":      {token: "k", before: "k", after: "k"},
		"no id in the set any more": {token: "k", before: "k"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t, public(kid.before, "", rsaKey().Public())).begun()
			rotated := "Bearer " + i.token(jose.RS256, otherKey(), kid.token, nil)
			i.change(func() { i.set.Keys = []jose.JSONWebKey{public(kid.after, "", otherKey().Public())} })
			if _, refused := i.ask(rotated); statusOf(refused) != 401 || i.fetched() != 1 {
				t.Fatalf("%+v after %d fetches: the first was just now", refused, i.fetched())
			}
			i.change(func() { i.now = i.now.Add(refreshGap) })
			name, refused := i.ask(rotated)
			if kid.token != "" && kid.after == "" {
				// If a token names a key id, Holdpoint does not try keys with a different id.
				if statusOf(refused) != 401 {
					t.Errorf("%q, %+v", name, refused)
				}
			} else if name != "alice" || i.fetched() != 2 {
				t.Fatalf("%+v after %d fetches: the new key is not found", refused, i.fetched())
			}
			// A token that a removed key has signed must be refused, and so must a forged token.
			// Many such tokens must cause only one fetch in each refreshGap.
			i.change(func() { i.now = i.now.Add(refreshGap) })
			before := i.fetched()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if _, refused := i.ask("Bearer " + i.token(jose.RS256, rsaKey(), kid.token, nil)); statusOf(refused) != 401 {
						t.Errorf("%+v", refused)
					}
				})
			}
			all.Wait()
			if n := i.fetched() - before; n != 1 {
				t.Errorf("%d fetches", n)
			}
		})
	}
}

// TestIssuerDown: the issuer cannot be reached. Holdpoint must continue to use the known keys, and
// must refuse a token signed by an unknown key.
func TestIssuerDown(t *testing.T) {
	i := newIssuer(t, public("r", "", rsaKey().Public()))
	good := "Bearer " + i.token(jose.RS256, rsaKey(), "r", nil)
	i.change(func() { i.status = http.StatusBadGateway })
	if i.tokens.keys.fetchNow(t.Context()) {
		t.Fatal("a fetch from a server that is down was good")
	}
	for range 2 {
		name, refused := i.ask(good)
		if statusOf(refused) != http.StatusServiceUnavailable || name != "" || !errors.Is(refused.Err, ErrNoKeys) {
			t.Fatalf("%q, %+v: there are no keys", name, refused)
		}
	}
	i.change(func() { i.status = 0 })
	i.begun()
	i.change(func() { i.status = http.StatusBadGateway })
	i.tokens.keys.fetchNow(t.Context())
	if name, refused := i.ask(good); name != "alice" {
		t.Errorf("%+v: the keys that were known are gone", refused)
	}
	i.change(func() { i.now = i.now.Add(refreshGap) })
	if _, refused := i.ask("Bearer " + i.token(jose.RS256, otherKey(), "new", nil)); statusOf(refused) != 401 {
		t.Errorf("%+v", refused)
	}
	i.server.Close()
	i.change(func() { i.now = i.now.Add(refreshGap) })
	if _, refused := i.ask("Bearer " + i.token(jose.RS256, otherKey(), "new", nil)); statusOf(refused) != 401 {
		t.Errorf("%+v", refused)
	}
	if name, _ := i.ask(good); name != "alice" {
		t.Error("the keys that were known are gone with the server")
	}
}

// TestRunFetches: Run fetches the keys in the background. Until it has keys, requests must be
// refused at once, even if the issuer accepts the connection for the keys and never responds.
func TestRunFetches(t *testing.T) {
	i := newIssuer(t, public("r", "", rsaKey().Public()))
	answer := make(chan struct{})
	asked := make(chan struct{}, 1)
	inner := i.server.Config.Handler
	i.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		inner.ServeHTTP(w, r)
	})
	done := make(chan error, 1)
	i.tokens.keys.onFetch = func(_ []string, err error) { done <- err }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); New(Options{Tokens: i.tokens}).Run(ctx) }()
	<-asked
	good := "Bearer " + i.token(jose.RS256, rsaKey(), "r", nil)
	if _, refused := i.ask(good); statusOf(refused) != http.StatusServiceUnavailable {
		t.Errorf("%+v", refused)
	}
	close(answer)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !i.tokens.keys.fetchNow(t.Context()) { // waits until the fetch of Run has ended
		t.Fatal("no keys")
	}
	if name, refused := i.ask(good); name != "alice" {
		t.Errorf("%+v", refused)
	}
	cancel()
	<-ended
}

func TestSetsThatAreNotTaken(t *testing.T) {
	for name, set := range map[string]string{
		"no JSON":               "<html>",
		"no set":                `[]`,
		"no keys":               `{"keys":[]}`,
		"a symmetric key":       `{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}]}`,
		"an unknown kind":       `{"keys":[{"kty":"QQ","kid":"a"}]}`,
		"a point off the curve": `{"keys":[{"kty":"EC","crv":"P-256","kid":"a","x":"AQ","y":"AQ"}]}`,
	} {
		if keys, _, err := parseSet([]byte(set)); err == nil {
			t.Errorf("%s: %v", name, keys)
		}
	}
	// If an issuer publishes a private key by mistake, anybody may have it, so the key must be
	// skipped.
	private, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: rsaKey(), KeyID: "r"}}})
	if keys, _, err := parseSet(private); err == nil {
		t.Errorf("a private key: %v", keys)
	}
}

// TestSkippedKeysAreNamed: the log must name each skipped key and the reason. The other keys of the
// set must be used.
func TestSkippedKeysAreNamed(t *testing.T) {
	good, _ := json.Marshal(public("good", "", rsaKey().Public()))
	enc, _ := json.Marshal(jose.JSONWebKey{Key: curveKey().Public(), KeyID: "enc", Use: "enc"})
	set := fmt.Sprintf(`{"keys":[%s,%s,{"kty":"RSA","kid":"padded","n":"AQ==","e":"AQAB"},{"kty":"RSA","kid":7,"n":"AQ","e":"AQAB"},{"kty":"QQ"}]}`, good, enc)
	keys, skipped, err := parseSet([]byte(set))
	if err != nil || len(keys) != 1 || keys[0].KeyID != "good" {
		t.Fatal(keys, err)
	}
	want := []string{`key 2, kid "enc": its use is "enc"`, `key 3, kid "padded": `, `key 4, kid 7: `, `key 5: `}
	if len(skipped) != len(want) {
		t.Fatalf("%q", skipped)
	}
	for n := range want {
		if !strings.HasPrefix(skipped[n], want[n]) || strings.HasSuffix(skipped[n], ": ") {
			t.Errorf("%q, want %q", skipped[n], want[n])
		}
	}
	if _, _, err := parseSet([]byte(`{"keys":[{"kty":"QQ","kid":"odd"}]}`)); err == nil || !strings.Contains(err.Error(), `kid "odd"`) {
		t.Error(err)
	}
}

// TestNoRedirectOfTheKeys: the address of the keys redirects to a different address. Holdpoint must
// not follow the redirect.
func TestNoRedirectOfTheKeys(t *testing.T) {
	i := newIssuer(t, public("r", "", rsaKey().Public()))
	elsewhere := httptest.NewServer(http.RedirectHandler(i.server.URL, http.StatusFound))
	defer elsewhere.Close()
	i.tokens.keys.url = elsewhere.URL
	if i.tokens.keys.fetchNow(t.Context()) || i.fetched() != 0 {
		t.Error("a redirect was followed")
	}
}

func FuzzSet(f *testing.F) {
	good, _ := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public("r", "", rsaKey().Public()), public("e", "", curveKey().Public())}})
	f.Add(good)
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		keys, _, err := parseSet(body)
		if (err == nil) != (len(keys) > 0) {
			t.Errorf("%d keys, %v", len(keys), err)
		}
		for _, k := range keys {
			if !k.IsPublic() {
				t.Error("a key that is not public")
			}
		}
	})
}

func FuzzToken(f *testing.F) {
	u, _ := url.Parse("http://127.0.0.1:1")
	tokens := NewTokens(TokenOptions{Issuer: "i", Audience: "a", Claim: "sub", KeysURL: u})
	tokens.keys.keys = []jose.JSONWebKey{public("r", "", rsaKey().Public()), public("e", "", curveKey().Public())}
	tokens.keys.started = time.Now().Add(time.Hour) // so that no fetch starts
	f.Add("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.")
	f.Add("eyJhbGciOiJFUzI1NiIsImtpZCI6ImUifQ.eyJzdWIiOiJhIn0.AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		if claims, err := tokens.Verify(t.Context(), token); err == nil {
			t.Errorf("a token that nobody signed is good: %v", claims)
		}
	})
}
