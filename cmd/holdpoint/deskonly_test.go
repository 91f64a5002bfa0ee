//go:build unix

package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/test/servers"
	"holdpoint/proxy"
	"holdpoint/translate/dialects"
)

// TestDeskForManyAgents: the process `holdpoint desk` serves no agent itself. It must list the
// questions of agents that other processes serve, and accept decisions for them. The process that
// serves an agent sends each decision to the agent once, even if that process was killed and
// started again. If the process was killed after the agent received the answer, and before the
// agent replied, the answer is not sent again, and the metric of doubts has it before any client
// comes back.
func TestDeskForManyAgents(t *testing.T) {
	servers.Need(t, servers.FakeTime)
	for name, begin := range map[string]func(t *testing.T) (store []string, later func(time.Duration)){
		"postgres": func(t *testing.T) ([]string, func(time.Duration)) {
			server := servers.StartPostgres(t, servers.PostgresOptions{})
			return []string{"HOLDPOINT_STORE=" + server.URL()}, server.RestartAhead
		},
		"redis": func(t *testing.T) ([]string, func(time.Duration)) {
			server := servers.StartRedis(t, servers.RedisOptions{})
			replica := servers.StartRedis(t, servers.RedisOptions{ReplicaOf: server})
			return []string{"HOLDPOINT_STORE=" + server.URL(), "HOLDPOINT_STORE_REPLICAS=1"}, func(d time.Duration) { server.RestartAhead(d); replica.AwaitSync() }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, later := begin(t)
			shared := append(store, "HOLDPOINT_STORE_KEYS=a:"+base64.StdEncoding.EncodeToString(make([]byte, 32)), "HOLDPOINT_DRAIN_DELAY=0s")
			backends := map[string]*asker{"billing": {}, "hr": {more: `,"responseSchema":{"type":"boolean"}`}}
			addrs, processes, again := map[string]string{}, map[string]*process{}, map[string]func(){}
			for agent, backend := range backends {
				upstream := httptest.NewServer(backend)
				t.Cleanup(upstream.Close)
				again[agent] = func() {
					processes[agent] = startAs(t, append(shared, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_NAME="+agent, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DESK_LISTEN=elsewhere")...)
					addrs[agent] = processes[agent].wait(t, "listening")["addr"].(string)
				}
				again[agent]()
			}
			// HOLDPOINT_DESK_CARRY is about the agents that a process serves. This process serves
			// none, so the variable must have no effect.
			desk := startCommand(t, "desk", append(shared, "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN="+deskToken, "HOLDPOINT_DESK_CARRY=home")...)
			c := caller{T: t, token: deskToken, at: desk.wait(t, "desk")["desk_addr"].(string)}

			waits := func(agent string) gjson.Result { return c.ok("GET", "/v1/approvals?agent="+agent).Get("approvals.0") }
			decide := func(agent, payload string) (int, gjson.Result) {
				a := waits(agent)
				q := a.Get("questions.0")
				body := fmt.Sprintf(`{"decision":"answer","payload":%s,"digest":%q}`, payload, q.Get("digest").Str)
				return c.send("POST", "/v1/approvals/"+a.Get("id").Str+"/questions/"+q.Get("id").Str, body)
			}
			ended := func(id string) gjson.Result {
				for {
					if a := c.ok("GET", "/v1/approvals/"+id); a.Get("state").Str == "ended" {
						return a
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
			for agent := range backends {
				post(t, addrs[agent], "/", "t1", "")
			}
			if a := waits("hr"); a.Get("carrier").Str != "other" || a.Get("waitsForChat").Exists() || !a.Get("questions.0.may.answer").Bool() {
				t.Errorf("before it is decided: %s", a)
			}
			// A payload that does not fit the question's schema is refused at this desk too, with
			// 422.
			if status, got := decide("hr", `{"no":"boolean"}`); status != http.StatusUnprocessableEntity {
				t.Errorf("a payload that does not fit: %d %s", status, got)
			}
			status, got := decide("billing", "true")
			if status != http.StatusOK {
				t.Fatalf("decided: %d %s", status, got)
			}
			if a := ended(got.Get("id").Str); a.Get("end.how").Str != "finished" || backends["billing"].answers.Load() != 1 || backends["hr"].answers.Load() != 0 {
				t.Errorf("carried: %s", a)
			}

			// The process that serves the agent hr is killed. The decision waits until that process
			// is started again.
			processes["hr"].Process.Kill()
			processes["hr"].exit()
			if status, got = decide("hr", "true"); status != http.StatusOK {
				t.Fatalf("decided while its process is gone: %d %s", status, got)
			}
			if a := c.ok("GET", "/v1/approvals/"+got.Get("id").Str); a.Get("state").Str != "decided" {
				t.Errorf("nobody carries it: %s", a)
			}
			again["hr"]()
			if a := ended(got.Get("id").Str); a.Get("end.how").Str != "finished" || backends["hr"].answers.Load() != 1 {
				t.Errorf("carried by the next one: %s, %d answers", a, backends["hr"].answers.Load())
			}
			// The next request of the chat gets the end of the run, and the agent is not called
			// again.
			if got := post(t, addrs["hr"], "/", "t1", ""); !strings.Contains(got, "RUN_FINISHED") || backends["hr"].answers.Load() != 1 {
				t.Errorf("the chat: %s", got)
			}

			// If a process is killed after the agent received the answer, and before the agent
			// replied, the result is in doubt as soon as the lease of that process has lapsed.
			backend := backends["billing"]
			backend.hangs.Store(true)
			post(t, addrs["billing"], "/", "t2", "")
			_, got = decide("billing", "true")
			path := "/v1/approvals/" + got.Get("id").Str
			for backend.answers.Load() < 2 {
				time.Sleep(20 * time.Millisecond)
			}
			processes["billing"].Process.Kill()
			processes["billing"].exit()
			backend.hangs.Store(false)
			if a := c.ok("GET", path); a.Get("state").Str != "carrying" {
				t.Errorf("just after the kill: %s", a)
			}
			if status, got := c.send("DELETE", path, ""); status != http.StatusConflict || got.Get("code").Str != "RESUME_IN_PROGRESS" {
				t.Errorf("given up while it may be carried: %d %s", status, got)
			}
			later(proxy.LeaseTime)
			again["billing"]()
			for {
				if status, a := c.send("GET", path, ""); status == http.StatusOK && a.Get("state").Str == "doubt" {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			// No client has come back. A process that starts now must count the doubt too.
			admin := socket(t)
			another := startCommand(t, "desk", slices.Concat(shared, []string{"HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN=" + deskToken, "HOLDPOINT_ADMIN_LISTEN=" + admin})...)
			another.wait(t, "desk")
			for counted := false; !counted; time.Sleep(50 * time.Millisecond) {
				res, err := clientOf(admin).Get("http://admin/metrics")
				if err != nil {
					t.Fatal(err)
				}
				text, _ := io.ReadAll(res.Body)
				res.Body.Close()
				counted = strings.Contains(string(text), "\nholdpoint_pauses_in_doubt 1\n")
			}
			post(t, addrs["billing"], "/", "t3", "")
			_, got = decide("billing", "true")
			if a := ended(got.Get("id").Str); a.Get("end.how").Str != "finished" || backend.answers.Load() != 3 {
				t.Errorf("what is in doubt is carried again, or nothing is: %s, %d answers", a, backend.answers.Load())
			}
			if status, a := c.send("DELETE", path, ""); status != http.StatusOK || a.Get("end.how").Str != "in doubt" || backend.answers.Load() != 3 {
				t.Errorf("the doubt is given up: %d %s", status, a)
			}
			desk.Process.Signal(syscall.SIGTERM)
			if code := desk.exit(); code != 0 {
				t.Errorf("exit %d", code)
			}
		})
	}
}

func TestDeskAloneSettings(t *testing.T) {
	keys := "HOLDPOINT_DESK_TOKEN=" + deskToken
	for name, test := range map[string]struct {
		environ []string
		want    string
	}{
		"memory":        {[]string{"HOLDPOINT_DESK_LISTEN=:0", keys}, "no other process can share it"},
		"a file":        {[]string{"HOLDPOINT_DESK_LISTEN=:0", keys, "HOLDPOINT_STORE=bolt:///tmp/x.db"}, "no other process can share it"},
		"no address":    {[]string{"HOLDPOINT_STORE=redis://h:1"}, "HOLDPOINT_DESK_LISTEN is not set"},
		"an agent":      {[]string{"HOLDPOINT_DESK_LISTEN=:0", keys, "HOLDPOINT_STORE=redis://h:1", "HOLDPOINT_UPSTREAM=http://h"}, "no agent of its own"},
		"elsewhere":     {[]string{"HOLDPOINT_DESK_LISTEN=elsewhere", "HOLDPOINT_STORE=redis://h:1"}, "HOLDPOINT_DESK_LISTEN is not set"},
		"all that fits": {[]string{"HOLDPOINT_DESK_LISTEN=:0", keys, "HOLDPOINT_STORE=redis://h:1"}, ""},
	} {
		_, err := loadFor(test.environ, dialects.All(), true, nil)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, test := range map[string]struct {
		environ []string
		want    string
	}{
		"memory":  {[]string{upstream, "HOLDPOINT_DESK_LISTEN=elsewhere"}, "no other process can share this store"},
		"a token": {[]string{upstream, "HOLDPOINT_DESK_LISTEN=elsewhere", "HOLDPOINT_STORE=redis://h:1", keys}, "HOLDPOINT_DESK_TOKEN"},
		"fits":    {[]string{upstream, "HOLDPOINT_DESK_LISTEN=elsewhere", "HOLDPOINT_STORE=redis://h:1"}, ""},
	} {
		_, err := load(test.environ, dialects.All())
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("an agent, %s: %v", name, err)
		}
	}
}

// TestWithoutADeskThereIsNothing: if no HOLDPOINT_DESK_ variable is set, the program starts no desk
// and no carrier (which sends decisions to agents), runs save nothing for a desk, and the handler
// of requests is not wrapped.
func TestWithoutADeskThereIsNothing(t *testing.T) {
	c, err := load([]string{upstream}, dialects.All())
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	p := &program{settings: c, logger: slog.New(slog.DiscardHandler)}
	made := newHandlerMaker(c, nil, p.logger)
	k := p.startCarrier(made, nil, nil)
	err = p.startDesk(made, nil, k)
	if p.desk != nil || k != nil || err != nil || made.otherDoors(&c.agent) != nil || k.OnDecided() != nil || p.stoppers != nil {
		t.Errorf("there is a desk: %v %v %v %v", p.desk, k, err, made.otherDoors(&c.agent))
	}
	next := http.NewServeMux()
	if got := c.desk.WithoutSessions(next); got != http.Handler(next) {
		t.Errorf("before the handler stands %T", got)
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines, and %d before", now, before)
	}
}
