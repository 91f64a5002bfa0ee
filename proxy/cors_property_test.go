package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdpoint/proxy/internal/cors"
	"holdpoint/store/memory"
)

// TestNoLeaveIsInvented drives a Handler through random sequences of preflights, runs and refusals.
// What the backend allows depends on the address, the origin and the cookie, and changes over time.
//
// A place is an origin and an address. Holdpoint's own responses must allow at a place exactly what
// the backend last allowed there, either in its response to a preflight or in its response to a
// request with the same cookie. They must allow nothing if the backend has allowed nothing at this
// place. The same holds if its last response at this place, with whatever cookie, allowed nothing.
func TestNoLeaveIsInvented(t *testing.T) {
	type place struct{ origin, path, host string }
	places := []place{{page, "/", "one.example"}, {stranger, "/", "one.example"}, {page, "/?x=1", "one.example"}, {page, "/", "two.example"}}
	cookies := []string{"", "a=1", "a=2"}
	type word struct {
		order int
		allow string // Access-Control-Allow-Origin, or ""
	}
	const toPreflight = "preflight"
	rapid.Check(t, func(t *rapid.T) {
		now := time.Now()
		type policy struct {
			preflight string            // Access-Control-Allow-Origin, or ""
			answers   map[string]string // the same for other requests, by cookie
			status    int               // status of a response that allows nothing
		}
		// The inner key of words is the cookie of the request, or toPreflight for a preflight.
		says, words := map[place]policy{}, map[place]map[string]word{}
		failing, order := false, 0
		backend := roundTripper(func(req *http.Request) (*http.Response, error) {
			at := place{req.Header.Get("Origin"), strings.TrimPrefix(req.URL.RequestURI(), "/agent"), req.Header.Get("X-Forwarded-Host")}
			if !strings.HasPrefix(at.path, "/") {
				at.path = "/" + at.path
			}
			p, header, status := says[at], http.Header{}, http.StatusOK
			allow, to := p.preflight, toPreflight
			if !cors.IsPreflight(req) {
				to = req.Header.Get("Cookie")
				allow = p.answers[to]
				header.Set("Content-Type", "text/event-stream")
				header.Set("Vary", "Origin")
			}
			if allow == "" && p.status != 0 {
				status = p.status
			}
			if failing {
				status, allow = http.StatusBadGateway, ""
				// What the backend allows for a GET counts only for that GET.
			} else if req.Method != http.MethodGet {
				if words[at] == nil {
					words[at] = map[string]word{}
				}
				order++
				words[at][to] = word{order, allow}
			}
			if allow != "" {
				header.Set("Access-Control-Allow-Origin", allow)
			}
			return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(streamOf(started, finished))), Request: req, ContentLength: -1}, nil
		})
		up, _ := url.Parse("http://backend.example/agent")
		h, err := New(Options{Upstream: up, Dialect: &fakeDialect{}, Transport: backend, Now: func() time.Time { return now },
			Store: memory.New(memory.Options{Entries: 100, ReplayTTL: time.Hour, PauseRetention: time.Hour})})
		if err != nil {
			t.Fatal(err)
		}
		draw := func(t *rapid.T) place { return rapid.SampledFrom(places).Draw(t, "place") }
		send := func(at place, method, body string, more ...string) *httptest.ResponseRecorder {
			req := httptest.NewRequest(method, at.path, strings.NewReader(body))
			req.Host = at.host
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Origin", at.origin)
			for i := 0; i < len(more); i += 2 {
				if more[i+1] != "" {
					req.Header.Set(more[i], more[i+1])
				}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			return w
		}
		t.Repeat(map[string]func(*rapid.T){
			"the backend says": func(t *rapid.T) {
				at := draw(t)
				leave := rapid.SampledFrom([]string{"", at.origin, "*", "https://somebody.example"})
				p := policy{preflight: leave.Draw(t, "preflight"), answers: map[string]string{}, status: rapid.SampledFrom([]int{0, 204, 401, 404}).Draw(t, "status")}
				for _, c := range cookies {
					p.answers[c] = leave.Draw(t, "answer")
				}
				says[at] = p
			},
			"the backend fails": func(t *rapid.T) { failing = rapid.Bool().Draw(t, "failing") },
			"a preflight": func(t *rapid.T) {
				send(draw(t), http.MethodOptions, "", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type")
			},
			"a run": func(t *rapid.T) {
				send(draw(t), http.MethodPost, input("t", "r", ""), "Cookie", rapid.SampledFrom(cookies).Draw(t, "cookie"))
			},
			"a picture": func(t *rapid.T) { send(draw(t), http.MethodGet, "") },
			"time passes": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Second, cors.AllowanceAge + 1}).Draw(t, "time"))
			},
			"a refusal": func(t *rapid.T) {
				at, cookie := draw(t), rapid.SampledFrom(cookies).Draw(t, "cookie")
				w := send(at, http.MethodPost, `{"threadId":`, "Cookie", cookie)
				if w.Code != http.StatusBadRequest {
					t.Fatalf("%d %s", w.Code, w.Body)
				}
				// To write its refusal, Holdpoint may have sent a preflight. The response to this
				// preflight counts too.
				var last, any word
				for to, said := range words[at] {
					if said.order > any.order {
						any = said
					}
					if (to == toPreflight || to == cookie) && said.order > last.order {
						last = said
					}
				}
				want := last.allow
				if want != "*" && want != at.origin || any.allow != "*" && any.allow != at.origin {
					want = ""
				}
				got := w.Header().Get("Access-Control-Allow-Origin")
				if got != "" && got != want || got != want && !failing {
					t.Fatalf("%+v with cookie %q gets %q, want %q (failing: %t)", at, cookie, got, want, failing)
				}
			},
		})
	})
}
