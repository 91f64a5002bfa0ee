//go:build e2e

package e2e

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"holdpoint/internal/test/servers"
)

// A durableStore is a store that outlives the processes that use it.
type durableStore struct {
	name string
	// begin starts the store's server, and returns the variables of a Holdpoint that uses it.
	begin func(t *testing.T) map[string]string
	// shared: true means that several processes can use the store at the same time.
	shared bool
}

func durableStores() []durableStore {
	return []durableStore{
		{name: "bolt", begin: func(t *testing.T) map[string]string {
			return map[string]string{"HOLDPOINT_STORE": "bolt://" + filepath.ToSlash(filepath.Join(t.TempDir(), "state.db"))}
		}},
		{name: "postgres", shared: true, begin: func(t *testing.T) map[string]string {
			server := servers.StartPostgres(t, servers.PostgresOptions{})
			return map[string]string{"HOLDPOINT_STORE": server.URL(), "HOLDPOINT_NAME": "e2e"}
		}},
		{name: "redis", shared: true, begin: func(t *testing.T) map[string]string {
			server := servers.StartRedis(t, servers.RedisOptions{Conf: []string{"appendonly yes", "appendfsync always"}})
			return map[string]string{"HOLDPOINT_STORE": server.URL(), "HOLDPOINT_NAME": "e2e"}
		}},
	}
}

// onDurableStores runs test for each durable store, with a real LangGraph. env has the variables of
// a Holdpoint that uses the store.
func onDurableStores(t *testing.T, test func(t *testing.T, s durableStore, b *backend, env map[string]string)) {
	t.Helper()
	server := need(t, "langgraph", newestLangGraph)
	b := &backend{name: newestLangGraph + "-default", mode: "default", server: server}
	for _, s := range durableStores() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s, b, s.begin(t))
		})
	}
}

// dies kills a Holdpoint with SIGKILL, and starts a new one at the same address with the same
// store.
func dies(t *testing.T, h *holdpoint, b *backend, env map[string]string) *holdpoint {
	t.Helper()
	h.kill()
	return restart(t, h, b.url(), env)
}

// TestKilledBetweenQuestionAndAnswer: Holdpoint is killed and restarted twice: while a question is
// open, and after its answer was carried out. An answer after the first restart must find its
// question, and an approved action must run once. If the same answer is sent again after the second
// restart, it must get the recorded end.
func TestKilledBetweenQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	onDurableStores(t, func(t *testing.T, _ durableStore, b *backend, env map[string]string) {
		for _, sealed := range []bool{false, true} {
			env := maps.Clone(env)
			if sealed {
				env["HOLDPOINT_STORE_KEYS"] = "k1:" + strings.Repeat("A", 43) + "="
				env["HOLDPOINT_STORE"] = strings.Replace(env["HOLDPOINT_STORE"], "state.db", "sealed.db", 1)
				env["HOLDPOINT_NAME"] = "sealed"
			}
			h := ownHoldpoint(t, b.url(), env)
			w := world{b: b, h: h, version: newest}
			approved, denied, open := w.paused(t, "approve", 1), w.paused(t, "approve", 1), w.paused(t, "approve", 1)
			w.h = dies(t, h, b, env)
			reloaded := open.another(t)
			if a := reloaded.run(t, step{empty: true}).answer(t); ids(a.outcome()) != ids(open.pending) {
				t.Errorf("after a restart a reloaded page is told %s, want %s", ids(a.outcome()), ids(open.pending))
			}
			again := approved.another(t)
			yes := step{resume: []entry{accept(approved.pending[0].str("id"))}}
			first := approved.finish(t, yes)
			denied.finish(t, step{resume: []entry{reject(denied.pending[0].str("id"))}})
			w.h = dies(t, w.h, b, env)
			second := again.finish(t, yes)
			if got, want := len(second.of("MESSAGES_SNAPSHOT")), 1; got != want {
				t.Errorf("the replay has %d snapshots, want %d: %v; the first answer got %v", got, want, second.kinds(), first.kinds())
			}
			w.did(t, approved, 2, map[string]int{"delete": 1})
			w.did(t, denied, 2, nil)
			w.did(t, open, 1, nil)
			approved.goesOn(t, nil)
			reloaded.goesOn(t, no)
		}
	})
}

// A turn is a server that sends the requests to several Holdpoints in turn.
type turn struct {
	*httptest.Server
	at atomic.Int64
}

func inTurn(t *testing.T, all ...*holdpoint) *turn {
	t.Helper()
	r := &turn{}
	proxies := make([]http.Handler, len(all))
	for n, h := range all {
		target, err := url.Parse(h.address)
		if err != nil {
			t.Fatal(err)
		}
		proxies[n] = &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // see golang/go#40747
		proxies[int(r.at.Add(1)-1)%len(all)].ServeHTTP(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

// TestTwoReplicas: a balancer that ignores threads is in front of two replicas. One replica asks
// the question, and the other one gets the answer. When the first one gets the same answer, it must
// report the same end.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	onDurableStores(t, func(t *testing.T, s durableStore, b *backend, env map[string]string) {
		if !s.shared {
			// Only one process at a time can use a file. The second process must say that another
			// one has the file, and must not listen.
			first := ownHoldpoint(t, b.url(), env)
			if second, err := startHoldpoint(t.Name(), b.url(), env); err == nil || !strings.Contains(err.Error(), "another process has") {
				t.Errorf("a second process on the store: %v, %v", second, err)
			}
			first.kill()
			return
		}
		one, two := ownHoldpoint(t, b.url(), env), ownHoldpoint(t, b.url(), env)
		w := world{b: b, h: &holdpoint{address: inTurn(t, one, two).URL}, version: newest}
		approved, other := w.paused(t, "approve", 1), (*client)(nil)
		other = approved.another(t) // the page in another tab, whose answer reaches the first replica
		yes := step{resume: []entry{accept(approved.pending[0].str("id"))}}
		approved.finish(t, yes)
		other.finish(t, yes)
		w.did(t, approved, 2, map[string]int{"delete": 1})

		left := w.paused(t, "approve", 1)
		one.kill() // whichever replica has asked, the other has the question in the store
		w.h = two
		left.url = two.address + "/approve"
		moved := newClient(t, shared.through, newest, two.address+"/approve", left.thread, left.messages)
		moved.finish(t, step{resume: []entry{accept(left.pending[0].str("id"))}})
		w.did(t, moved, 2, map[string]int{"delete": 1})
		moved.goesOn(t, nil)
	})
}
