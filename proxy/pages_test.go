package proxy

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/proxy/internal/cors"
)

// A pageRig is a Holdpoint and its backend, with a clock that the test sets. Its requests come from
// a page of another origin. If the test restarts Holdpoint, the new one uses the same store, as
// another replica does.
type pageRig struct {
	*rig
	backend *corsBackend
	mu      sync.Mutex
	time    time.Time
}

func newPageRig(t *testing.T, change ...func(*Options)) *pageRig {
	d := &pageRig{backend: &corsBackend{serve: pausesOnce}, time: time.Now()}
	d.rig = newRig(t, d.backend.ServeHTTP, append(change, func(o *Options) {
		o.Now = func() time.Time { d.mu.Lock(); defer d.mu.Unlock(); return d.time }
	})...)
	return d
}

// TestNoPageIsWorseOffThanDirect: Holdpoint itself makes the response to a page's request. The page
// must be able to read it exactly if the page could read the backend's response to the same
// request. A browser sends no preflight if it remembers the response to an earlier preflight, or if
// the request needs none. The table has the exceptions.
func TestNoPageIsWorseOffThanDirect(t *testing.T) {
	const token, other = "Bearer of the page", "Bearer of another person"
	type step func(d *pageRig)
	says := func(answers, preflights func(*http.Request) http.Header) step {
		return func(d *pageRig) {
			d.backend.change(func(b *corsBackend) { b.answers, b.prefls = answers, preflights })
		}
	}
	runs := func(origin, token string) step {
		return func(d *pageRig) {
			d.from(origin, "POST", "/", input("other", "r", ""), "Host", "agent.example", "Authorization", token)
		}
	}
	allowed, forbidden := says(allows(page), allows(page)), says(allows(), allows())
	preflight := step(func(d *pageRig) { d.preflight(page, "/", "Host", "agent.example") })
	restarts := step(func(d *pageRig) {
		o := d.h.opts
		o.Store = d.store
		d.rig = again(d.rig, o)
	})
	passes := func(by time.Duration) step {
		return func(d *pageRig) { d.mu.Lock(); defer d.mu.Unlock(); d.time = d.time.Add(by) }
	}
	// fails returns a step that puts a failing gateway in front of the backend. The gateway answers
	// runs with this status. Preflights still reach the backend.
	fails := func(status int) step {
		return func(d *pageRig) { d.backend.change(func(b *corsBackend) { b.status, b.answers = status, nil }) }
	}
	down := step(func(d *pageRig) {
		d.backend.change(func(b *corsBackend) {
			b.answers = func(*http.Request) http.Header { panic(http.ErrAbortHandler) }
			b.prefls = b.answers
		})
	})
	byToken := func(r *http.Request) http.Header {
		return allows(map[string]string{token: page}[r.Header.Get("Authorization")])(r)
	}
	for _, c := range []struct {
		name   string
		steps  []step // the steps before the two requests
		header []string
		// number of preflights that Holdpoint sends for the two requests; -1 if net/http may repeat
		// them
		asks   int
		direct bool // the page could read the backend's response
		unlike bool // for Holdpoint's response, the opposite holds
	}{
		{"an answer has passed", []step{allowed, runs(page, token)}, nil, 0, true, false},
		{"an answer has passed, and allowed nothing", []step{forbidden, runs(page, token)}, nil, 0, false, false},
		{"the browser's preflight has passed", []step{allowed, preflight}, nil, 0, true, false},
		{"a preflight has passed, and allowed nothing", []step{forbidden, preflight}, nil, 1, false, false},
		{"a restart, and the browser's preflight", []step{allowed, runs(page, token), restarts, preflight}, nil, 0, true, false},
		{"a restart, and the browser still knows its preflight's answer", []step{allowed, preflight, restarts}, nil, 1, true, false},
		{"a restart, and the backend allows nothing any more", []step{allowed, runs(page, token), restarts, forbidden}, nil, 1, false, false},
		{"another replica had the preflight", []step{allowed, restarts}, nil, 1, true, false},
		{"the request needs no preflight", []step{allowed}, []string{"Content-Type", "text/plain"}, 1, true, false},
		{"nor does the backend answer any", []step{says(allows(page), nil)}, []string{"Content-Type", "text/plain"}, 1, true, true},
		{"nor does it, and an answer has passed", []step{says(allows(page), nil), runs(page, token)}, []string{"Content-Type", "text/plain"}, 0, true, false},
		{"it was long ago", []step{allowed, runs(page, token), passes(cors.AllowanceAge)}, nil, 1, true, false},
		{"it was long ago, and is taken back", []step{allowed, runs(page, token), passes(cors.AllowanceAge), forbidden}, nil, 1, false, false},
		{"it is taken back, and nothing has said so yet", []step{allowed, runs(page, token), passes(cors.AllowanceAge - 1), forbidden}, nil, 0, false, true},
		{"it is taken back by an answer", []step{allowed, preflight, forbidden, runs(page, token)}, nil, 0, false, false},
		{"it is taken back by an error", []step{allowed, preflight, forbidden, fails(403), runs(page, token)}, nil, 1, false, false},
		{"a gateway's error says nothing of the origin", []step{allowed, preflight, fails(401), runs(page, token), allowed}, nil, 1, true, false},
		{"nor does a failure", []step{allowed, preflight, fails(502), runs(page, token), allowed}, nil, 0, true, false},
		{"another person's answer has passed", []step{allowed, runs(page, other)}, nil, 1, true, false},
		{"another person's answer has passed, and preflights allow nothing", []step{says(allows(page), allows()), runs(page, other), forbidden}, nil, 1, false, false},
		{"only another person may read", []step{says(byToken, allows()), runs(page, token)}, []string{"Authorization", other}, 1, false, false},
		{"only this person may read", []step{says(byToken, allows(page)), preflight, runs(page, token), runs(page, other)}, nil, 1, true, false},
		{"another origin's answer has passed", []step{says(allows(stranger), allows(stranger)), runs(stranger, token)}, nil, 1, false, false},
		{"answers allow nothing, whatever preflights do", []step{says(allows(), allows(page)), runs(page, token)}, nil, 0, false, false},
		{"the backend is down", []step{allowed, down}, nil, -1, false, false},
		{"the backend is down, and has allowed it", []step{allowed, preflight, down}, nil, 0, false, true},
		{"the backend is down, and has allowed it long ago", []step{allowed, preflight, passes(cors.AllowanceAge), down}, nil, -1, false, true},
		{"a page of Holdpoint's own origin", []step{says(nil, nil)}, []string{"Sec-Fetch-Site", "same-origin"}, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newPageRig(t)
			for _, s := range c.steps {
				s(d)
			}
			header := append([]string{"Host", "agent.example", "Authorization", token}, c.header...)
			direct := func() (readable bool) {
				defer func() { recover() }() // the backend is down and panics
				req := httptest.NewRequest("POST", "/agent", strings.NewReader(input("other", "r", "")))
				req.Header.Set("Origin", page)
				for i := 0; i < len(header); i += 2 {
					req.Header.Set(header[i], header[i+1])
				}
				w := httptest.NewRecorder()
				d.backend.ServeHTTP(w, req, 1)
				return slices.Contains([]string{page, "*"}, w.Header().Get("Access-Control-Allow-Origin"))
			}()
			if direct != c.direct {
				t.Errorf("direct the page can read: %t", direct)
			}
			before := d.backend.preflights()
			for range 2 {
				res, got := d.from(page, "POST", "/", input("t", "r2", resumeWith(yes("n1~nobody"))), header...)
				if !strings.Contains(types(got), "RUN_ERROR:UNKNOWN_INTERRUPT_ID") {
					t.Errorf("this is no answer of Holdpoint's own:\n%s", got)
				}
				readable := res.Header.Get("Access-Control-Allow-Origin") == page
				if (readable != direct) != c.unlike {
					t.Errorf("behind Holdpoint the page can read: %t, direct: %t", readable, direct)
				}
			}
			if asked := d.backend.preflights() - before; asked != c.asks && c.asks >= 0 {
				t.Errorf("Holdpoint asked %d times, want %d", asked, c.asks)
			}
		})
	}
}

// again returns a rig like g, but with a new Handler that has the options o.
func again(g *rig, o Options) *rig {
	g.t.Helper()
	h, err := New(o)
	if err != nil {
		g.t.Fatal(err)
	}
	next := &rig{t: g.t, h: h, store: g.store, dialect: g.dialect, logs: g.logs, front: httptest.NewServer(h)}
	g.t.Cleanup(next.front.Close)
	return next
}
