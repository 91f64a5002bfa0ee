package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store/memory"
)

// TestUnknown: without a token, a caller must get 401 for each path of the API, whether the path
// exists or not.
func TestUnknown(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	for _, path := range []string{"/v1/", "/v1/approvals", "/v1/approvals?limit=x", "/v1/approvals/" + id(1), "/v1/approvals/x", "/v1/me", "/v1/x"} {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS"} {
			for _, header := range []string{"", "Bearer " + secret[1:], "Basic " + secret} {
				req := httptest.NewRequest(method, path, nil)
				req.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 1).String()
				if header != "" {
					req.Header.Set("Authorization", header)
				}
				r.desk.tries = newTries(r.clock.now)
				w := httptest.NewRecorder()
				r.desk.ServeHTTP(w, req)
				challenge := w.Header().Get("WWW-Authenticate")
				if w.Code != 401 || !strings.Contains(w.Body.String(), codeUnauthenticated) || strings.Contains(challenge, "invalid_token") != (header != "") || w.Header().Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s with %q: %d %s: %s", method, path, header, w.Code, challenge, w.Body)
				}
			}
		}
	}
	r.ask(200, "GET", "/v1/approvals/"+id(1)) // the approval still exists
}

// TestHeaders: no response may be cached, shown in a frame, or read as another content type.
func TestHeaders(t *testing.T) {
	r := inMemory(t)
	for _, path := range []string{"/v1/approvals", "/v1/approvals/x", "/"} {
		h := r.send("GET", path).Header
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: %q", path, h.Get("Content-Security-Policy"))
		}
	}
}

// TestManyWrongTokens: after several wrong tokens from one address, each further wrong token takes
// a second, gets 429, and is not logged. A correct token is accepted at once, and other addresses
// are not slowed.
func TestManyWrongTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		r := newRig(t, memory.New(memory.Options{}), c)
		r.desk.opts.Now = time.Now
		r.desk.tries = newTries(time.Now)
		var logged strings.Builder
		r.desk.log = slog.New(slog.NewTextHandler(&logged, nil))
		try := func(from, token string, want int, slow time.Duration) *httptest.ResponseRecorder {
			t.Helper()
			req := httptest.NewRequest("GET", "/v1/approvals", nil)
			req.RemoteAddr = from
			req.Header.Set("Authorization", "Bearer "+token)
			began, w := time.Now(), httptest.NewRecorder()
			r.desk.ServeHTTP(w, req)
			documented(t, req, w.Result(), w.Body.Bytes())
			if took := time.Since(began); w.Code != want || took != slow {
				t.Errorf("%s: %d after %s, want %d after %s", from, w.Code, took, want, slow)
			}
			return w
		}
		for n := range maxTries {
			try(fmt.Sprintf("127.0.0.1:%d", n), "wrong", 401, 0)
		}
		if wait := try("127.0.0.1:1", "wrong", 429, refusalDelay).Header().Get("Retry-After"); wait != "6" {
			t.Errorf("Retry-After is %s", wait)
		}
		try("127.0.0.1:1", "wrong", 429, refusalDelay)
		if n := strings.Count(logged.String(), "a wrong token"); n != maxTries {
			t.Errorf("%d lines of wrong tokens", n)
		}
		try("127.0.0.1:1", secret, 200, 0)
		try("127.0.0.2:1", "wrong", 401, 0)
		time.Sleep(tryEvery)
		try("127.0.0.1:1", "wrong", 401, 0)
		try("127.0.0.1:1", "wrong", 429, refusalDelay)

		for range maxTries { // all addresses of a /64 network share one count
			try("[2001:db8::1]:1", "wrong", 401, 0)
		}
		try("[2001:db8::2]:1", "wrong", 429, refusalDelay)
		try("[2001:db8:0:1::2]:1", "wrong", 401, 0)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := httptest.NewRequest("GET", "/v1/approvals", nil).WithContext(ctx)
		req.RemoteAddr = "127.0.0.1:1"
		req.Header.Set("Authorization", "Bearer wrong")
		began := time.Now()
		r.desk.ServeHTTP(httptest.NewRecorder(), req)
		if took := time.Since(began); took != 0 {
			t.Errorf("a client that has left is held for %s", took)
		}
	})
}

// TestTriesAreBounded: the desk remembers a limited number of addresses. All further addresses
// share one count.
func TestTriesAreBounded(t *testing.T) {
	c := newClock()
	tries := newTries(c.now)
	addr := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}) }
	for n := range maxWatched + maxTries {
		if wait := tries.take(addr(n)); wait != 0 {
			t.Fatalf("address %d waits %s", n, wait)
		}
	}
	if wait := tries.take(addr(maxWatched + maxTries)); wait == 0 {
		t.Error("whoever finds no room is not slowed")
	}
	if wait := tries.take(addr(0)); wait != 0 {
		t.Errorf("one that is known waits %s", wait)
	}
	if len(tries.fullAt) > maxWatched+1 {
		t.Errorf("%d addresses are kept", len(tries.fullAt))
	}
	c.advance(maxTries * tryEvery)
	if wait := tries.take(addr(maxWatched + maxTries)); wait != 0 || len(tries.fullAt) > 2 {
		t.Errorf("later it waits %s, and %d addresses are kept", wait, len(tries.fullAt))
	}
}

// TestPageOfAnotherOrigin: a page of another origin must not free a thread, even if it has the
// token.
func TestPageOfAnotherOrigin(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{}`))
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if code := r.ask(403, "DELETE", "/v1/approvals/"+id(1), headers...).Get("code").Str; code != codeCrossOrigin {
			t.Errorf("%q: %s", headers, code)
		}
	}
	r.ask(200, "DELETE", "/v1/approvals/"+id(1), "Sec-Fetch-Site", "same-origin")
}

// TestConnectionThatIsRefused: the connection of a request is refused. The response must give the
// reason, and the request must do nothing.
func TestConnectionThatIsRefused(t *testing.T) {
	r := inMemory(t)
	r.desk.opts.Refused = func(context.Context) (int, string) { return http.StatusServiceUnavailable, "too many" }
	res := r.send("GET", "/v1/approvals")
	if res.StatusCode != 503 || res.Header.Get("Connection") != "close" {
		t.Errorf("%d, Connection %q", res.StatusCode, res.Header.Get("Connection"))
	}
}
