package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// routesConfig loads the settings from these variables, which are given as NAME=VALUE without
// HOLDPOINT_.
func routesConfig(set ...string) (*settings, error) {
	for n := range set {
		set[n] = prefix + set[n]
	}
	return load(set, dialects.All())
}

// billing returns the variables of route 0, and support those of route 1.
func billing() []string {
	return []string{"ROUTES_0_PATH=/billing", "ROUTES_0_NAME=billing", "ROUTES_0_UPSTREAM=http://localhost:8000/agent"}
}

func support() []string {
	return []string{"ROUTES_1_PATH=/support", "ROUTES_1_NAME=support", "ROUTES_1_UPSTREAM=http://localhost:9000"}
}

// TestRouteInherits: if a variable is not set for a route, the route uses the value of the process.
// The exceptions are the name and the variables about the backend, such as its headers: a route
// does not inherit them.
func TestRouteInherits(t *testing.T) {
	headers := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(headers, []byte("Authorization: Bearer hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := slices.Concat(billing(), support(), []string{
		"UPSTREAM=http://localhost:7000", "NAME=mail", "UPSTREAM_HEADERS_FILE=" + headers, "DESK_LISTEN=127.0.0.1:0", "DESK_TOKEN=" + deskToken, "DESK_HEADERS_FILE=" + headers, "DIALECT=langgraph", "CLIENT=native", "CORS_ORIGINS=https://a.example",
		"CANCEL=null", "PRESERVE_HOST=true",
		"ROUTES_1_DIALECT=superagent", "ROUTES_1_SUPERAGENT_AGENT_ID=a1", "ROUTES_1_CLIENT=both", "ROUTES_1_CANCEL=false", "ROUTES_1_CORS_ORIGINS=https://b.example",
		"ROUTES_1_PRESERVE_HOST=",
	})
	c, err := routesConfig(set...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range c.settings() {
		got[strings.TrimPrefix(s.name, prefix)] = s.String()
	}
	for name, want := range map[string]string{
		"NAME": "mail", "ROUTES_0_NAME": "billing", "ROUTES_0_PATH": "/billing", "ROUTES_0_UPSTREAM": "http://localhost:8000/agent",
		"ROUTES_0_UPSTREAM_HEADERS_FILE": "(none)", "ROUTES_0_DESK_HEADERS_FILE": "(none)", "ROUTES_0_DIALECT": "langgraph (for all)", "ROUTES_0_CLIENT": "native (for all)",
		"ROUTES_0_CORS_ORIGINS": "https://a.example (for all)", "ROUTES_0_PRESERVE_HOST": "true (for all)",
		"ROUTES_1_DIALECT": "superagent", "ROUTES_1_CLIENT": "both", "ROUTES_1_CORS_ORIGINS": "https://b.example", "ROUTES_1_PRESERVE_HOST": "true (for all)",
		"ROUTES_1_SUPERAGENT_AGENT_ID": "a1", "ROUTES_1_CANCEL": "false", "CANCEL": "null",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, there := got["ROUTES_0_CANCEL"]; there {
		t.Error("an option of a dialect is shown that the route does not have for itself")
	}
	if m := newHandlerMaker(c, memory.New(memory.Options{}), slog.New(slog.DiscardHandler)); c.agent.headers == nil || c.routes[0].headers != nil || m.otherDoors(&c.agent).Headers == nil || m.otherDoors(&c.routes[0].Agent).Headers != nil {
		t.Error("a backend gets the credentials of another")
	}
	if names := c.agentNames(); !slices.Equal(names, []string{"mail", "billing", "support"}) {
		t.Errorf("agents %q", names)
	}
	for n, want := range []string{"null", "false"} {
		for _, v := range c.routes[n].dialects.Variables() {
			if strings.HasSuffix(v.Name, "_CANCEL") && v.Value != want {
				t.Errorf("route %d: %s is %s, want %s", n, v.Name, v.Value, want)
			}
		}
	}
}

// TestRoutesWithoutAnUpstream: if there is a route, HOLDPOINT_UPSTREAM need not be set.
func TestRoutesWithoutAnUpstream(t *testing.T) {
	c, err := routesConfig(append(billing(), "DIALECT=superagent", "ROUTES_0_SUPERAGENT_AGENT_ID=a1")...)
	if err != nil {
		t.Fatal(err)
	}
	if names := c.agentNames(); !slices.Equal(names, []string{"billing"}) {
		t.Errorf("agents %q", names)
	}
	if _, err := routesConfig("ROUTES_0_PATH=/", "ROUTES_0_NAME=billing", "ROUTES_0_UPSTREAM=http://localhost:8000"); err != nil {
		t.Errorf("a route of all paths: %v", err)
	}
}

func TestBadRoutes(t *testing.T) {
	for _, tt := range []struct {
		set  []string
		want []string // beginnings of the errors, after "config: HOLDPOINT_"
	}{
		{[]string{"ROUTES_0_PATH=/billing"}, []string{"ROUTES_0_NAME is not set, want a name for the agent", "ROUTES_0_UPSTREAM is not set, want the address of its backend"}},
		{[]string{"ROUTES_0_NAME=b", "ROUTES_0_UPSTREAM=http://x"}, []string{"ROUTES_0_PATH is not set, want the path below which the agent is, such as /billing"}},
		{slices.Concat(billing(), []string{"ROUTES_2_PATH=/c", "ROUTES_2_NAME=c", "ROUTES_2_UPSTREAM=http://x"}), []string{"ROUTES_2_PATH: there is no HOLDPOINT_ROUTES_1_PATH: number the routes from 0, without a gap"}},
		{support(), []string{"ROUTES_1_PATH: there is no HOLDPOINT_ROUTES_0_PATH"}},
		{append(billing(), "ROUTES_0_UPSTREM=http://x"), []string{"ROUTES_0_UPSTREM is not a variable of Holdpoint, did you mean HOLDPOINT_ROUTES_0_UPSTREAM?"}},
		{append(billing(), "ROUTE_0_PATH=/x"), []string{"ROUTE_0_PATH is not a variable of Holdpoint, did you mean HOLDPOINT_ROUTES_0_PATH?"}},
		{append(billing(), "ROUTES_00_PATH=/x"), []string{"ROUTES_00_PATH is not a variable of Holdpoint, did you mean HOLDPOINT_ROUTES_0_PATH?"}},
		{append(billing(), "ROUTES_0_HEARTBEAT=1m"), []string{"ROUTES_0_HEARTBEAT: a route cannot have this for itself, set HOLDPOINT_HEARTBEAT for all agents"}},
		{slices.Concat(billing(), support(), []string{"ROUTES_1_PATH=/Billing"}), []string{`ROUTES_1_PATH "/Billing": HOLDPOINT_ROUTES_0_PATH is the same path (capital and small letters count as equal)`}},
		{slices.Concat(billing(), support(), []string{"ROUTES_1_NAME=billing"}), []string{`ROUTES_1_NAME "billing": HOLDPOINT_ROUTES_0_NAME is the same`}},
		{append(billing(), "UPSTREAM=http://y", "NAME=billing"), []string{`ROUTES_0_NAME "billing": HOLDPOINT_NAME is the same`}},
		{append(billing(), "UPSTREAM=http://y", "ROUTES_0_PATH=/"), []string{`ROUTES_0_PATH "/": HOLDPOINT_UPSTREAM is already the agent of all paths that no route has`}},
		{append(billing(), "ROUTES_0_PATH=billing"), []string{`ROUTES_0_PATH "billing": want a path that begins with a slash, such as /billing`}},
		{append(billing(), "ROUTES_0_PATH=/billing/"), []string{`ROUTES_0_PATH "/billing/": leave out the slash at the end`}},
		{append(billing(), "ROUTES_0_PATH=/a%2Fb"), []string{`ROUTES_0_PATH "/a%2Fb": want letters, digits and - . _ ~ between the slashes, not "%"`}},
		{append(billing(), "ROUTES_0_UPSTREAM=x"), []string{`ROUTES_0_UPSTREAM "x": scheme missing`}},
		{append(billing(), "ROUTES_0_UPSTREAM=http://localhost:7080"), []string{`ROUTES_0_UPSTREAM "http://localhost:7080": this is where Holdpoint itself listens`}},
		{append(billing(), "ROUTES_0_UPSTREAM=http://localhost:7081"), []string{`ROUTES_0_UPSTREAM "http://localhost:7081": this is where Holdpoint's probes are`}},
		{append(billing(), "ROUTES_0_UPSTREAM_CA_FILE=/ca.pem"), []string{`ROUTES_0_UPSTREAM_CA_FILE "/ca.pem": HOLDPOINT_ROUTES_0_UPSTREAM begins with http://`}},
		{append(billing(), "ROUTES_0_UPSTREAM=https://x", "ROUTES_0_UPSTREAM_KEY_FILE=/k"), []string{"ROUTES_0_UPSTREAM_CERT_FILE and HOLDPOINT_ROUTES_0_UPSTREAM_KEY_FILE: a certificate and its key are set together"}},
		{append(billing(), "UPSTREAM_HEADERS_FILE=/h"), []string{`UPSTREAM_HEADERS_FILE "/h": it is for the agent of HOLDPOINT_UPSTREAM, which is not set: set HOLDPOINT_ROUTES_0_UPSTREAM_HEADERS_FILE for a route`}},
		{append(billing(), "NAME=x"), []string{`NAME "x": it is for the agent of HOLDPOINT_UPSTREAM, which is not set`}},
		{append(billing(), "ROUTES_0_DIALECT=superagent"), []string{"ROUTES_0_SUPERAGENT_AGENT_ID is not set, and dialect superagent needs it"}},
		{append(billing(), "ROUTES_0_DIALECT=langraph"), []string{`ROUTES_0_DIALECT "langraph": want one of `}},
		{append(billing(), "UPSTREAM=http://y", "DIALECT=langraph", "CORS_ORIGINS=x", "CANCEL=true"), []string{`CORS_ORIGINS "x": scheme missing`, `DIALECT "langraph": want one of `, `CANCEL "true": it could be taken`}},
		{append(billing(), "ROUTES_0_CANCEL=true"), []string{`ROUTES_0_CANCEL "true": it could be taken for an approval`}},
	} {
		last := map[string]string{} // the last of several values counts
		for _, s := range tt.set {
			name, value, _ := strings.Cut(s, "=")
			last[name] = value
		}
		var set []string
		for name, value := range last {
			set = append(set, name+"="+value)
		}
		c, err := routesConfig(set...)
		if err == nil {
			t.Errorf("%v: taken, %d routes", tt.set, len(c.routes))
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		ok := len(lines) == len(tt.want)
		for n := range tt.want {
			ok = ok && strings.HasPrefix(lines[n], "config: "+prefix+tt.want[n])
		}
		if !ok {
			t.Errorf("%v:\ngot  %q\nwant %q", tt.set, lines, tt.want)
		}
	}
}

// TestService: a process with a single agent has no Router. If it has several agents, each is
// reached by its path.
func TestService(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Path", r.URL.Path)
		w.Header().Set("X-Key", r.Header.Get("X-Key"))
	}))
	defer backend.Close()
	headers := filepath.Join(t.TempDir(), "headers")
	write := func(key string) {
		if err := os.WriteFile(headers, []byte("X-Key: "+key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	c, err := routesConfig("UPSTREAM="+backend.URL, "ROUTES_0_PATH=/billing", "ROUTES_0_NAME=billing", "ROUTES_0_UPSTREAM="+backend.URL+"/agent", "ROUTES_0_UPSTREAM_HEADERS_FILE="+headers)
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	s, agents, err := newHandlerMaker(c, memory.New(memory.Options{}), logger).handlers()
	if err != nil {
		t.Fatal(err)
	}
	asked := func(path string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Header().Get("X-Path") + " " + w.Header().Get("X-Key")
	}
	if got := asked("/billing/x"); got != "/agent/x first" {
		t.Errorf("the route's backend was asked for %s", got)
	}
	if got := asked("/x"); got != "/x " {
		t.Errorf("the other backend was asked for %s", got)
	}
	write("second")
	p := &program{settings: c, logger: logger, reloader: &reloader{logger: logger}}
	p.reloadAgents(agents)
	p.reloader.runAll()
	if got := asked("/billing/x"); got != "/agent/x second" {
		t.Errorf("after HUP the route's backend was asked for %s", got)
	}
}
