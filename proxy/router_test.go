package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/store/memory"
)

// A crossroads is a Router whose agents return their name and the path of each request.
type crossroads struct {
	*httptest.Server
	agents []*Handler
}

// newCrossroads returns a crossroads with one agent for each prefix. The agent has the prefix as
// its name, and the URL of its backend has the path /up.
func newCrossroads(t *testing.T, o RouterOptions, prefixes ...string) *crossroads {
	t.Helper()
	c := &crossroads{}
	kept := memory.New(memory.Options{Entries: 100, ReplayTTL: time.Hour, PauseRetention: time.Hour})
	for _, prefix := range prefixes {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("nothing") {
				http.Error(w, "nothing here", http.StatusNotFound)
				return
			}
			if to := r.URL.Query().Get("to"); to != "" {
				w.Header().Set("Location", strings.ReplaceAll(to, "SELF", "http://"+r.Host))
				w.WriteHeader(http.StatusTemporaryRedirect)
				return
			}
			w.Header().Set("Set-Cookie", "s=1; Path=/up")
			w.Header().Set("X-Asked", fmt.Sprint(r.Header))
			w.Header().Set("Access-Control-Allow-Origin", "https://"+strings.Trim(prefix, "/")+".example")
			io.WriteString(w, "["+prefix+"] "+r.URL.EscapedPath())
		}))
		t.Cleanup(backend.Close)
		up, _ := url.Parse(backend.URL + "/up")
		h, err := New(Options{Upstream: up, Dialect: &fakeDialect{}, Store: kept, Agent: prefix, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		c.agents = append(c.agents, h)
	}
	o.Agents = c.agents
	rt, err := NewRouter(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Server = httptest.NewServer(rt)
	t.Cleanup(c.Close)
	return c
}

// get sends a request. The parameter target becomes the request target exactly as it is.
func (c *crossroads) get(t *testing.T, method, target string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, c.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = target
	if strings.HasPrefix(target, "//") {
		req.URL.Opaque = c.URL + target // otherwise the target would name another host
	}
	req.Header = header
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestRoutes: the Router sends a request to the agent with the longest prefix that matches. It
// compares prefixes by whole segments, and removes the prefix from the path. If a server could read
// the path as one below another prefix, the Router must refuse the request.
func TestRoutes(t *testing.T) {
	const nobody, unclear = "404", "400"
	// with: a Router that also has an agent for all other paths; without: a Router that has no such
	// agent
	for _, tt := range []struct{ target, with, without string }{
		{"/a", "[/a] /up", ""},
		{"/a/", "[/a] /up", ""},
		{"/a?x=1", "[/a] /up", ""},
		{"/a/b", "[/a] /up/b", ""},
		{"/a/b/", "[/a] /up/b/", ""},
		{"/a/b%2Fc", "[/a] /up/b%2Fc", ""},
		{"/a/b%20c", "[/a] /up/b%20c", ""},
		{"/a//b", "[/a] /up//b", ""},
		{"/a/B", "[/a] /up/B", ""},
		{"/a/longer", "[/a/longer] /up", ""},
		{"/a/longer/x", "[/a/longer] /up/x", ""},
		{"/a/longest", "[/a] /up/longest", ""},
		{"/Team.1/x", "[/Team.1] /up/x", ""},

		{"/", "[] /up", nobody},
		{"/ab", "[] /up/ab", nobody},
		{"/c/a", "[] /up/c/a", nobody},
		{"/%61b", "[] /up/%61b", nobody},

		{"/A", unclear, unclear},
		{"/a%2Fb", unclear, unclear},
		{"/%61/b", unclear, unclear},
		{"//a/b", unclear, unclear},
		{"/a;x/b", unclear, unclear},
		{`/a%5Cb`, unclear, unclear},
		{"/a//longer", unclear, unclear},
		{"/a/longer%2Fx", unclear, unclear},
		{"/a/Longer", unclear, unclear},
		{"/team.1/x", unclear, unclear},
		{"/a/../x", unclear, unclear},
		{"/x/../a", unclear, unclear},
		{"/a/%2e%2e/x", unclear, unclear},
		{"/a/..%2fx", unclear, unclear},
		{"/a/./b", unclear, unclear},
		{"/a/..;/x", unclear, unclear},
		{"/a;/../x", unclear, nobody},
		{"/%E2%84%AAiosk", unclear, unclear}, // U+212A (kelvin), whose lower case is k
		{"/kiosk", "[/kiosk] /up", ""},
	} {
		if tt.without == "" {
			tt.without = tt.with
		}
		for _, all := range []bool{true, false} {
			prefixes, want := []string{"/a", "/Team.1", "/a/longer", "/kiosk"}, tt.without
			if all {
				prefixes, want = append(prefixes, ""), tt.with
			}
			c := newCrossroads(t, RouterOptions{}, prefixes...)
			res, got := c.get(t, "GET", tt.target, http.Header{})
			if res.StatusCode != http.StatusOK {
				got = res.Status[:3]
			}
			if got != want {
				t.Errorf("%s, an agent of all others: %v: %q, want %q", tt.target, all, got, want)
			}
		}
	}
}

// TestNoAgentAtAPath: if no agent has the path of a request, the client gets 404, and a browser at
// "/" gets a page. Neither response lists the agents. A browser that opens the path of an agent
// gets the page of that agent.
func TestNoAgentAtAPath(t *testing.T) {
	c := newCrossroads(t, RouterOptions{}, "/billing", "/support")
	for _, tt := range []struct{ method, target, accept, media, says string }{
		{"GET", "/", "text/html,*/*", "text/html; charset=utf-8", "Here are agents that speak AG-UI"},
		{"GET", "/", "*/*", "application/json", "no agent is at this path"},
		{"POST", "/", "text/html", "application/json", "no agent is at this path"},
		{"GET", "/x", "text/html", "application/json", "no agent is at this path"},
		{"GET", "/support?nothing", "text/html", "text/html; charset=utf-8", "Here is an agent that speaks AG-UI"},
		{"GET", "/support?nothing", "*/*", "text/plain; charset=utf-8", "nothing here"},
	} {
		res, body := c.get(t, tt.method, tt.target, http.Header{"Accept": {tt.accept}})
		if res.StatusCode != http.StatusNotFound || res.Header.Get("Content-Type") != tt.media || !strings.Contains(body, tt.says) {
			t.Errorf("%v: %d %s %s", tt, res.StatusCode, res.Header.Get("Content-Type"), body)
		}
		if strings.Contains(body, "billing") || strings.Contains(body, "127.0.0.1") {
			t.Errorf("%v: it tells %s", tt, body)
		}
	}
}

// TestOriginsOfRoutes: if one agent's backend allows an origin, that origin is allowed only for
// this agent. For responses that the Router makes itself, only the operator can allow origins.
func TestOriginsOfRoutes(t *testing.T) {
	page := http.Header{"Origin": {"https://a.example"}}
	allows := func(res *http.Response) string { return res.Header.Get("Access-Control-Allow-Origin") }
	c := newCrossroads(t, RouterOptions{}, "/a", "/b")
	for target, want := range map[string]string{"/a": "https://a.example", "/b": "https://b.example", "/": ""} {
		if res, _ := c.get(t, "GET", target, page); allows(res) != want {
			t.Errorf("%s allows %q, want %q", target, allows(res), want)
		}
	}
	c = newCrossroads(t, RouterOptions{AllowOrigins: []string{"https://a.example"}}, "/a", "/b")
	if res, _ := c.get(t, "GET", "/", page); res.StatusCode != http.StatusNotFound || allows(res) != "https://a.example" {
		t.Errorf("%d allows %q", res.StatusCode, allows(res))
	}
	preflight := http.Header{"Origin": {"https://a.example"}, "Access-Control-Request-Method": {"POST"}}
	if res, _ := c.get(t, "OPTIONS", "/", preflight); res.StatusCode != http.StatusNoContent || allows(res) != "https://a.example" {
		t.Errorf("a preflight: %d allows %q", res.StatusCode, allows(res))
	}
	if res, _ := c.get(t, "GET", "/", http.Header{"Origin": {"https://evil.example"}}); allows(res) != "" {
		t.Errorf("everybody's page is allowed: %q", allows(res))
	}
}

// TestLocationBelowAPrefix: if an agent's backend redirects to one of its own paths, the client
// must be redirected to that path of the same agent.
func TestLocationBelowAPrefix(t *testing.T) {
	c := newCrossroads(t, RouterOptions{}, "/a", "")
	for _, tt := range []struct{ at, to, want string }{
		{"/a", "SELF/up/runs/", "HERE/a/runs/"},
		{"/a", "SELF/up", "HERE/a/"},
		{"/a", "SELF/elsewhere", "HERE/elsewhere"}, // a path that is not below the agent's
		{"/a", "/up/runs?x=1", "/a/runs?x=1"},
		{"/a", "/up//x.example", "/a//x.example"},
		{"/a", "/upper", "/upper"},
		{"/a", "runs", "runs"},
		{"/a", "//x.example/up", "//x.example/up"},
		{"/a", "https://x.example/up", "https://x.example/up"},
		{"/x", "SELF/up/runs", "HERE/runs"},
		{"/x", "/up/runs", "/up/runs"},
	} {
		res, _ := c.get(t, "GET", tt.at+"?to="+url.QueryEscape(tt.to), http.Header{})
		if got := strings.ReplaceAll(res.Header.Get("Location"), c.URL, "HERE"); got != tt.want {
			t.Errorf("%s: Location %s became %s, want %s", tt.at, tt.to, got, tt.want)
		}
	}
}

// TestCookiesOfRoutes: the Router forwards cookies unchanged. No header of the request tells the
// backend the prefix.
func TestCookiesOfRoutes(t *testing.T) {
	c := newCrossroads(t, RouterOptions{}, "/somewhere")
	res, _ := c.get(t, "GET", "/somewhere", http.Header{})
	if got := res.Header.Get("Set-Cookie"); got != "s=1; Path=/up" {
		t.Errorf("the cookie became %q", got)
	}
	if got := res.Header.Get("X-Asked"); got == "" || strings.Contains(got, "somewhere") {
		t.Errorf("the backend was told %s", got)
	}
}

// TestRoutesThatAreRefused: NewRouter refuses agents that it could not distinguish.
func TestRoutesThatAreRefused(t *testing.T) {
	up, _ := url.Parse("http://127.0.0.1:1")
	newAgent := func(name, prefix string) *Handler {
		h, err := New(Options{Upstream: up, Dialect: &fakeDialect{}, Store: memory.New(memory.Options{}), Agent: name, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for why, agents := range map[string][]*Handler{
		"no agents":                       nil,
		"two agents below":                {newAgent("a", "/x"), newAgent("b", "/X")},
		"two agents of one":               {newAgent("a", "/x"), newAgent("a", "/y")},
		`two agents of one ` + `name, ""`: {newAgent("", "/x"), newAgent("", "/y")},
	} {
		if _, err := NewRouter(RouterOptions{Agents: agents}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
	for prefix, says := range map[string]string{
		"a": "begins with a slash", "/": "at the end", "/a/": "at the end", "/a//b": "two slashes", "/a/../b": "segment of dots", "/.": "segment of dots",
		"/a%2Fb": `not "%"`, "/a b": `not " "`, "/ä": `not "ä"`, "/a;b": `not ";"`, "/a?b": `not "?"`,
	} {
		if _, err := New(Options{Upstream: up, Dialect: &fakeDialect{}, Store: memory.New(memory.Options{}), Prefix: prefix}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", prefix, err, says)
		}
	}
}

// TestRoutesShare: the agents of one Router share one limit on the memory for request bodies. A
// drain of the Router drains all of them.
func TestRoutesShare(t *testing.T) {
	c := newCrossroads(t, RouterOptions{}, "/a", "/b")
	if c.agents[0].intake.Room != c.agents[1].intake.Room {
		t.Error("each agent has the memory for all bodies")
	}
	rt, err := NewRouter(RouterOptions{Agents: c.agents})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range c.agents {
		l := &runLife{}
		if !l.enter(&h.runs, t.Context()) {
			t.Fatal("no run begins")
		}
		go func() {
			<-l.ctx.Done()
			if !errors.Is(context.Cause(l.ctx), errDraining) {
				t.Errorf("a run ended by %v", context.Cause(l.ctx))
			}
			l.leave(nil, nil)
		}()
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rt.Drain(over); err != nil {
		t.Error(err)
	}
	for _, h := range c.agents {
		if (&runLife{}).enter(&h.runs, t.Context()) {
			t.Error("a run begins after the drain")
		}
	}
	if !slices.Contains(c.agents, rt.agents[0]) {
		t.Error("the Router has other agents")
	}
}
