//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/test/servers"
)

// A deskBackup is a store, with one function that makes a backup of it and one that restores the
// backup. No Holdpoint may be running during either call.
type deskBackup struct {
	address         string
	backup, restore func()
}

// deskBackups returns the stores that can be backed up, by the name of the engine. The clock of a
// restored server is ahead of the machine's clock by the parameter ahead. A file has no clock of
// its own.
func deskBackups() map[string]func(t *testing.T, ahead time.Duration) deskBackup {
	return map[string]func(t *testing.T, ahead time.Duration) deskBackup{
		"bolt": func(t *testing.T, _ time.Duration) deskBackup {
			dir := t.TempDir()
			state, backup := filepath.Join(dir, "state.db"), filepath.Join(dir, "backup.db")
			copied := func(from, to string) func() {
				return func() {
					content, err := os.ReadFile(from)
					if err == nil {
						err = os.WriteFile(to, content, 0o600)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			return deskBackup{"bolt://" + filepath.ToSlash(state), copied(state, backup), copied(backup, state)}
		},
		"redis": func(t *testing.T, ahead time.Duration) deskBackup {
			server := servers.StartRedis(t, servers.RedisOptions{})
			servers.StartRedis(t, servers.RedisOptions{ReplicaOf: server})
			p := servers.StartProxy(t, server.Addr())
			var copied *servers.Redis
			return deskBackup{server.URLAt(p.Addr()), func() {
				copied = servers.StartRedis(t, servers.RedisOptions{ReplicaOf: server, Ahead: ahead})
				copied.Promote()
				servers.StartRedis(t, servers.RedisOptions{ReplicaOf: copied})
			}, func() { p.Redirect(copied.Addr()); p.Sever() }}
		},
		"postgres": func(t *testing.T, ahead time.Duration) deskBackup {
			server := servers.StartPostgres(t, servers.PostgresOptions{})
			p := servers.StartProxy(t, server.Addr())
			var copied *servers.Postgres
			return deskBackup{server.URLAt(p.Addr()), func() {
				copied = servers.StartPostgres(t, servers.PostgresOptions{StandbyOf: server, Ahead: ahead})
				copied.Promote()
			}, func() { p.Redirect(copied.Addr()); p.Sever() }}
		},
	}
}

// TestDeskOverARestore: decisions are made at the desk, a backup of the store is made, and then
// Holdpoint sends the decisions to the agent. In the backup they are not sent yet. After the backup
// is restored:
//
//   - With HOLDPOINT_DESK_CARRY_WITHIN=0, as docs/operations.md says, Holdpoint itself sends none
//     of them again. A decision that an operator gives up at the desk never reaches the agent
//     again.
//   - If the chat sends a request before the decision is given up, Holdpoint sends the decision a
//     second time.
//   - Without that setting, Holdpoint sends the decision a second time. docs/operations.md warns of
//     this case and of the one above.
//   - If the backup is an hour old, Holdpoint sends nothing, even without the setting.
func TestDeskOverARestore(t *testing.T) {
	for name, begin := range deskBackups() {
		for _, ahead := range []time.Duration{0, time.Hour + time.Minute} {
			if name == "bolt" && ahead > 0 {
				continue
			}
			t.Run(name+" "+ahead.String(), func(t *testing.T) {
				t.Parallel()
				backend := &asker{}
				upstream := httptest.NewServer(backend)
				defer upstream.Close()
				b, at := begin(t, ahead), socket(t)
				c := caller{T: t, at: at, token: deskToken}
				run := func(within string) (addr string, end func()) {
					environ := []string{
						"HOLDPOINT_STORE=" + b.address, deskStoreKeys, "HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
						"HOLDPOINT_DESK_LISTEN=" + at, "HOLDPOINT_DESK_TOKEN=" + deskToken, "HOLDPOINT_DESK_CARRY_WITHIN=" + within,
					}
					if strings.HasPrefix(b.address, "redis") {
						environ = append(environ, "HOLDPOINT_STORE_REPLICAS=1")
					}
					p, addr := start(t, environ...)
					return addr, func() {
						t.Helper()
						p.Process.Signal(syscall.SIGTERM)
						if code := p.exit(); code != 0 {
							t.Fatalf("exit %d", code)
						}
					}
				}
				ran := func(want int64, when string) {
					t.Helper()
					if n := backend.answers.Load(); n != want {
						t.Fatalf("%s: the agent got %d answers, want %d", when, n, want)
					}
				}
				addr, end := run("0")
				paths := map[string]string{}
				for _, thread := range []string{"freed", "chat", "left"} {
					post(t, addr, "/", thread, "")
					paths[thread] = c.answers(c.waits(thread), "true")
				}
				end()
				b.backup()
				ran(0, "before the backup")
				_, end = run("1h")
				for _, path := range paths {
					c.becomes(path, "ended")
				}
				ran(3, "after it")
				end()

				b.restore()
				if ahead > 0 {
					_, end = run("1h")
					time.Sleep(3 * time.Second) // longer than the carrier's interval
					ran(3, "restored an hour later")
					end()
				}
				addr, end = run("0")
				time.Sleep(3 * time.Second)
				ran(3, "restored, with 0")
				if status, got := c.call("DELETE", paths["freed"]); status != http.StatusOK {
					t.Fatalf("to free: %d %s", status, got)
				}
				if got := post(t, addr, "/", "freed", ""); !strings.Contains(got, `"interrupts"`) {
					t.Errorf("the thread that was freed: %s", got)
				}
				ran(3, "freed")
				post(t, addr, "/", "chat", "")
				ran(4, "the chat comes back, which docs/operations.md warns of")
				end()
				if ahead > 0 {
					return
				}
				_, end = run("1h")
				c.becomes(paths["left"], "ended")
				ran(5, "without the setting, which docs/operations.md warns of")
				end()
			})
		}
	}
}
