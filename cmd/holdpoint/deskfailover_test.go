//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/test/servers"
)

const deskStoreKeys = "HOLDPOINT_STORE_KEYS=a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// A keeper is an asker that can delay its reaction to an answer.
type keeper struct {
	asker
	keeps   atomic.Bool
	inside  chan struct{} // receives a value when an answer has arrived
	release chan struct{} // closed to let the delayed answers continue
	once    sync.Once
}

func newKeeper(t *testing.T) (*keeper, *httptest.Server) {
	k := &keeper{inside: make(chan struct{}, 100), release: make(chan struct{})}
	server := httptest.NewServer(k)
	t.Cleanup(func() { k.goesOn(); server.Close() })
	return k, server
}

func (k *keeper) goesOn() {
	k.keeps.Store(false)
	k.once.Do(func() { close(k.release) })
}

func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if k.keeps.Load() && bytes.Contains(body, []byte(`"resume"`)) {
		k.inside <- struct{}{}
		<-k.release
	}
	k.asker.ServeHTTP(w, r)
}

// told returns the log line with the message. If this line has not been written yet, told waits for
// it.
func (p *process) told(t *testing.T, msg string) map[string]any {
	t.Helper()
	if at := slices.IndexFunc(p.said, func(line map[string]any) bool { return line["msg"] == msg }); at >= 0 {
		return p.said[at]
	}
	return p.wait(t, msg)
}

// waits returns the approval of the thread. The thread must have exactly one.
func (c caller) waits(thread string) gjson.Result {
	c.Helper()
	list := c.ok("GET", "/v1/approvals?thread="+thread).Get("approvals").Array()
	if len(list) != 1 {
		c.Fatalf("%d approvals of the thread %s", len(list), thread)
	}
	return list[0]
}

// answers decides the only question of an approval at the desk, and returns the path of the
// approval.
func (c caller) answers(a gjson.Result, payload string) (path string) {
	c.Helper()
	path = "/v1/approvals/" + a.Get("id").Str
	q := a.Get("questions.0")
	body := fmt.Sprintf(`{"decision":"answer","payload":%s,"digest":%q}`, payload, q.Get("digest").Str)
	if status, got := c.send("POST", path+"/questions/"+q.Get("id").Str, body); status != http.StatusOK {
		c.Fatalf("decided: %d %s", status, got)
	}
	return path
}

// becomes waits until the approval at the path has the state, and returns the approval.
func (c caller) becomes(path, state string) gjson.Result {
	c.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		status, a := c.call("GET", path)
		if status == http.StatusOK && a.Get("state").Str == state {
			return a
		}
		if time.Now().After(deadline) {
			c.Fatalf("it is not %s: %d %s", state, status, a)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A deskStore is a pair of servers that is reached at one address. failover lets the second server
// take over.
type deskStore struct {
	environ  []string
	failover func()
}

// deskStores returns the stores whose second server has every confirmed write when it takes over,
// so that no claim is lost. The keys are the kinds of server.
func deskStores() map[string]func(t *testing.T) deskStore {
	return map[string]func(t *testing.T) deskStore{
		"redis": func(t *testing.T) deskStore {
			primary := servers.StartRedis(t, servers.RedisOptions{})
			replica := servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary})
			p := servers.StartProxy(t, primary.Addr())
			return deskStore{[]string{"HOLDPOINT_STORE=" + primary.URLAt(p.Addr()), "HOLDPOINT_STORE_REPLICAS=1"}, func() {
				primary.Kill()
				replica.Promote()
				p.Redirect(replica.Addr())
				p.Sever()
			}}
		},
		"postgres": func(t *testing.T) deskStore {
			primary := servers.StartPostgres(t, servers.PostgresOptions{})
			standby := servers.StartPostgres(t, servers.PostgresOptions{StandbyOf: primary, Synchronous: true})
			p := servers.StartProxy(t, primary.Addr())
			return deskStore{[]string{"HOLDPOINT_STORE=" + primary.URLAt(p.Addr())}, func() {
				primary.Kill()
				standby.Exec("ALTER SYSTEM RESET synchronous_standby_names")
				standby.Promote()
				p.Redirect(standby.Addr())
				p.Sever()
			}}
		},
	}
}

// TestStandbyThatMayForget: some standbys may lack the last writes after a failover. Such a standby
// may have a decision of the desk, but not the claim, which says that the answer was sent. With
// these stores Holdpoint must not send decisions by itself: the chat's next request sends them. The
// approval must show this before anybody decides, and the log must have a warning at start.
func TestStandbyThatMayForget(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T) (store, remedy string){
		"redis that does not wait": func(t *testing.T) (string, string) {
			primary := servers.StartRedis(t, servers.RedisOptions{})
			servers.StartRedis(t, servers.RedisOptions{ReplicaOf: primary})
			return primary.URL(), "HOLDPOINT_STORE_REPLICAS"
		},
		"postgres that does not wait": func(t *testing.T) (string, string) {
			primary := servers.StartPostgres(t, servers.PostgresOptions{})
			servers.StartPostgres(t, servers.PostgresOptions{StandbyOf: primary})
			return primary.URL(), "synchronous_standby_names"
		},
		"postgres whose disk is behind": func(t *testing.T) (string, string) {
			return servers.StartPostgres(t, servers.PostgresOptions{Conf: []string{"synchronous_commit = off"}}).URL(), "synchronous_standby_names"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := &asker{}
			upstream := httptest.NewServer(backend)
			defer upstream.Close()
			at := socket(t)
			kept, remedy := begin(t)
			p := startAs(t, "HOLDPOINT_STORE="+kept, deskStoreKeys, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
				"HOLDPOINT_DESK_LISTEN="+at, "HOLDPOINT_DESK_TOKEN="+deskToken)
			addr := p.told(t, "listening")["addr"].(string)
			why := fmt.Sprint(p.told(t, "what is decided at the desk waits for the chat's next request")["why"])
			if !strings.Contains(why, remedy) {
				t.Errorf("at start: %s", why)
			}
			c := caller{T: t, at: at, token: deskToken}
			post(t, addr, "/", "t1", "")
			a := c.waits("t1")
			if got := a.Get("waitsForChat").Raw; got != `["store"]` || a.Get("carrier").Str != "chat" {
				t.Errorf("before it is decided: %s", a)
			}
			path := c.answers(a, "true")
			time.Sleep(3 * time.Second) // longer than the interval between two looks at the store
			if got := c.ok("GET", path); got.Get("state").Str != "decided" || backend.answers.Load() != 0 {
				t.Errorf("%d answers were sent: %s", backend.answers.Load(), got)
			}
			if got := post(t, addr, "/", "t1", ""); !strings.Contains(got, "RUN_FINISHED") || backend.answers.Load() != 1 {
				t.Errorf("the chat's next request, %d answers: %s", backend.answers.Load(), got)
			}
		})
	}
}

// TestDeskOverAFailover: the store fails over while the agent works on an answer of the desk.
// Holdpoint must not send the answer again, and the new server must save the end of the run. If
// Holdpoint was killed too, the result is unknown, and the chat's next request must report this
// once.
func TestDeskOverAFailover(t *testing.T) {
	for name, begin := range deskStores() {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, holdpoint killed %v", name, killed), func(t *testing.T) {
				t.Parallel()
				s, at := begin(t), socket(t)
				backend, upstream := newKeeper(t)
				environ := append(s.environ, deskStoreKeys, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
					"HOLDPOINT_DESK_LISTEN="+at, "HOLDPOINT_DESK_TOKEN="+deskToken)
				p, addr := start(t, environ...)
				c := caller{T: t, at: at, token: deskToken}
				post(t, addr, "/", "t1", "")
				a := c.waits("t1")
				if a.Get("waitsForChat").Exists() {
					t.Fatalf("it waits for the chat: %s", a)
				}
				backend.keeps.Store(true)
				path := c.answers(a, "true")
				waitFor(t, backend.inside)
				if killed {
					p.Process.Kill()
					p.exit()
				}
				s.failover()
				backend.goesOn()
				if killed {
					_, addr = start(t, environ...)
				} else if end := c.becomes(path, "ended").Get("end"); end.Get("how").Str != "finished" {
					t.Errorf("it ended so: %s", end)
				}
				// If Holdpoint lives, the next request waits for the end of the run. If it was
				// killed, the request waits until the lease of the dead process has ended.
				got := post(t, addr, "/", "t1", "")
				if doubt := strings.Contains(got, `"RESUME_IN_DOUBT"`); doubt != killed || !killed && !strings.Contains(got, "RUN_FINISHED") {
					t.Errorf("a reload: %s", got)
				}
				if n := backend.answers.Load(); n != 1 {
					t.Errorf("the agent got %d answers", n)
				}
			})
		}
	}
}
