package api

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// A browser sends requests to the desk. It keeps cookies, and adds the headers that say which site
// has sent a request.
type browser struct {
	*rig
	host    string
	tls     bool
	proxied bool // sends X-Forwarded-Proto: https
	cookies []*http.Cookie
	headers []string // further headers: names and values in turn
	site    string   // value of Sec-Fetch-Site; "" for no header
}

func (r *rig) browser() *browser {
	return &browser{rig: r, host: "localhost:7082", site: "same-origin"}
}

// do sends a request and returns the body of the response, which must have this status. If body is
// not empty, it is sent as JSON.
func (b *browser) do(status int, method, path, body string) gjson.Result {
	b.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Host = b.host
	if b.tls {
		req.TLS = &tls.ConnectionState{}
	}
	if b.proxied {
		req.Header.Set("X-Forwarded-Proto", "https")
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if b.site != "" {
		req.Header.Set("Sec-Fetch-Site", b.site)
	}
	for h := range slices.Chunk(b.headers, 2) {
		req.Header.Add(h[0], h[1])
	}
	for _, c := range b.cookies {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.desk.ServeHTTP(w, req)
	res := w.Result()
	text, _ := io.ReadAll(res.Body)
	if body != "" {
		documentedPost(b.T, req, body, res, text)
	} else {
		documented(b.T, req, res, text)
	}
	if res.StatusCode != status {
		b.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, status, text)
	}
	for _, c := range res.Cookies() {
		b.cookies = slices.DeleteFunc(b.cookies, func(o *http.Cookie) bool { return o.Name == c.Name })
		if c.MaxAge >= 0 {
			b.cookies = append(b.cookies, c)
		}
	}
	return gjson.ParseBytes(text)
}

func (b *browser) signIn(token string) {
	b.Helper()
	b.do(204, "POST", "/v1/session", fmt.Sprintf(`{"token":%q}`, token))
	if len(b.cookies) != 1 {
		b.Fatalf("%d cookies", len(b.cookies))
	}
}

// TestSession: a browser signs in with a token, acts as the owner of the token, and signs out. The
// cookie must contain nothing of the token.
func TestSession(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	b := r.browser()
	if got := b.do(401, "GET", "/v1/me", ""); got.Get("auth").Str != "token" {
		t.Errorf("before: %s", got)
	}
	b.signIn(secret)
	c := b.cookies[0]
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	sum := sha256.Sum256([]byte(secret))
	if err != nil || bytes.Contains(raw, []byte(secret[:8])) || bytes.Contains(raw, sum[:8]) {
		t.Errorf("the cookie is %q", c.Value)
	}
	if c.Name != plainCookie || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure || c.MaxAge != int(sessionTime/time.Second) {
		t.Errorf("the cookie is %s", c)
	}
	me := b.do(200, "GET", "/v1/me", "")
	if want := `{"now":"2026-11-24T10:00:00Z","name":"operator","groups":[],"auth":"token","session":true,"until":"2026-11-24T22:00:00Z","rights":["list","read","conversation","decide","operate"]}`; me.Raw != want+"\n" && me.Raw != want {
		t.Errorf("me: %s", me.Raw)
	}
	if got := ids(b.do(200, "GET", "/v1/approvals", "")); len(got) != 1 {
		t.Errorf("the list has %q", got)
	}
	old := slices.Clone(b.cookies)
	b.do(204, "DELETE", "/v1/session", "")
	if len(b.cookies) != 0 {
		t.Errorf("signed out, and there is %s", b.cookies)
	}
	b.cookies = old // somebody has kept the cookie
	b.do(401, "GET", "/v1/approvals", "")
	if len(b.cookies) != 0 {
		t.Error("a cookie that counts no more is not taken back")
	}
	if by := r.ask(200, "DELETE", "/v1/approvals/"+id(1)).Get("end.by").Str; by != "operator" {
		t.Errorf("by %q", by)
	}
	if got := r.ask(200, "GET", "/v1/me"); got.Get("session").Bool() || got.Get("until").Exists() {
		t.Errorf("with a token: %s", got)
	}
}

// TestSessionEnds: a session must end after some time. It must also end when its token is removed,
// and when the key that signed the session is removed.
func TestSessionEnds(t *testing.T) {
	r := inMemory(t)
	sum := sha256.Sum256([]byte("token of ann"))
	file := fmt.Sprintf("%s\nann finance sha256:%x\n", secret, sum)
	set := func(text string) {
		t.Helper()
		list, err := ParseTokens(text)
		r.must(err)
		r.desk.opts.Tokens.Set(list)
	}
	set(file)
	a, key := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	r.desk.sessions.keys.Set([][]byte{a})
	b := r.browser()
	b.signIn("token of ann")
	kept := slices.Clone(b.cookies)
	if me := b.do(200, "GET", "/v1/me", ""); me.Get("name").Str != "ann" || me.Get("groups").Raw != `["finance"]` {
		t.Errorf("me: %s", me)
	}
	again := func(status int) {
		t.Helper()
		b.cookies = slices.Clone(kept)
		b.do(status, "GET", "/v1/me", "")
	}
	set(secret)
	again(401)
	// The name and groups of a caller come from the token's current line, and not from the cookie.
	set(strings.Replace(file, "ann finance", "anna board", 1))
	b.cookies = slices.Clone(kept)
	if me := b.do(200, "GET", "/v1/me", ""); me.Get("name").Str != "anna" || me.Get("groups").Raw != `["board"]` {
		t.Errorf("me: %s", me)
	}
	r.desk.sessions.keys.Set([][]byte{key, a})
	again(200)
	r.desk.sessions.keys.Set([][]byte{key})
	again(401)
	r.desk.sessions.keys.Set(nil)
	again(401)
	r.desk.sessions.keys.Set([][]byte{a})
	r.clock.advance(sessionTime - time.Second)
	again(200)
	r.clock.advance(time.Second)
	again(401)
}

// TestSessionsOfReplicas: two processes have the same keys, tokens and store. Each must accept the
// other's sessions, except sessions that one of the two has signed out. A third process, with other
// keys, must not accept them.
func TestSessionsOfReplicas(t *testing.T) {
	one, other := inMemory(t), inMemory(t)
	two := newRig(t, one.store, one.clock)
	for _, r := range []*rig{one, two} {
		r.desk.sessions.keys.Set([][]byte{[]byte("the key of both")})
	}
	b, second := one.browser(), one.browser()
	b.signIn(secret)
	second.signIn(secret)
	kept := slices.Clone(b.cookies)
	b.rig = two
	b.do(200, "GET", "/v1/me", "")
	b.rig = other
	b.do(401, "GET", "/v1/me", "")
	b.rig, b.cookies = one, slices.Clone(kept)
	b.do(204, "DELETE", "/v1/session", "")
	for _, r := range []*rig{one, two} {
		b.rig, b.cookies = r, slices.Clone(kept)
		b.do(401, "GET", "/v1/approvals", "")
	}
	second.rig = two
	second.do(200, "GET", "/v1/me", "") // a session that was not signed out
}

// TestForgedCookies: a cookie that the desk has not issued must not sign anybody in.
func TestForgedCookies(t *testing.T) {
	r := inMemory(t)
	b := r.browser()
	b.signIn(secret)
	good := b.cookies[0].Value
	raw, _ := base64.RawURLEncoding.DecodeString(good)
	encode := base64.RawURLEncoding.EncodeToString
	forged := map[string]string{
		"nothing": "", "a word": "x", "the token": secret, "zeros": encode(make([]byte, len(raw))), "more": encode(append(slices.Clone(raw), 0)), "less": encode(raw[:len(raw)-1]),
		"spelt otherwise": good[:len(good)-1] + string(good[len(good)-1]+1),
	}
	for n := range raw {
		bent := slices.Clone(raw)
		bent[n] ^= 1
		forged[fmt.Sprintf("byte %d", n)] = encode(bent)
	}
	longer := slices.Clone(raw)
	longer[0] = 0x7f
	forged["longer"] = encode(longer)
	for name, value := range forged {
		b.cookies = []*http.Cookie{{Name: plainCookie, Value: value}}
		if got := b.do(401, "GET", "/v1/approvals", ""); got.Get("code").Str != codeUnauthenticated {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, cookies := range map[string][]*http.Cookie{
		"twice":                   {{Name: plainCookie, Value: good}, {Name: plainCookie, Value: good}},
		"the name of TLS by HTTP": {{Name: secureCookie, Value: good}},
		"beside one of TLS":       {{Name: "x", Value: good}},
		"in another case":         {{Name: "Holdpoint-Desk", Value: good}},
	} {
		b.cookies = cookies
		if got := b.do(401, "GET", "/v1/approvals", ""); got.Get("code").Str != codeUnauthenticated {
			t.Errorf("%s: %s", name, got)
		}
	}
	b.cookies = []*http.Cookie{{Name: plainCookie, Value: good}}
	b.do(200, "GET", "/v1/approvals", "")
	b.tls = true // over TLS, another host of the domain may have set this cookie
	b.do(401, "GET", "/v1/approvals", "")
	b.headers = []string{"Authorization", "Bearer wrong"}
	b.tls = false
	b.cookies = []*http.Cookie{{Name: plainCookie, Value: good}}
	b.do(401, "GET", "/v1/approvals", "") // a wrong token is refused even with a valid cookie
}

// TestSignInByTLS: over TLS, or behind a trusted proxy that uses TLS, the cookie is bound to TLS
// and to the host. Over plain HTTP, only a browser on the desk's own machine can sign in.
func TestSignInByTLS(t *testing.T) {
	r := inMemory(t)
	r.desk.opts.Trusted = func(req *http.Request) bool { return req.Header.Get("X-Test-Peer") == "" }
	for name, tt := range map[string]struct {
		b      browser
		cookie string // name of the cookie; "" if the sign-in is refused
	}{
		"TLS":                        {browser{host: "desk.example.com", tls: true}, secureCookie},
		"a trusted proxy":            {browser{host: "desk.example.com", proxied: true}, secureCookie},
		"somebody who says https":    {browser{host: "desk.example.com", proxied: true, headers: []string{"X-Test-Peer", "other"}}, ""},
		"the network":                {browser{host: "desk.example.com"}, ""},
		"an address of the network":  {browser{host: "10.1.2.3:7082"}, ""},
		"a name that begins so":      {browser{host: "localhost.example.com"}, ""},
		"a name that ends so":        {browser{host: "notlocalhost"}, ""},
		"no host":                    {browser{host: ""}, ""},
		"localhost":                  {browser{host: "LocalHost:7082"}, plainCookie},
		"a name of localhost":        {browser{host: "desk.localhost:7082"}, plainCookie},
		"127.0.0.1":                  {browser{host: "127.0.0.1:7082"}, plainCookie},
		"::1":                        {browser{host: "[::1]:7082"}, plainCookie},
		"loopback in another family": {browser{host: "[::ffff:127.0.0.1]"}, plainCookie},
	} {
		b := &tt.b
		b.rig, b.site = r, "same-origin"
		if tt.cookie == "" {
			if got := b.do(403, "POST", "/v1/session", `{"token":"`+secret+`"}`); got.Get("code").Str != codeNoTLS {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		b.signIn(secret)
		if c := b.cookies[0]; c.Name != tt.cookie || c.Secure != (tt.cookie == secureCookie) || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
			t.Errorf("%s: %s", name, c)
		}
		b.do(200, "GET", "/v1/me", "")
	}
}

// TestSignInRefused: a wrong token must not sign anybody in. The desk must count it among the wrong
// tokens of the caller's address.
func TestSignInRefused(t *testing.T) {
	r := inMemory(t)
	b := r.browser()
	for body, status := range map[string]int{
		`{"token":""}`: 401, `{"token":"` + secret[1:] + `"}`: 401, `{"token":null}`: 401, `{}`: 401, `{"token":1}`: 400, `[]`: 400, `{"token":"a","token":"b"}`: 400, `{"name":"x"}`: 400,
	} {
		b.do(status, "POST", "/v1/session", body)
	}
	b.headers = []string{"Content-Type", "text/plain"}
	req := httptest.NewRequest("POST", "/v1/session", strings.NewReader(`{"token":"`+secret+`"}`))
	req.Host = "localhost"
	req.Header.Set("Content-Type", "text/plain")
	w := httptest.NewRecorder()
	r.desk.ServeHTTP(w, req)
	if w.Code != 415 || len(w.Result().Cookies()) != 0 {
		t.Errorf("as text: %d", w.Code)
	}
	b.headers, b.site = nil, "cross-site"
	if got := b.do(403, "POST", "/v1/session", `{"token":"`+secret+`"}`); got.Get("code").Str != codeCrossOrigin || len(b.cookies) != 0 {
		t.Errorf("by another page: %s", got)
	}
}

// TestCrossSite: a request with a cookie may change something only if the browser says that a page
// of the desk sent it. A page of another site must not be able to read anything.
func TestCrossSite(t *testing.T) {
	r, _ := deciding(t)
	r.open(1, pause(1, "refund", `{}`))
	digest := r.digest(1, 0)
	for _, tt := range []struct {
		site, origin string
		tls          bool
		reads, sends bool
	}{
		{"same-origin", "", false, true, true},
		{"same-origin", "http://localhost:7082", false, true, true},
		{"same-origin", "https://evil.example", false, true, true}, // no real browser sends both
		{"", "http://localhost:7082", false, true, true},
		{"", "http://LOCALHOST:7082", false, false, false},
		{"", "https://localhost:7082", true, true, true},
		{"none", "", false, true, false},
		{"", "", false, true, false},
		{"same-site", "", false, false, false},
		{"cross-site", "", false, false, false},
		{"SAME-ORIGIN", "", false, false, false},
		{"", "http://localhost:7083", false, false, false},
		{"", "http://evil.example", false, false, false},
		{"", "null", false, false, false},
		{"", "http://localhost:7082", true, false, false},
		{"", "ftp://localhost:7082", false, false, false},
	} {
		b := r.browser()
		b.tls = tt.tls
		b.signIn(secret)
		b.site = tt.site
		if tt.origin != "" {
			b.headers = []string{"Origin", tt.origin}
		}
		status := func(fine bool) int { return map[bool]int{true: 200, false: 403}[fine] }
		b.do(status(tt.reads), "GET", "/v1/approvals/"+id(1), "")
		got := b.do(status(tt.sends), "POST", "/v1/approvals/"+id(1)+"/questions/i1", `{"decision":"approve","digest":"`+digest+`"}`)
		if !tt.sends && got.Get("code").Str != codeCrossOrigin {
			t.Errorf("%+v: %s", tt, got)
		}
		if !tt.sends {
			b.do(403, "DELETE", "/v1/approvals/"+id(1), "")
			b.do(403, "DELETE", "/v1/session", "")
		}
	}
	b := r.browser()
	b.signIn(secret)
	b.headers = []string{"Sec-Fetch-Site", "cross-site"}
	b.do(403, "POST", "/v1/approvals/"+id(1)+"/questions/i1", `{"decision":"approve","digest":"`+digest+`"}`)
}

// TestManyDecisions: a caller may make several changes at once, and then one change each second.
// Other callers must not be delayed.
func TestManyDecisions(t *testing.T) {
	r, _ := deciding(t)
	sum := sha256.Sum256([]byte("token of ann"))
	list, err := ParseTokens(fmt.Sprintf("%s\nann sha256:%x", secret, sum))
	r.must(err)
	r.desk.opts.Tokens.Set(list)
	r.open(1, pause(1, "refund", `{}`))
	path, body := "/v1/approvals/"+id(1)+"/questions/i1", `{"decision":"approve","digest":"`+r.digest(1, 0)+`"}`
	for range maxChanges {
		r.post(200, path, body)
	}
	if got := r.post(429, path, body); got.Get("code").Str != codeChanges {
		t.Errorf("too many: %s", got)
	}
	if res := r.send("DELETE", "/v1/approvals/"+id(1)); res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" {
		t.Errorf("to free: %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	r.ask(200, "GET", "/v1/approvals/"+id(1))
	r.post(200, path, body, "Authorization", "Bearer token of ann")
	r.clock.advance(changeEvery)
	r.post(200, path, body)
	r.post(429, path, body)
}

// TestPathsOfNobody: an unknown caller gets 401 for each path below /v1, so it does not learn which
// paths exist. All other paths get 404 here, because the desk's page is served before the API.
func TestPathsOfNobody(t *testing.T) {
	r := inMemory(t)
	for path, status := range map[string]int{"/": 404, "/app.js": 404, "/v2": 404, "/v1/": 401, "/v1/x": 401, "/v1/me": 401} {
		w := httptest.NewRecorder()
		r.desk.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != status || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// FuzzCookie: only a cookie that the desk has issued may sign anybody in. No cookie may make the
// desk fail.
func FuzzCookie(f *testing.F) {
	list, err := ParseTokens(secret)
	if err != nil {
		f.Fatal(err)
	}
	var tokens Tokens
	tokens.Set(list)
	keys := &Keys{}
	keys.Set([][]byte{[]byte("a key")})
	s := &sessions{keys: keys, signedOut: map[[16]byte]time.Time{}}
	now := newClock().now()
	plain := binary.BigEndian.AppendUint64(nil, uint64(now.Add(time.Hour).Unix()))
	// These bytes are not random, so that all processes of a fuzzer have the same cookie.
	plain = append(plain, make([]byte, 16)...)
	given := base64.RawURLEncoding.EncodeToString(append(plain, sign([]byte("a key"), plain, &list[0])...))
	for _, seed := range []string{"", given, given + "A", given[1:], "=", strings.Repeat("A", len(given))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cookie string) {
		found, token := s.find(cookie, &tokens, now)
		if (found != nil) != (cookie == given) || (token == nil) != (found == nil) {
			t.Errorf("%q finds %+v", cookie, found)
		}
	})
}
