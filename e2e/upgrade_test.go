//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"holdpoint/e2e/scripted"
	"holdpoint/internal/servers"
)

// nextVersion is in the records of the next release: the format behind store.Version.
const nextVersion = `"version":5`

// nextBinary is a build that stands for the next release. Its records have the next version if a
// question's reason is "upcoming", which stands for something that is new.
var nextBinary = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(shared.dir, "holdpoint-next")
	return binary, buildBinary(binary, "-tags", "nextrecord")
})

// An upgrade is two builds of Holdpoint on one store, before one backend.
type upgrade struct {
	*scripted.Asker
	refuses  atomic.Bool // the backend answers 403, and does nothing
	old, new *holdpoint
	records  func() string // all that the store has of threads, with revisions
}

// at is a client of a thread at one of the two, as a page that was just opened.
func (u *upgrade) at(t *testing.T, h *holdpoint, thread string, messages []event) *client {
	t.Helper()
	return newClient(t, shared.through, newest, h.address+"/", thread, messages)
}

// TestRollingUpgrade: while replicas of two releases have one store, either of them answers what
// the other one has asked. What only the new one can say shuts the old one out of that thread, and
// out of no other: it is never taken for a thread that waits for nothing, and not written back.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	next, err := nextBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string]func(t *testing.T) (env map[string]string, records func() string){
		"redis": func(t *testing.T) (map[string]string, func() string) {
			server := servers.StartRedis(t, servers.RedisOptions{})
			const all = `local out = {} for _, k in ipairs(redis.call('KEYS', '*')) do
				if redis.call('TYPE', k).ok == 'hash' then out[#out+1] = k .. ' ' .. table.concat(redis.call('HGETALL', k), ' ') end
			end table.sort(out) return table.concat(out, '\n')`
			return map[string]string{"HOLDPOINT_STORE": server.URL()}, func() string { return fmt.Sprint(server.Do("EVAL", all, "0")) }
		},
		"postgres": func(t *testing.T) (map[string]string, func() string) {
			server := servers.StartPostgres(t, servers.PostgresOptions{})
			const all = `SELECT key, revision, opened, due, gone, convert_from(head, 'UTF8'), md5(body) FROM holdpoint_threads ORDER BY key`
			return map[string]string{"HOLDPOINT_STORE": server.URL()}, func() string {
				if server.ExecIn(servers.PostgresDatabase, "SELECT to_regclass('holdpoint_threads')") == "" {
					return "" // Holdpoint takes runs before it has made its tables
				}
				return server.ExecIn(servers.PostgresDatabase, all)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &upgrade{Asker: &scripted.Asker{}}
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if u.refuses.Load() {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				u.ServeHTTP(w, r)
			}))
			t.Cleanup(backend.Close)
			var env map[string]string
			env, u.records = begin(t)
			maps.Copy(env, map[string]string{"HOLDPOINT_NAME": "e2e"})
			u.old, u.new = ownHoldpoint(t, backend.URL, env), ownBinary(t, next, backend.URL, env)
			u.ordinary(t)
			u.upcoming(t)
			u.ordinary(t)
		})
	}
}

// TestUpgradeOfAFile: the older release is killed, and the newer one opens its file. Then the older
// one opens it again. Each answers what the other one has asked, and what was answered is not done
// again. The thread that uses something new waits for the newer release.
func TestUpgradeOfAFile(t *testing.T) {
	t.Parallel()
	next, err := nextBinary()
	if err != nil {
		t.Fatal(err)
	}
	u := &upgrade{Asker: &scripted.Asker{}}
	backend := httptest.NewServer(u)
	t.Cleanup(backend.Close)
	env := map[string]string{"HOLDPOINT_STORE": "bolt://" + filepath.ToSlash(filepath.Join(t.TempDir(), "state.db"))}
	var running *holdpoint
	opens := func(binary string) *holdpoint {
		if running != nil {
			running.kill()
		}
		running = ownBinary(t, binary, backend.URL, env)
		return running
	}
	asked := func(h *holdpoint) *client {
		c := u.at(t, h, fresh("thread"), nil)
		c.pause(t, 1)
		return c
	}
	// answered has another client of the thread say yes, twice: the second one is told the end.
	answered := func(h *holdpoint, c *client) step {
		yes := step{resume: c.answers(accept)}
		for range 2 {
			u.at(t, h, c.thread, c.messages).finish(t, yes)
		}
		return yes
	}
	before := opens(shared.binary)
	answeredBefore, upgraded, back := asked(before), asked(before), asked(before)
	yes := answered(before, answeredBefore)

	after := opens(next)
	u.at(t, after, answeredBefore.thread, answeredBefore.messages).finish(t, yes)
	answered(after, upgraded)
	asks := asked(after)
	says := u.at(t, after, fresh("thread"), nil)
	if a := says.run(t, step{say: "go upcoming"}).answer(t); len(a.outcome()) != 1 {
		t.Fatalf("no question: %s", terminal(a))
	}

	older := opens(shared.binary)
	u.at(t, older, upgraded.thread, upgraded.messages).finish(t, step{resume: upgraded.answers(accept)})
	answered(older, asks)
	answered(older, back)
	for what, s := range map[string]step{"a reload": {empty: true}, "the answer": {resume: says.answers(accept)}} {
		if a := u.at(t, older, says.thread, says.messages).run(t, s).answer(t); a.code() != "STORE_UNAVAILABLE" || a.outcome() != nil {
			t.Errorf("%s at the old release: %s", what, terminal(a))
		}
	}
	if did := u.Did(says.thread); did != 0 {
		t.Errorf("what only the new release can read ran %d times at the old one", did)
	}

	answered(opens(next), says)
	for _, c := range []*client{answeredBefore, upgraded, back, asks, says} {
		if did := u.Did(c.thread); did != 1 {
			t.Errorf("what was approved ran %d times", did)
		}
	}
}

// ordinary is a thread that uses nothing new: the two share it, in the version that both know.
func (u *upgrade) ordinary(t *testing.T) {
	t.Helper()
	newer := strings.Count(u.records(), nextVersion)
	for _, from := range []*holdpoint{u.old, u.new} {
		to := u.old
		if from == u.old {
			to = u.new
		}
		c := u.at(t, from, fresh("thread"), nil)
		c.pause(t, 1)
		reloaded := u.at(t, to, c.thread, c.messages)
		if a := reloaded.run(t, step{empty: true}).answer(t); ids(a.outcome()) != ids(c.pending) {
			t.Errorf("the other release tells %s, want %s", ids(a.outcome()), ids(c.pending))
		}
		again := u.at(t, from, c.thread, c.messages)
		yes := step{resume: c.answers(accept)}
		reloaded.finish(t, yes)
		again.finish(t, yes)
		if did := u.Did(c.thread); did != 1 {
			t.Errorf("what was approved ran %d times", did)
		}
		for _, h := range []*holdpoint{u.old, u.new} {
			u.at(t, h, c.thread, reloaded.messages).finish(t, step{say: "plain"})
		}
	}
	if now := strings.Count(u.records(), nextVersion); now != newer {
		t.Errorf("%d records have the next version, want %d: nothing new was said", now, newer)
	}
}

// upcoming is a thread that only the next release can speak of.
func (u *upgrade) upcoming(t *testing.T) {
	t.Helper()
	c := u.at(t, u.new, fresh("thread"), nil)
	if a := c.run(t, step{say: "go upcoming"}).answer(t); len(a.outcome()) != 1 {
		t.Fatalf("no question: %s", terminal(a))
	}
	yes := step{resume: c.answers(accept)}
	shutOut := func(when string) {
		t.Helper()
		before, runs := u.records(), u.Runs(c.thread)
		if strings.Count(before, nextVersion) != 1 {
			t.Errorf("%s: the record is not of the next version:\n%s", when, before)
		}
		for what, s := range map[string]step{
			"a new message": {say: "plain"}, "a reload": {empty: true}, "the answer": yes,
			"a cancel": {resume: c.answers(cancelled)},
		} {
			if a := u.at(t, u.old, c.thread, c.messages).run(t, s).answer(t); a.code() != "STORE_UNAVAILABLE" || a.outcome() != nil {
				t.Errorf("%s: %s at the old release: %s", when, what, terminal(a))
			}
		}
		if n := u.Runs(c.thread) - runs; n != 0 {
			t.Errorf("%s: the backend got %d runs from the old release", when, n)
		}
		if after := u.records(); after != before {
			t.Errorf("%s: the old release has written something. %s", when, firstOther(before, after))
		}
	}
	shutOut("the question is open")
	u.refuses.Store(true) // the claim is given back, a step that does not look at the question
	u.at(t, u.new, c.thread, c.messages).run(t, step{resume: yes.resume, loose: true})
	u.refuses.Store(false)
	shutOut("the answer was given back")
	if did := u.Did(c.thread); did != 0 {
		t.Errorf("it ran %d times before it was approved", did)
	}
	c.finish(t, yes)
	shutOut("the question was answered")
	u.at(t, u.new, c.thread, c.messages).finish(t, yes)
	if did := u.Did(c.thread); did != 1 {
		t.Errorf("what was approved ran %d times", did)
	}
	c.finish(t, step{say: "plain"})
}

// firstOther says where two texts begin to differ, by lines.
func firstOther(before, after string) string {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for n := range min(len(was), len(is)) {
		if was[n] != is[n] {
			return fmt.Sprintf("was:\n%s\nis:\n%s", was[n], is[n])
		}
	}
	rest := slices.MaxFunc([][]string{was, is}, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	return fmt.Sprintf("%d lines, then %d: %s", len(was), len(is), rest[min(len(was), len(is)):])
}
