//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A deskFamily is a backend whose questions are decided at the desk. It describes what differs
// between frameworks: how a client starts, what the backend asks, and how a test finds out which
// tools ran.
type deskFamily struct {
	name, version string // name of the backend, and version of the client
	env           map[string]string
	upstream      string
	b             *backend
	// client returns a new client with a new thread, for the Holdpoint of w.
	client func(t *testing.T, w world) *client
	// says returns a step that sends the order to the agent.
	says func(c *client, order string) step
	// These are orders for says. Order one makes the backend ask about a.txt. Order two makes it
	// ask about a.txt and b.txt at the same time. Order again makes it ask about a.txt, and, after
	// the answer, about b.txt. An order is "" if the backend cannot do that.
	one, two, again string
	// yes and no are the payloads that approve and deny a call.
	yes, no any
	// because: true means that a denial can contain a reason, which the backend gives to the model.
	because bool
	// ran checks that the backend deleted exactly these files, each of them once.
	ran  func(t *testing.T, w world, c *client, files ...string)
	gate *turnstile // between the Holdpoint and the backend, set by the test
	// anew: true means that an ordinary message starts the flow from the beginning, so the flow
	// asks its question again.
	anew bool
	// brief: true means that TestFamiliesKilledAtTheDesk leaves this family out, because another
	// family has the same framework in another mode or version.
	brief bool
	// strays: true means that the user's late answer looks like an answer to an unknown question.
	// If this answer is the last message of a request, Holdpoint refuses the request.
	strays bool
}

func plainly(_ *client, order string) step { return step{say: order} }

func agentClient(name string) func(*testing.T, world) *client {
	return func(t *testing.T, w world) *client { return w.client(t, name) }
}

func ranTools(t *testing.T, w world, c *client, files ...string) {
	t.Helper()
	want := make([]string, len(files))
	for n, file := range files {
		want[n] = fmt.Sprintf(`delete_file {"path":%q}`, file)
	}
	w.ran(t, c, want...)
}

// deskFamilies returns the families of all frameworks except LangGraph's AG-UI adapter and Agent
// Framework, which have tests of their own.
func deskFamilies(t *testing.T) (list []deskFamily) {
	t.Helper()
	confirmed, refused := map[string]any{"confirmed": true}, map[string]any{"confirmed": false}
	for n, version := range []string{"2.0.0", "2.68.0"} {
		s := need(t, "pydanticai", version)
		for _, mode := range []string{"stateless", "store"} {
			if !strings.Contains(strings.Join(s.modes, " "), mode) {
				continue
			}
			list = append(list, deskFamily{
				name: "pydantic-ai " + version + " " + mode, version: []string{pinned, newest}[n], upstream: s.base() + "/" + mode,
				b: &backend{name: "pydantic-ai " + version, mode: mode, server: s}, client: agentClient("agent"), says: plainly,
				one: "delete a.txt", two: "delete a.txt, delete b.txt", again: "delete a.txt; delete b.txt", yes: yes, no: no, because: true, ran: ranTools,
			})
		}
	}
	calling := need(t, "pydanticai", "1.107.10")
	list = append(list, deskFamily{
		name: "pydantic-ai 1.107.10 by calls", version: newest, env: callWords, upstream: calling.base() + "/calls",
		b: &backend{name: "pydantic-ai 1.107.10", mode: "calls", server: calling}, client: agentClient("agent"), says: plainly,
		one: "delete a.txt", two: "delete a.txt, delete b.txt", again: "delete a.txt; delete b.txt", yes: yes, no: no, because: true, ran: ranTools,
	})
	for n, s := range shared.strandsPy {
		version := []string{newest, pinned}[n%2]
		for _, place := range []string{"kept/docs", "fastapi/sse"} {
			if !s.has(place) {
				continue
			}
			list = append(list, deskFamily{
				name: "strands " + s.version + " " + place, version: version, env: named(t, place), upstream: s.base(),
				b:      &backend{name: s.version + " " + place, mode: place, server: s},
				client: func(t *testing.T, w world) *client { return w.clerk(t) }, says: (*client).wants,
				one: "delete a.txt", two: "pair a.txt b.txt", again: "each a.txt b.txt", yes: yes, no: no,
				ran: func(t *testing.T, w world, c *client, files ...string) { t.Helper(); w.gone(t, c, files...) },
			})
		}
		list = append(list, deskFamily{
			name: "ag_ui_strands " + s.version, version: version, upstream: s.base() + "/agui",
			b:      &backend{name: s.version + " gate", mode: "agui/gate", server: s},
			client: func(t *testing.T, w world) *client { return w.adapted(t, "gate") }, says: (*client).wants,
			one: "delete a.txt", two: "pair a.txt b.txt", again: "each a.txt b.txt", yes: yes, no: no,
			ran: func(t *testing.T, w world, c *client, files ...string) { t.Helper(); w.gone(t, c, files...) },
		})
	}
	for n, mode := range []string{"saved/hook", "agui/hook"} {
		if shared.strands == nil {
			break // E2E_FRAMEWORKS leaves Strands out
		}
		env, two := map[string]string{}, "delete a.txt and delete b.txt"
		if n == 0 {
			env, two = asStrands(), "" // a raw stream has only one of several questions
		}
		list = append(list, deskFamily{
			name: "strands-ts " + mode, version: []string{newest, pinned}[n], env: env, upstream: shared.strands.server.base(),
			b: &backend{name: mode, mode: mode, server: shared.strands.server}, client: func(t *testing.T, w world) *client { return w.person(t) },
			says: (*client).wants, one: "delete a.txt", two: two, again: "delete a.txt then delete b.txt", yes: yes, no: no,
			ran: func(t *testing.T, w world, c *client, files ...string) { t.Helper(); w.deleted(t, c, files...) },
		})
	}
	adk := need(t, "adk", "0.11.0")
	list = append(list, deskFamily{
		name: "adk", version: newest, upstream: adk.base() + "/outcome", b: &backend{name: "adk outcome", mode: "outcome", server: adk},
		client: agentClient("agent"), says: plainly, one: "delete a.txt", two: "delete a.txt, delete b.txt", yes: confirmed, no: refused, ran: ranTools,
	})
	ag2 := need(t, "ag2", "1.2.1")
	list = append(list, deskFamily{
		name: "ag2", version: pinned, upstream: ag2.base() + "/held", b: &backend{name: "ag2 held", mode: "held", server: ag2},
		client: agentClient("agent"), says: plainly, one: "delete a.txt", again: "delete a.txt; delete b.txt", yes: true, no: false, ran: ranTools,
	}, deskFamily{
		name: "ag2 with a proof", version: newest, upstream: ag2.base() + "/proof", b: &backend{name: "ag2 proof", mode: "proof", server: ag2},
		client: agentClient("agent"), says: plainly, one: "delete a.txt", yes: true, no: false, ran: ranTools,
	})
	mastra := need(t, "mastra", "1.1.2")
	list = append(list, deskFamily{
		name: "mastra", version: newest, upstream: mastra.base() + "/outcome", b: &backend{name: "mastra outcome", mode: "outcome", server: mastra},
		client: agentClient("agent"), says: plainly, one: "delete a.txt", yes: yes, no: no, ran: ranTools,
	}, deskFamily{
		name: "mastra free", version: pinned, upstream: mastra.base() + "/outcome", b: &backend{name: "mastra outcome", mode: "outcome", server: mastra},
		client: agentClient("free"), says: plainly, one: "delete a.txt", two: "delete a.txt, delete b.txt", yes: "yes", no: "no", ran: ranTools,
	})
	crew := need(t, "crewai", "1.0.0")
	list = append(list, deskFamily{
		name: "crewai", version: pinned, upstream: crew.base() + "/outcome", b: &backend{name: "crewai outcome", mode: "outcome", server: crew},
		client: agentClient("gate"), says: plainly, one: "go", yes: "approved", no: "rejected", ran: ranTools, anew: true,
	})
	return append(list, askingByCalls(t)...)
}

// askingByCalls returns two kinds of backends: LangGraph's own servers, and backends that ask in a
// format of their own, without the interrupt outcome.
func askingByCalls(t *testing.T) []deskFamily {
	t.Helper()
	const two, again = "delete a.txt, delete b.txt", "delete a.txt then delete b.txt"
	adk, agno, crew, mastra := need(t, "adk", "0.7.1"), need(t, "agno", "3.1.10"), need(t, "crewai", "1.0.0"), need(t, "mastra", "1.1.2")
	list := []deskFamily{{
		name: "adk by calls", version: pinned, upstream: adk.base() + "/default", b: &backend{name: "adk default", mode: "default", server: adk},
		client: agentClient("agent"), one: "delete a.txt", two: two, again: again,
		yes: map[string]any{"confirmed": true}, no: map[string]any{"confirmed": false}, strays: true,
	}, {
		name: "agno", version: newest, upstream: agno.base() + "/default", b: &backend{name: "agno", mode: "default", server: agno},
		client: agentClient("agui"), one: "delete a.txt", two: two, again: again,
		yes: map[string]any{"accepted": true}, no: map[string]any{"accepted": false},
	}, {
		name: "crewai, announced", version: newest, upstream: crew.base() + "/default", b: &backend{name: "crewai default", mode: "default", server: crew},
		client: agentClient("gate"), one: "go", yes: "approved", no: "rejected", anew: true,
	}, {
		name: "mastra, announced", version: pinned, upstream: mastra.base() + "/quiet", b: &backend{name: "mastra quiet", mode: "quiet", server: mastra},
		client: agentClient("agent"), one: "delete a.txt", again: again, yes: yes, no: no,
	}, {
		name: "mastra by calls", version: newest, upstream: mastra.base() + "/quiet", b: &backend{name: "mastra quiet", mode: "quiet", server: mastra},
		env: map[string]string{"HOLDPOINT_DIALECT": "mastra"}, client: agentClient("guarded"), one: "delete a.txt", two: two, again: again, yes: yes, no: no,
	}}
	for name, s := range langGraphServers {
		one := need(t, s.framework, s.version)
		list = append(list, deskFamily{
			name: "langgraph-server " + name, version: newest, upstream: one.base(), b: &backend{name: name, server: one},
			env:    map[string]string{"HOLDPOINT_DIALECT": "langgraph-server", "HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT": "agent"},
			client: agentClient(""), one: "delete a.txt", two: two, again: again, yes: yes, no: no, because: true,
		})
	}
	for n := range list {
		list[n].says, list[n].ran, list[n].brief = plainly, ranTools, true
	}
	return list
}

// at returns a world with the family's backend and the Holdpoint h.
func (f *deskFamily) at(h *holdpoint) world { return world{b: f.b, h: h, version: f.version} }

// decides answers the n-th question of an approval at the desk with the payload says. If says is
// the family's yes or no, and the desk knows how to approve or deny the question, decides sends the
// decision approve or deny instead of the payload.
func (f *deskFamily) decides(t *testing.T, d *deskAPI, approval map[string]any, n int, says any) {
	t.Helper()
	q := approval["questions"].([]any)[n].(map[string]any)
	switch {
	case q["yesKnown"] == true && text(says) == text(f.yes):
		d.decide(t, approval, n, "approve", nil)
	case q["noKnown"] == true && text(says) == text(f.no):
		d.decide(t, approval, n, "deny", nil)
	default:
		d.decide(t, approval, n, "answer", says)
	}
}

// asked makes a new client send an order. The run must end with n questions. asked returns the
// client and the approval in which the desk shows these questions.
func (f *deskFamily) asked(t *testing.T, d *deskAPI, order string, n int) (*client, map[string]any) {
	t.Helper()
	c := f.client(t, f.at(d.h))
	c.asksAbout(t, f.says(c, order), n)
	a := d.waiting(t, c.thread)
	if a["waitsForChat"] != nil {
		t.Fatalf("it waits for the chat: %v", a["waitsForChat"])
	}
	return c, a
}

// finished waits until the approval has ended, and checks that its end is "finished", without an
// error.
func (d *deskAPI) finished(t *testing.T, approval map[string]any) {
	t.Helper()
	if end := d.ended(t, approval); end["how"] != "finished" || end["error"] != nil {
		t.Fatalf("it ended so: %v", end)
	}
}

// reloads plays a reload of the chat's page: a new client sends a request without a new message.
// The request must get the end of the run, and the backend must not be called. reloads returns the
// new client.
func (f *deskFamily) reloads(t *testing.T, w world, c *client) *client {
	t.Helper()
	before := w.b.ledger(t, c.thread)
	again := c.another(t)
	again.finish(t, step{empty: true})
	if after := w.b.ledger(t, c.thread); len(after.Runs) != len(before.Runs) || len(after.Seen) != len(before.Seen) {
		t.Errorf("the reload had the backend run: %d runs and %d models, before %d and %d", len(after.Runs), len(after.Seen), len(before.Runs), len(before.Seen))
	}
	inOrder(t, again.messages)
	return again
}

// lives checks that an ordinary message continues the chat, and that the backend has deleted only
// these files.
func (f *deskFamily) lives(t *testing.T, w world, c *client, files ...string) {
	t.Helper()
	if f.anew {
		c.asksAbout(t, step{say: "once more", empty: true}, 1)
	} else {
		c.goesOn(t, no)
		inOrder(t, c.messages)
		inOrder(t, f.gate.history(c.thread))
		w.shown(t, c)
	}
	f.ran(t, w, c, files...)
}

// inOrder checks a list of messages. No message id may occur twice. Each tool call must have one
// result, which comes after the call and before the user's next message. There is one exception:
// ADK asks its question by a tool call, and leaves that call in the history without a result.
func inOrder(t *testing.T, messages []event) {
	t.Helper()
	seen, open := map[string]bool{}, map[string]string{}
	for _, m := range messages {
		if id := m.str("id"); id == "" || seen[id] {
			t.Errorf("message id %q is missing or there twice: %s", id, indented(messages))
		} else {
			seen[id] = true
		}
		list, _ := m["toolCalls"].([]any)
		for _, one := range list {
			open[event(one.(map[string]any)).str("id")] = "called"
		}
		switch m.str("role") {
		case "user":
			for id, at := range open {
				if at == "called" {
					open[id] = "left"
				}
			}
		case "tool":
			if at := open[m.str("toolCallId")]; at == "left" || at == "answered" {
				t.Errorf("a result for a call that is %s: %s", at, indented(messages))
			}
			open[m.str("toolCallId")] = "answered"
		}
	}
}

// TestFamiliesDecidedAtTheDesk: the chat's client has left, and the question is decided at the
// desk. In every framework the decision must be carried out once, and the chat must get the result
// when it comes back.
func TestFamiliesDecidedAtTheDesk(t *testing.T) {
	t.Parallel()
	for _, f := range deskFamilies(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.gate = newTurnstile(t, f.upstream)
			d := newDeskOf(t, f.gate.URL, f.env)
			w := f.at(d.h)
			decided := func(t *testing.T, says any) *client {
				t.Helper()
				c, a := f.asked(t, d, f.one, 1)
				f.ran(t, w, c)
				f.decides(t, d, a, 0, says)
				d.finished(t, a)
				return c
			}
			t.Run("a reload, then a message", func(t *testing.T) {
				c := decided(t, f.yes)
				f.ran(t, w, c, "a.txt")
				again := f.reloads(t, w, c)
				f.lives(t, w, again, "a.txt")
			})
			t.Run("a message", func(t *testing.T) {
				c := decided(t, f.yes)
				f.lives(t, w, c, "a.txt")
			})
			t.Run("the same answer", func(t *testing.T) {
				c := decided(t, f.yes)
				c.finish(t, step{resume: c.answers(gives(f.yes))})
				f.ran(t, w, c, "a.txt")
				f.lives(t, w, c, "a.txt")
			})
			t.Run("another answer", func(t *testing.T) {
				c := decided(t, f.yes)
				c.refused(t, step{resume: c.answers(gives(f.no))}, "RESUME_CONFLICT", false)
				f.ran(t, w, c, "a.txt")
				f.lives(t, w, c, "a.txt")
			})
			t.Run("denied", func(t *testing.T) {
				c := decided(t, f.no)
				f.ran(t, w, c)
				f.lives(t, w, f.reloads(t, w, c))
			})
			t.Run("denied, with a reason", func(t *testing.T) {
				c, a := f.asked(t, d, f.one, 1)
				q := a["questions"].([]any)[0].(map[string]any)
				path := fmt.Sprintf("/v1/approvals/%s/questions/%s", a["id"], q["id"])
				body := map[string]any{"decision": "deny", "digest": q["digest"], "reason": "not in this house", "comment": "between us"}
				if !f.because {
					if code := d.call(t, http.StatusUnprocessableEntity, "POST", path, body)["code"]; code != "REASON_NOT_TAKEN" && code != "DECISION_NOT_KNOWN" {
						t.Errorf("a reason that has no place: %v", code)
					}
					return
				}
				d.call(t, http.StatusOK, "POST", path, body)
				d.finished(t, a)
				f.ran(t, w, c)
				seen := w.b.ledger(t, c.thread).Seen
				if told := text(seen[len(seen)-1]); !contains(told, "not in this house") || contains(told, "between us") {
					t.Errorf("the model was told %s", told)
				}
				f.lives(t, w, f.reloads(t, w, c))
			})
			t.Run("asks again", func(t *testing.T) {
				if f.again == "" {
					return // it asks only for all at once
				}
				c, a := f.asked(t, d, f.again, 1)
				f.decides(t, d, a, 0, f.yes)
				d.finished(t, a)
				f.ran(t, w, c, "a.txt")
				next := d.waiting(t, c.thread)
				if next["waitsForChat"] != nil {
					t.Fatalf("the next question waits for the chat: %v", next["waitsForChat"])
				}
				again := c.another(t)
				if told := again.run(t, step{empty: true}).answer(t).outcome(); len(told) != 1 || told[0].str("id") != next["questions"].([]any)[0].(map[string]any)["id"] {
					t.Fatalf("a reload is told %v, and there waits %v", told, next["questions"])
				}
				f.decides(t, d, next, 0, f.yes)
				d.finished(t, next)
				f.ran(t, w, c, "a.txt", "b.txt")
				f.lives(t, w, f.reloads(t, w, again), "a.txt", "b.txt")
			})
			for _, mix := range []struct {
				name string
				desk [2]any // the desk's answer to each question; nil: the chat answers it
				chat any    // the chat's answer to the other questions
				want []string
			}{
				{"both", [2]any{f.yes, f.yes}, nil, []string{"a.txt", "b.txt"}},
				{"the first of both", [2]any{f.yes, f.no}, nil, []string{"a.txt"}},
				{"the second of both", [2]any{f.no, f.yes}, nil, []string{"b.txt"}},
				{"one, and one in the chat", [2]any{f.yes, nil}, f.yes, []string{"a.txt", "b.txt"}},
				{"the second, and the first denied in the chat", [2]any{nil, f.yes}, f.no, []string{"b.txt"}},
				{"one denied, and one in the chat", [2]any{f.no, nil}, f.yes, []string{"b.txt"}},
			} {
				t.Run("two: "+mix.name, func(t *testing.T) {
					if f.two == "" {
						return // it asks one question after the other
					}
					c, a := f.asked(t, d, f.two, 2)
					for n, says := range mix.desk {
						if says != nil {
							f.decides(t, d, a, n, says)
						}
					}
					again := c.another(t)
					if mix.chat == nil {
						d.finished(t, a)
						again = f.reloads(t, w, c)
					} else {
						if left := again.run(t, step{empty: true}).answer(t); len(left.outcome()) != 1 {
							t.Fatalf("asked for %d things: %s", len(left.outcome()), terminal(left))
						}
						f.ran(t, w, c)
						again.finish(t, again.each(t, gives(mix.chat)))
					}
					f.ran(t, w, c, mix.want...)
					f.lives(t, w, again, mix.want...)
				})
			}
		})
	}
}

// A turnstile is a proxy in front of a backend. It can hold one request, either before the backend
// gets the request or after the backend has answered.
type turnstile struct {
	*httptest.Server
	through http.Handler

	mu     sync.Mutex
	holds  string // "before", "behind" or ""
	inside chan struct{}
	last   map[string][]event // the messages of the last request of each thread that had messages
}

func newTurnstile(t *testing.T, target string) *turnstile {
	t.Helper()
	g := &turnstile{through: reverse(t, target), last: map[string][]event{}}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

// hold makes the turnstile hold the next request. where is "before" or "behind". The returned
// channel is closed when a request is held.
func (g *turnstile) hold(where string) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.holds, g.inside = where, make(chan struct{})
	return g.inside
}

// comes records a request. It returns the place at which the turnstile must hold the request, or
// "", and the channel to close when it is held.
func (g *turnstile) comes(method string, body []byte) (holds string, inside chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if method != http.MethodPost {
		return "", nil
	}
	var in struct {
		ThreadID string
		Messages []event
	}
	if json.Unmarshal(body, &in) == nil && in.ThreadID != "" {
		g.last[in.ThreadID] = in.Messages
	}
	holds, inside, g.holds = g.holds, g.inside, ""
	return holds, inside
}

// history returns the messages in the last request of the thread that reached the turnstile.
func (g *turnstile) history(thread string) []event {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last[thread]
}

func reverse(t *testing.T, to string) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex() // golang/go#40747: else a fast answer to a POST is cut
		proxy.ServeHTTP(w, r)
	})
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("what was decided is not sent")
	}
}

func (g *turnstile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	holds, inside := g.comes(r.Method, body)
	if holds == "" {
		g.through.ServeHTTP(w, r)
		return
	}
	if holds == "behind" {
		done := httptest.NewRecorder()
		g.through.ServeHTTP(done, r.WithContext(context.WithoutCancel(r.Context())))
		w.Header().Set("Content-Type", done.Header().Get("Content-Type"))
		first, _, _ := bytes.Cut(done.Body.Bytes(), []byte("\n\n"))
		w.WriteHeader(done.Code)
		_, _ = w.Write(append(first, "\n\n"...))
		_ = http.NewResponseController(w).Flush()
	}
	close(inside)
	<-r.Context().Done()
}

// TestFamiliesKilledAtTheDesk: a person decides at the desk, and Holdpoint is killed at one of
// three moments. The first is before Holdpoint claims the decision: the next process must carry it
// out. The second is after the claim, before the backend has the answer. The third is after the
// backend has carried out the answer, before a client learns the result. At the second and third
// moment nobody knows whether the action ran, so the next process must not send the answer again.
func TestFamiliesKilledAtTheDesk(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, 7) // each test waits for a lease most of the time, so it does not count for -parallel
	for _, f := range deskFamilies(t) {
		if f.brief {
			continue
		}
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			t.Run(f.name, func(t *testing.T) { killedAtTheDesk(t, f) })
		})
	}
}

func killedAtTheDesk(t *testing.T, f deskFamily) {
	g := newTurnstile(t, f.upstream)
	f.gate = g
	env := map[string]string{
		"HOLDPOINT_STORE":      "bolt://" + filepath.ToSlash(filepath.Join(t.TempDir(), "state.db")),
		"HOLDPOINT_STORE_KEYS": "k1:" + strings.Repeat("A", 43) + "=", "HOLDPOINT_NAME": "e2e",
	}
	for key, value := range f.env {
		env[key] = value
	}
	// With this setting the first process records decisions at the desk, but does not send them.
	quiet := map[string]string{"HOLDPOINT_DESK_CARRY_WITHIN": "0"}
	d := newDeskOf(t, g.URL, env, quiet)
	c, a := f.asked(t, d, f.one, 1)
	f.decides(t, d, a, 0, f.yes)
	d.dies(t, g.URL, env)
	d.finished(t, a)
	w := f.at(d.h)
	f.ran(t, w, c, "a.txt")

	claimed, approval := f.asked(t, d, f.one, 1)
	done, second := f.asked(t, d, f.one, 1)
	inside := g.hold("before")
	f.decides(t, d, approval, 0, f.yes)
	await(t, inside)
	inside = g.hold("behind")
	f.decides(t, d, second, 0, f.yes)
	await(t, inside)
	d.dies(t, g.URL, env)
	w = f.at(d.h)
	again := f.reloads(t, w, c)
	f.lives(t, w, again, "a.txt")
	var both sync.WaitGroup
	for c, files := range map[*client][]string{claimed: nil, done: {"a.txt"}} {
		both.Go(func() {
			again := c.another(t)
			again.refused(t, step{empty: true}, "RESUME_IN_DOUBT", false)
			f.ran(t, w, c, files...)
			again.run(t, again.denying(step{say: "plain " + fresh("n")}, no))
			f.ran(t, w, c, files...)
		})
	}
	both.Wait()
}
