//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdpoint/e2e/scripted"
)

// A turntable is an address with one path. The test can exchange the backend behind it.
type turntable struct {
	url string
	mu  sync.Mutex
	to  *url.URL
}

func newTurntable(t *testing.T) *turntable {
	table := &turntable{}
	through := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(req *httputil.ProxyRequest) {
			table.mu.Lock()
			defer table.mu.Unlock()
			to := *table.to
			req.Out.URL, req.Out.Host = &to, ""
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		// The request is read to its end first. Otherwise a fast response to a POST is cut off
		// (golang/go#40747).
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		through.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	table.url = server.URL
	return table
}

func (table *turntable) turn(t *testing.T, to string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	table.mu.Lock()
	defer table.mu.Unlock()
	table.to = u
}

// A guest is a backend for the turntable. say is the message at which the backend asks, and
// executed returns the actions that it ran on a thread.
type guest struct {
	name string
	url  string
	// The test inserts the thread id after each "@", because the Strands agents find their files by
	// it.
	say      string
	reason   string
	executed func(thread string) map[string]int
	want     map[string]int                    // what executed must return for a thread whose question was approved
	prepare  func(t *testing.T, thread string) // called before the guest asks; may be nil
}

// guests returns all backends that Holdpoint recognizes without a configured dialect.
func guests(t *testing.T) []guest {
	t.Helper()
	var list []guest
	add := func(a actor, say, reason, effect string) {
		p := theStage().play(a)
		list = append(list, guest{a.name, theStage().url + "/" + a.name + "/", say, reason, p.Executed, map[string]int{effect: 1}, nil})
	}
	for _, b := range shared.backends {
		list = append(list, guest{"langgraph-" + b.name, b.url() + "/approve", "go", "langgraph:interrupt",
			func(thread string) map[string]int { return b.ledger(t, thread).Counts }, map[string]int{"delete": 1}, nil})
	}
	for _, b := range shared.agents {
		if b.mode == "default" {
			list = append(list, guest{"agentframework-" + b.name, b.url() + "/approve", "go", "tool_call",
				func(thread string) map[string]int { return b.ledger(t, thread).Counts }, map[string]int{"delete_file": 1}, nil})
		}
	}
	strands := func(name string, w world, prepare func(t *testing.T, thread string)) {
		executed := func(thread string) map[string]int {
			counts := map[string]int{}
			for _, e := range w.b.ledger(t, thread).Effects {
				counts[e.Name]++
			}
			return counts
		}
		list = append(list, guest{name, w.b.url(), "delete a.txt @", "tool_call", executed, map[string]int{"delete_files": 1}, prepare})
	}
	strands("aws-strands-ts", shared.strands.world("agui/hook", newest), nil)
	for _, s := range shared.strandsPy {
		w := world{b: &backend{name: s.version, mode: "agui/gate", server: s}}
		strands("aws-strands-py-"+s.version, w, w.folder)
	}
	for _, a := range layouts() {
		add(a, "approve E-1", "tool_call", "E-1")
	}
	for _, a := range drafts() {
		if !a.strict {
			add(a, "approve E-1", "", "E-1")
		}
	}
	add(actor{name: "outcome", make: scripted.Outcome}, "approve E-1", "tool_call", "E-1")
	add(dotnet(), "approve E-1", "tool_call", "E-1")
	add(actor{name: "mastra-outcome", make: func(l *scripted.Ledger) *scripted.Server { return scripted.Mastra(true, l) }}, "approve E-1", "mastra:tool_suspend", "E-1")
	add(actor{name: "crewai-outcome", make: func(l *scripted.Ledger) *scripted.Server { return scripted.CrewAI(true, l) }}, "approve E-1", "crewai:human_feedback", "E-1")
	add(actor{name: "mastra", make: func(l *scripted.Ledger) *scripted.Server { return scripted.Mastra(false, l) }}, "approve E-1", "mastra:tool_suspend", "E-1")
	add(actor{name: "crewai", make: func(l *scripted.Ledger) *scripted.Server { return scripted.CrewAI(false, l) }}, "approve E-1", "crewai:human_feedback", "E-1")
	return list
}

// ask puts the guest on the turntable and sends its message say. It expects one question, with the
// guest's reason.
func (g guest) ask(t *testing.T, table *turntable, c *client) {
	t.Helper()
	table.turn(t, g.url)
	c.nulls = true
	if g.prepare != nil {
		g.prepare(t, c.thread)
	}
	a := c.run(t, step{say: strings.ReplaceAll(g.say, "@", "@"+c.thread)}).answer(t)
	if len(a.outcome()) != 1 || a.code() != "" || g.reason != "" && c.pending[0].str("reason") != g.reason {
		t.Errorf("%s: asked %s", g.name, terminal(a))
	}
	if got := g.executed(c.thread); len(got) > 0 {
		t.Errorf("%s: executed %v before it was answered", g.name, got)
	}
}

// resume approves the open question. It checks that the guest ran the approved action once, and
// that an ordinary turn works afterwards.
func (g guest) resume(t *testing.T, table *turntable, c *client) {
	t.Helper()
	table.turn(t, g.url)
	a := c.run(t, step{resume: c.answers(accept)}).answer(t)
	if a.code() != "" || a.outcome() != nil {
		t.Errorf("%s: the answer was met with %s", g.name, terminal(a))
	}
	c.goesOn(t, nil)
	if got := g.executed(c.thread); !maps.Equal(got, g.want) {
		t.Errorf("%s: executed %v, want %v", g.name, got, g.want)
	}
}

// TestEveryBackendInTurn: one Holdpoint, on one path and without a configured dialect, finds a
// different backend behind the path again and again. It must recognize each backend by that
// backend's own stream, whichever backend was there before. It must send an answer in the form of
// the backend that asked, whichever backend is there now.
func TestEveryBackendInTurn(t *testing.T) {
	t.Parallel()
	table := newTurntable(t)
	h := ownHoldpoint(t, table.url, nil)
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			list := guests(t)
			// Sorting by the length of the names mixes the families of backends.
			slices.SortFunc(list, func(a, b guest) int { return len(a.name) - len(b.name) })
			fresher := func() *client { return newClient(t, shared.through, version, h.address+"/agent", fresh("thread"), nil) }
			// First round: each backend asks and gets its answer before the next backend takes its
			// place.
			for _, g := range list {
				t.Run(g.name, func(t *testing.T) {
					c := fresher()
					g.ask(t, table, c)
					g.resume(t, table, c)
				})
			}
			slices.Reverse(list)
			waiting := map[string]*client{}
			// Second round: all backends ask. Then they get their answers, in another order.
			for _, g := range list {
				t.Run(g.name+" asks", func(t *testing.T) {
					waiting[g.name] = fresher()
					g.ask(t, table, waiting[g.name])
				})
			}
			slices.SortFunc(list, func(a, b guest) int { return strings.Compare(a.name, b.name) })
			for _, g := range list {
				t.Run(g.name+" is answered", func(t *testing.T) { g.resume(t, table, waiting[g.name]) })
			}
		})
	}
}
