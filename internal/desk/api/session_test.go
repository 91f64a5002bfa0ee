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

// A browser keeps its cookies, and adds the headers that say where its requests come from.
type browser struct {
	*rig
	host    string
	tls     bool
	proxied bool // X-Forwarded-Proto says https
	cookies []*http.Cookie
	headers []string // pairs, beside Sec-Fetch-Site
	site    string   // Sec-Fetch-Site, "" for none
}

func (r *rig) browser() *browser {
	return &browser{rig: r, host: "localhost:7082", site: "same-origin"}
}

// do sends a request, with the body as JSON if there is one.
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

// TestSession: a browser signs in with a token, acts as the token's owner, and signs out. The
// cookie contains nothing of the token.
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
	b.cookies = old // somebody has kept it
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

// TestSessionEnds: a session ends with time, with its token, and with the key that signed it.
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
	set(strings.Replace(file, "ann finance", "anna board", 1)) // the token's line says who somebody is, and not the cookie
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

// TestSessionsOfReplicas: processes with the same keys, tokens and store accept each other's
// sessions, except those that one of them has signed out. Other processes do not.
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
	second.do(200, "GET", "/v1/me", "") // somebody's other session
}

// TestForgedCookies: any other cookie signs nobody in.
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
	b.tls = true // another host of the domain may have set it
	b.do(401, "GET", "/v1/approvals", "")
	b.headers = []string{"Authorization", "Bearer wrong"}
	b.tls = false
	b.cookies = []*http.Cookie{{Name: plainCookie, Value: good}}
	b.do(401, "GET", "/v1/approvals", "") // a wrong token is not made good by a cookie
}

// TestSignInByTLS: over TLS, or through a trusted proxy, the cookie is bound to TLS and to the
// host. Over plain HTTP a browser can sign in on its own machine only.
func TestSignInByTLS(t *testing.T) {
	r := inMemory(t)
	r.desk.opts.Trusted = func(req *http.Request) bool { return req.Header.Get("X-Test-Peer") == "" }
	for name, tt := range map[string]struct {
		b      browser
		cookie string // "": refused
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

// TestSignInRefused: a wrong token signs nobody in, and counts like a wrong token elsewhere.
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

// TestCrossSite: a request with a cookie changes nothing unless the browser says that a page of the
// desk has sent it, and it reads nothing for another page.
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
		{"same-origin", "https://evil.example", false, true, true}, // no browser says so
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

// TestManyDecisions: a caller may make a number of changes at once, and then one every second.
// Other callers are not delayed.
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

// TestPathsOfNobody: below /v1 an unknown caller does not learn which paths exist. Other paths do
// not exist for anyone, because the page serves its own before the API.
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

// FuzzCookie: only cookies that the desk has issued sign anybody in, and none breaks the desk.
func FuzzCookie(f *testing.F) {
	list, err := ParseTokens(secret)
	if err != nil {
		f.Fatal(err)
	}
	var tokens Tokens
	tokens.Set(list)
	keys := &Keys{}
	keys.Set([][]byte{[]byte("a key")})
	s := &sessions{keys: keys, out: map[[16]byte]time.Time{}}
	now := newClock().now()
	plain := binary.BigEndian.AppendUint64(nil, uint64(now.Add(time.Hour).Unix()))
	plain = append(plain, make([]byte, 16)...) // the same in each process of a fuzzer
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
