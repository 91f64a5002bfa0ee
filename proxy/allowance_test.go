package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/proxy/internal/cors"
	"holdpoint/store/memory"
	"holdpoint/translate"
)

// TestWhatTheBackendSaysLaterHolds: the backend's last response, whether to a run or to a
// preflight, must decide whether an origin may read Holdpoint's own responses.
func TestWhatTheBackendSaysLaterHolds(t *testing.T) {
	run := func(g *rig, origin string, more ...string) {
		g.from(origin, "POST", "/", input("other", "r", ""), more...)
	}
	type step func(g *rig, b *corsBackend)
	sets := func(f func(b *corsBackend)) step { return func(_ *rig, b *corsBackend) { b.change(f) } }
	runs := func(more ...string) step { return func(g *rig, _ *corsBackend) { run(g, page, more...) } }
	preflights := func(more ...string) step { return func(g *rig, _ *corsBackend) { g.preflight(page, "/", more...) } }
	allowed := sets(func(b *corsBackend) { b.answers, b.prefls = allows(page), allows(page) })
	forbidden := sets(func(b *corsBackend) { b.answers, b.prefls = allows(), allows() })
	for _, tt := range []struct {
		name  string
		steps []step
		own   []string // headers of the request to which Holdpoint itself responds
		want  string
		asked int // number of preflights, without those of the steps
	}{
		{"an answer takes back what an answer said", []step{allowed, runs(), forbidden, runs()}, nil, "", 0},
		{"an answer takes back what a preflight was told", []step{allowed, preflights(), forbidden, runs()}, nil, "", 0},
		{"a preflight takes back what an answer said", []step{allowed, runs(), forbidden, preflights()}, nil, "", 1},
		{"a preflight takes back what was said to somebody with credentials", []step{allowed, runs("Cookie", "a=1"), forbidden, preflights()}, []string{"Cookie", "a=1"}, "", 1},
		{"an answer takes back what was said to somebody else of that origin", []step{allowed, runs("Cookie", "a=1"), forbidden, runs("Cookie", "b=1")}, []string{"Cookie", "a=1"}, "", 1},
		{"an answer allows what a preflight was refused", []step{forbidden, preflights(), allowed, runs()}, nil, page, 0},
		{"a preflight allows what an answer did not", []step{forbidden, runs(), allowed, preflights()}, nil, page, 0},
		{"a failing server takes nothing back", []step{allowed, runs(), sets(func(b *corsBackend) { b.status, b.answers = 500, nil }), runs()}, nil, page, 0},
		{"an error that may be a gateway's has it asked again", []step{allowed, runs(), sets(func(b *corsBackend) { b.status, b.answers = 401, nil }), runs()}, nil, page, 1},
		{"a success that says nothing is a no, whatever preflights are told", []step{allowed, sets(func(b *corsBackend) { b.answers = nil }), runs()}, nil, "", 0},
		{"* is repeated as *", []step{sets(func(b *corsBackend) {
			b.answers = func(*http.Request) http.Header { return http.Header{"Access-Control-Allow-Origin": {"*"}} }
		}), runs()}, nil, "*", 0},
		{"a preflight's * and an answer's origin: the later one", []step{sets(func(b *corsBackend) {
			b.prefls = func(*http.Request) http.Header { return http.Header{"Access-Control-Allow-Origin": {"*"}} }
			b.answers = allows(page)
		}), preflights(), runs()}, nil, page, 0},
		{"another origin's name is no leave", []step{sets(func(b *corsBackend) {
			b.answers = func(*http.Request) http.Header {
				return http.Header{"Access-Control-Allow-Origin": {"https://other.example"}}
			}
		}), runs()}, nil, "", 0},
		{"two origins are no leave", []step{sets(func(b *corsBackend) {
			b.answers = func(*http.Request) http.Header { return http.Header{"Access-Control-Allow-Origin": {page, page}} }
		}), runs()}, nil, "", 0},
		{"what was said to one with credentials is not said to others", []step{sets(func(b *corsBackend) {
			b.answers = func(r *http.Request) http.Header {
				return allows(map[string]string{"tenant=1": page}[r.Header.Get("Cookie")])(r)
			}
		}), runs("Cookie", "tenant=1")}, []string{"Cookie", "tenant=2"}, "", 1},
		{"nor to others with an Authorization", []step{sets(func(b *corsBackend) {
			b.answers = func(r *http.Request) http.Header {
				return allows(map[string]string{"Bearer 1": page}[r.Header.Get("Authorization")])(r)
			}
		}), runs("Authorization", "Bearer 1")}, []string{"Authorization", "Bearer 2"}, "", 1},
		{"what depends on another header is not kept", []step{sets(func(b *corsBackend) {
			b.answers = func(r *http.Request) http.Header {
				h := allows(map[string]string{"1": page}[r.Header.Get("X-Tenant")])(r)
				h.Add("Vary", "Accept-Encoding, X-Tenant")
				return h
			}
		}), runs("X-Tenant", "1")}, nil, "", 1},
		{"nor what depends on nobody knows what", []step{sets(func(b *corsBackend) {
			b.answers = func(r *http.Request) http.Header { h := allows(page)(r); h.Set("Vary", "*"); return h }
		}), runs()}, nil, "", 1},
		{"a preflight with a cookie is no browser's", []step{allowed, preflights("Cookie", "a=1"), sets(func(b *corsBackend) { b.prefls = nil })}, nil, "", 1},
		{"what another host was told is not said here", []step{allowed, runs("Host", "other.example"), sets(func(b *corsBackend) { b.prefls = nil })}, nil, "", 1},
		{"nor what an outer proxy calls another host", []step{allowed, runs("X-Forwarded-Host", "other.example"), sets(func(b *corsBackend) { b.prefls = nil })}, nil, "", 1},
		{"what a page's picture was told is not said to runs", []step{allowed, func(g *rig, _ *corsBackend) { g.from(page, "GET", "/", "") }, sets(func(b *corsBackend) { b.prefls = nil })}, nil, "", 1},
		{"a page of our own origin needs no question", []step{allowed}, []string{"Sec-Fetch-Site", "same-origin"}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &corsBackend{serve: pausesOnce}
			g := newRig(t, b.ServeHTTP)
			g.do(input("t", "r1", ""))
			for _, s := range tt.steps {
				s(g, b)
			}
			before := b.preflights()
			for range 3 { // the second and third time, Holdpoint knows the backend's response
				res, got := g.from(page, "POST", "/", input("t", "r2", ""), tt.own...)
				wantTypes(t, got, "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
				if allow := strings.Join(res.Header["Access-Control-Allow-Origin"], "|"); allow != tt.want {
					t.Errorf("Access-Control-Allow-Origin %q, want %q", allow, tt.want)
				}
			}
			if asked := b.preflights() - before; asked != tt.asked {
				t.Errorf("the backend was asked %d times, want %d", asked, tt.asked)
			}
		})
	}
}

// TestRoutesAreApart: the backend allows an origin at one address. Holdpoint must not allow it at
// another address, even if the two addresses look similar.
func TestRoutesAreApart(t *testing.T) {
	b := &corsBackend{serve: pausesOnce}
	b.answers = func(r *http.Request) http.Header {
		if r.URL.RequestURI() == "/agent/open?k=1" {
			return allows(page)(r)
		}
		return nil
	}
	g := newRig(t, b.ServeHTTP)
	g.from(page, "POST", "/open?k=1", input("other", "r", ""))
	for _, path := range []string{"/open", "/open?k=2", "/Open?k=1", "/open/?k=1", "/op%65n?k=1", "/shut?k=1"} {
		res, _ := g.from(page, "POST", path, `{"threadId":`)
		if allow := res.Header.Get("Access-Control-Allow-Origin"); allow != "" {
			t.Errorf("%s: %q", path, allow)
		}
	}
	if res, _ := g.from(page, "POST", "/open?k=1", `{"threadId":`); res.Header.Get("Access-Control-Allow-Origin") != page {
		t.Error("what was said there is not repeated")
	}
}

// TestOriginsThatNoBrowserWrites: a request has an origin that no browser sends. Holdpoint must not
// repeat it, keep it or ask the backend about it, even if the backend repeats it.
func TestOriginsThatNoBrowserWrites(t *testing.T) {
	b := &corsBackend{serve: pausesOnce}
	b.answers = func(r *http.Request) http.Header { return allows(r.Header.Get("Origin"))(r) }
	b.prefls = b.answers
	g := newRig(t, b.ServeHTTP)
	for _, origin := range []string{"https://" + strings.Repeat("a", cors.MaxOrigin), "*", "https://a.example, https://b.example", "https://a.example https://b.example", "https://\u00e4.example", "https://a.example\ttab"} {
		g.from(origin, "POST", "/", input("other", "r", ""))
		res, got := g.from(origin, "POST", "/", `{"threadId":`)
		if allow := res.Header.Get("Access-Control-Allow-Origin"); allow != "" {
			t.Errorf("%q: %q", origin, allow)
		}
		if strings.Contains(got, "example") || strings.Contains(g.logs.String(), "a.example") {
			t.Errorf("%q stands in the answer or in the log", origin)
		}
	}
	req, _ := http.NewRequest("POST", g.front.URL, strings.NewReader(`{"threadId":`))
	req.Header["Origin"] = []string{page, stranger}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if allow := res.Header["Access-Control-Allow-Origin"]; allow != nil {
		t.Errorf("two origins: %q", allow)
	}
	if n := b.preflights(); n != 0 {
		t.Errorf("%d were asked about", n)
	}
	// All sandboxed frames and all files have the origin null. A backend that allows null allows
	// every one of them.
	g.from("null", "POST", "/", input("other", "r", ""))
	if res, _ := g.from("null", "POST", "/", `{"threadId":`); res.Header.Get("Access-Control-Allow-Origin") != "null" {
		t.Error("null is not repeated")
	}
}

// TestManyPagesAtOnce: pages of several origins send requests at the same time. Each origin must
// get the headers that the backend sent to that origin.
func TestManyPagesAtOnce(t *testing.T) {
	b := &corsBackend{serve: pausesOnce}
	b.answers = func(r *http.Request) http.Header {
		if strings.HasPrefix(r.Header.Get("Origin"), "https://good") {
			return allows(r.Header.Get("Origin"))(r)
		}
		return nil
	}
	b.prefls = func(r *http.Request) http.Header { return b.answers(r) }
	g := newRig(t, b.ServeHTTP)
	var wg sync.WaitGroup
	for n := range 12 {
		origin := fmt.Sprintf("https://%s%d.example", []string{"good", "bad"}[n%2], n)
		wg.Go(func() {
			for i := range 10 {
				want := map[bool]string{true: origin}[strings.HasPrefix(origin, "https://good")]
				body := []string{`{"threadId":`, input(origin, "r", "")}[i%2]
				res, _ := g.from(origin, "POST", "/", body, "Cookie", []string{"a=1", "a=2", "a=3"}[i%3])
				if got := strings.Join(res.Header["Access-Control-Allow-Origin"], "|"); got != want {
					t.Errorf("a page of %s gets %q", origin, got)
				}
			}
		})
	}
	wg.Wait()
}

// TestTheWordOfABackendGrowsOld: after ten minutes Holdpoint must ask the backend again whether an
// origin is allowed. If the backend does not respond, the backend's earlier permission must stay in
// force.
func TestTheWordOfABackendGrowsOld(t *testing.T) {
	var mu sync.Mutex
	now := time.Now()
	pass := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	b := &corsBackend{serve: pausesOnce, answers: allows(page), prefls: allows(page)}
	g := newRig(t, b.ServeHTTP, func(o *Options) { o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now } })
	g.from(page, "POST", "/", input("other", "r", ""))
	ask := func(want string, asked bool) {
		t.Helper()
		before := b.preflights()
		res, _ := g.from(page, "POST", "/", `{"threadId":`)
		if allow := res.Header.Get("Access-Control-Allow-Origin"); allow != want || (b.preflights() > before) != asked {
			t.Errorf("Access-Control-Allow-Origin %q, want %q; asked %d times, want %t", allow, want, b.preflights()-before, asked)
		}
	}
	pass(cors.AllowanceAge - time.Second)
	ask(page, false)
	pass(2 * time.Second)
	ask(page, true)
	ask(page, false)
	pass(cors.AllowanceAge + time.Second)
	b.change(func(b *corsBackend) {
		b.prefls = func(*http.Request) http.Header { panic(http.ErrAbortHandler) }
	})
	ask(page, true)
	b.change(func(b *corsBackend) { b.prefls = allows() })
	ask("", true)
	ask("", false)
}

// TestThePreflightIsABrowsers: the preflight that Holdpoint sends to the backend must contain
// nothing of the client's own request, and must not start a run.
func TestThePreflightIsABrowsers(t *testing.T) {
	b := &corsBackend{serve: pausesOnce, prefls: allows(page)}
	g := newRig(t, b.ServeHTTP, func(o *Options) {
		o.UpstreamHeaders = http.Header{"X-Secret": {"s"}}
	})
	res, _ := g.from(page, "POST", "/?k=1", `{"threadId":`, "Authorization", "Bearer x", "Cookie", "a=1", "X-Api-Key", "k", "User-Agent", "browser", "X-Forwarded-Host", "agent.example", "X-Forwarded-For", "192.0.2.1")
	if allow := res.Header.Get("Access-Control-Allow-Origin"); allow != page {
		t.Errorf("Access-Control-Allow-Origin %q", allow)
	}
	if b.preflights() != 1 || g.called() != 1 {
		t.Fatalf("%d preflights, %d requests", b.preflights(), g.called())
	}
	got := b.preflown[0]
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Content-Type", "Access-Control-Request-Headers"} {
		if v := got.Header[name]; v != nil {
			t.Errorf("the preflight has %s %q", name, v)
		}
	}
	for name, want := range map[string]string{"Origin": page, "Access-Control-Request-Method": "POST", "User-Agent": "browser", "X-Forwarded-Host": "agent.example", "X-Forwarded-For": "192.0.2.1, 127.0.0.1", "X-Secret": "s"} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("the preflight has %s %q, want %q", name, v, want)
		}
	}
	if got.Method != "OPTIONS" || got.URL.RequestURI() != "/agent?k=1" || got.ContentLength != 0 {
		t.Errorf("%s %s, %d bytes", got.Method, got.URL, got.ContentLength)
	}
}

// TestAskingIsBounded: before Holdpoint refuses a request of a page of another origin, it asks the
// backend by a preflight whether that page may read the response. If the backend does not respond,
// the refusal must still be sent within two seconds.
func TestAskingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, _ := url.Parse("http://backend.example")
		h, err := New(Options{Upstream: up, Dialect: &fakeDialect{}, Store: memory.New(memory.Options{Entries: 1, ReplayTTL: time.Hour, PauseRetention: time.Hour}),
			Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, context.Cause(req.Context())
			})})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			req := httptest.NewRequest("POST", "/", strings.NewReader(`{"threadId":`))
			req.Header.Set("Origin", page)
			req.Header.Set("Content-Type", "application/json")
			began, w := time.Now(), httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if took := time.Since(began); took != cors.AskTimeout || w.Code != 400 || w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%d after %v, want %v; %v", w.Code, took, cors.AskTimeout, w.Header())
			}
		}
	})
}

// TestTheSecondExchangeIsHeardToo: a run may send two requests to the backend. The headers of the
// second request's response must count.
func TestTheSecondExchangeIsHeardToo(t *testing.T) {
	b := &corsBackend{serve: pausesOnce, prefls: allows()}
	b.answers = func(r *http.Request) http.Header {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("second")) {
			return nil
		}
		return allows(page)(r)
	}
	g := newRig(t, b.ServeHTTP)
	g.dialect.end = func(n int, _ translate.End) (translate.Result, error) {
		if n == 1 {
			return translate.Result{Next: &translate.Exchange{Out: translate.Out{Body: []byte(`{"second":true}`)}}}, nil
		}
		return translate.Result{}, nil
	}
	g.from(page, "POST", "/", input("t", "r", ""))
	if res, _ := g.from(page, "POST", "/", `{"threadId":`); res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("the first answer's word is repeated, which the second one took back")
	}
}
