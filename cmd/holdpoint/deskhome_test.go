//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

// TestReplicasOfTheDesk: two processes serve one agent on one store. An approver decides at the
// desk of the second process. In two cases the first process must send the decision: if the second
// process cannot reach its backend, and if the question exists only in the memory of the first
// process's backend.
func TestReplicasOfTheDesk(t *testing.T) {
	t.Parallel()
	server := servers.StartPostgres(t, servers.PostgresOptions{})
	for name, c := range map[string]struct {
		carry string
		dead  bool // the second process cannot reach its backend
	}{
		"one cannot reach the backend":                  {"any", true},
		"the backend holds the question in its process": {"home", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine, theirs := &asker{}, &asker{}
			here, there := httptest.NewServer(mine), httptest.NewServer(theirs)
			defer here.Close()
			defer there.Close()
			other := there.URL
			if c.dead {
				other = "http://" + servers.RefusingAddress(t)
			}
			environ := func(upstream string) []string {
				return []string{
					"HOLDPOINT_UPSTREAM=" + upstream, "HOLDPOINT_NAME=" + c.carry, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
					"HOLDPOINT_STORE=" + server.URL(), "HOLDPOINT_STORE_KEYS=a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
					"HOLDPOINT_DESK_LISTEN=" + socket(t), "HOLDPOINT_DESK_TOKEN=" + deskToken, "HOLDPOINT_DESK_CARRY=" + c.carry,
				}
			}
			_, addr := start(t, environ(here.URL)...)
			at := socket(t)
			start(t, append(environ(other), "HOLDPOINT_DESK_LISTEN="+at)...)
			desk := caller{T: t, at: at, token: deskToken}
			post(t, addr, "/", "t1", "")
			a := desk.ok("GET", "/v1/approvals?agent="+c.carry).Get("approvals.0")
			if a.Get("waitsForChat").Exists() {
				t.Fatalf("it waits for the chat: %s", a)
			}
			q := a.Get("questions.0")
			body := fmt.Sprintf(`{"decision":"answer","payload":true,"digest":%q}`, q.Get("digest").Str)
			path := "/v1/approvals/" + a.Get("id").Str
			if status, got := desk.send("POST", path+"/questions/"+q.Get("id").Str, body); status != http.StatusOK {
				t.Fatalf("decided: %d %s", status, got)
			}
			for desk.ok("GET", path).Get("state").Str != "ended" {
				time.Sleep(20 * time.Millisecond)
			}
			if how := desk.ok("GET", path).Get("end.how").Str; how != "finished" || mine.answers.Load() != 1 || theirs.asked.Load() != 0 {
				t.Errorf("it ended so: %s; %d answers, and %d runs elsewhere", how, mine.answers.Load(), theirs.asked.Load())
			}
		})
	}
}
