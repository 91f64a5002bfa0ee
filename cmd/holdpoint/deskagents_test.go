//go:build unix

package main

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdpoint/translate/dialects"
)

// TestDeskOfTwoAgents: two agents use one store. Each has its own backend, with the path /. Both
// ask the same question in a thread with the same id. A decision for one agent must reach only that
// agent. The question of the other agent must stay open.
func TestDeskOfTwoAgents(t *testing.T) {
	t.Parallel()
	at := socket(t)
	environ := []string{
		"HOLDPOINT_DIALECT=agui", "HOLDPOINT_STORE=bolt://" + t.TempDir() + "/state.db", deskStoreKeys, "HOLDPOINT_DRAIN_DELAY=0s",
		"HOLDPOINT_DESK_LISTEN=" + at, "HOLDPOINT_DESK_TOKEN=" + deskToken,
	}
	agents := []string{"billing", "hr"}
	backends := map[string]*asker{}
	for n, agent := range agents {
		backends[agent] = &asker{}
		upstream := httptest.NewServer(backends[agent])
		defer upstream.Close()
		route := "HOLDPOINT_ROUTES_" + string(rune('0'+n)) + "_"
		environ = append(environ, route+"PATH=/"+agent, route+"NAME="+agent, route+"UPSTREAM="+upstream.URL)
	}
	_, addr := start(t, environ...)
	c := caller{T: t, at: at, token: deskToken}
	for _, agent := range agents {
		post(t, addr, "/"+agent, "t1", "")
	}
	if list := c.ok("GET", "/v1/approvals?thread=t1").Get("approvals.#.path").Raw; list != `["/","/"]` {
		t.Fatalf("the paths are %s", list)
	}
	for n, agent := range agents {
		a := c.ok("GET", "/v1/approvals?thread=t1&agent="+agent).Get("approvals.0")
		c.becomes(c.answers(a, "true"), "ended")
		time.Sleep(3 * time.Second) // longer than the interval at which Holdpoint sends decisions
		for k, other := range agents {
			want := int64(0)
			if k <= n {
				want = 1
			}
			if got := backends[other].answers.Load(); got != want {
				t.Errorf("%s was decided: %s got %d answers, want %d", agent, other, got, want)
			}
		}
	}
	for _, agent := range agents {
		if got := post(t, addr, "/"+agent, "t1", ""); !strings.Contains(got, "RUN_FINISHED") || backends[agent].asked.Load() != 2 {
			t.Errorf("a reload at %s, %d runs: %s", agent, backends[agent].asked.Load(), got)
		}
	}
}

// TestDeskSaysWhatWaits: with some settings, a decision at the desk waits for the next request of
// the chat. At start, the log must warn of these settings and say why.
func TestDeskSaysWhatWaits(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		set  []string
		want []string // parts of the warnings; nil if decisions do not wait
	}{
		"memory":                 {nil, nil},
		"a file with keys":       {[]string{"HOLDPOINT_STORE=bolt://" + dir + "/a.db", deskStoreKeys}, nil},
		"a file without keys":    {[]string{"HOLDPOINT_STORE=bolt://" + dir + "/b.db"}, []string{"HOLDPOINT_STORE_KEYS is not set"}},
		"nothing is carried":     {[]string{"HOLDPOINT_DESK_CARRY_WITHIN=0"}, []string{"HOLDPOINT_DESK_CARRY_WITHIN is 0"}},
		"a Redis with no keys":   {[]string{"HOLDPOINT_STORE=redis://127.0.0.1:1"}, []string{"HOLDPOINT_STORE_KEYS is not set", "HOLDPOINT_STORE_REPLICAS is not set"}},
		"a native client":        {[]string{"HOLDPOINT_CLIENT=native", "HOLDPOINT_NAME=billing"}, []string{"HOLDPOINT_CLIENT is native", "agent=billing"}},
		"a native client's desk": {[]string{"HOLDPOINT_CLIENT=native", "HOLDPOINT_DESK_LISTEN=off", "HOLDPOINT_DESK_TOKEN="}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := load(append([]string{upstream, "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN=" + deskToken}, test.set...), dialects.All())
			if err != nil {
				t.Fatal(err)
			}
			p := &program{settings: c, logger: slog.New(slog.DiscardHandler)}
			kept, err := p.openStore(t.Context(), newEvents(c, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Stop()
			made := newHandlerMaker(c, kept, p.logger)
			made.storeMayForget = kept.Forgets
			_, agents, err := made.handlers()
			if err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			made.logger = slog.New(slog.NewTextHandler(&said, nil))
			p.startCarrier(made, kept, agents)
			p.stop()
			if got := said.String(); strings.Contains(got, "waits for the chat's next request") != (test.want != nil) {
				t.Errorf("the log says %q", got)
			}
			for _, want := range test.want {
				if !strings.Contains(said.String(), want) {
					t.Errorf("no %q in %q", want, said.String())
				}
			}
		})
	}
}
