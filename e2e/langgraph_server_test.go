//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// LangGraph's own server, @langchain/langgraph-api 1.5.1 with @langchain/langgraph 1.4.18, as an
// AG-UI agent: no adapter stands between it and Holdpoint. Its graphs count what they do.

// ofServer is a Holdpoint before a graph of the server.
func ofServer(t *testing.T, s *server, graph string) *holdpoint {
	t.Helper()
	return ownHoldpoint(t, s.base(), map[string]string{
		"HOLDPOINT_DIALECT": "langgraph-server", "HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT": graph,
	})
}

func eachLangGraphServer(t *testing.T, graph string, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "langgraph-server", "1.5.1")
	h := ofServer(t, s, graph)
	for _, version := range []string{newest, pinned} {
		t.Run("client-"+version, func(t *testing.T) {
			test(t, world{b: &backend{name: "langgraph-server", server: s}, h: h, version: version})
		})
	}
}

var yesToServer = gives(map[string]any{"approved": true})

// What is approved runs once, with the arguments that were approved, and nothing else runs.
func TestLangGraphServerApprovals(t *testing.T) {
	no := gives(map[string]any{"approved": false})
	edited := gives(map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}})
	const both = "delete a.txt, delete b.txt"
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		for name, c := range map[string]struct {
			order   string
			answers []answer
			want    []string
		}{
			"approved":         {"delete a.txt", []answer{yesToServer}, []string{deleteA}},
			"denied":           {"delete a.txt", []answer{no}, nil},
			"cancelled":        {"delete a.txt", []answer{cancelled}, nil},
			"edited":           {"delete a.txt", []answer{edited}, []string{deleteC}},
			"yes, yes":         {both, []answer{yesToServer, yesToServer}, []string{deleteA, deleteB}},
			"yes, no":          {both, []answer{yesToServer, no}, []string{deleteA}},
			"no, yes":          {both, []answer{no, yesToServer}, []string{deleteB}},
			"no, no":           {both, []answer{no, no}, nil},
			"cancelled, yes":   {both, []answer{cancelled, yesToServer}, []string{deleteB}},
			"cancelled, both":  {both, []answer{cancelled, cancelled}, nil},
			"edited beside no": {both, []answer{edited, no}, []string{deleteC}},
		} {
			t.Run(name, func(t *testing.T) {
				cl := w.client(t, "")
				cl.asksAbout(t, step{say: c.order}, len(c.answers))
				cl.finish(t, cl.each(t, c.answers...))
				w.ran(t, cl, c.want...)
				cl.goesOn(t, nil)
				cl.asksAbout(t, step{say: "delete b.txt"}, 1) // one after the other
				cl.finish(t, cl.each(t, no))
				w.ran(t, cl, c.want...)
			})
		}
	})
}

// The contract holds: nothing but a whole, fresh answer reaches the server, and that once.
func TestLangGraphServerContract(t *testing.T) {
	const both = "delete a.txt, delete b.txt"
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		t.Run("a new message while it is open", func(t *testing.T) {
			cl := w.client(t, "")
			cl.asksAbout(t, step{say: "delete a.txt"}, 1)
			if a := cl.run(t, step{say: "plain", empty: true}).answer(t); a.code() != "PENDING_INTERRUPTS" {
				t.Errorf("code %q", a.code())
			}
			w.called(t, cl, 1)
		})
		t.Run("partial", func(t *testing.T) {
			cl := w.client(t, "")
			cl.asksAbout(t, step{say: both}, 2)
			s := step{resume: []entry{yesToServer(cl.pending[0].str("id"))}, empty: true}
			if a := cl.run(t, s).answer(t); a.code() != "PARTIAL_RESUME" {
				t.Errorf("code %q", a.code())
			}
			w.ran(t, cl)
			w.called(t, cl, 1)
		})
		t.Run("forged", func(t *testing.T) {
			cl := w.client(t, "")
			cl.asksAbout(t, step{say: "delete a.txt"}, 1)
			native, _, _ := strings.Cut(cl.pending[0].str("id"), "~")
			for _, id := range []string{native, native + "~AAAAAAAAAAAA", "x"} {
				if a := cl.run(t, step{resume: []entry{yesToServer(id)}, empty: true}).answer(t); a.code() != "UNKNOWN_INTERRUPT_ID" {
					t.Errorf("%s: code %q", id, a.code())
				}
			}
			w.ran(t, cl)
			w.called(t, cl, 1)
		})
		t.Run("replay, and three at once", func(t *testing.T) {
			cl := w.client(t, "")
			cl.asksAbout(t, step{say: "delete a.txt"}, 1)
			body := fmt.Sprintf(`{"threadId":%q,"runId":"r","state":{},"messages":[],"tools":[],"context":[],"forwardedProps":{},"resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true}}]}`,
				cl.thread, cl.pending[0].str("id"))
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() { cl.post(t, []byte(body)) })
			}
			all.Wait()
			if a := cl.post(t, []byte(body)); a.code() != "" || a.outcome() != nil {
				t.Errorf("a replay: %s", terminal(a))
			}
			w.ran(t, cl, deleteA)
			w.called(t, cl, 2)
		})
		t.Run("a message beside the answer", func(t *testing.T) {
			cl := w.client(t, "")
			cl.asksAbout(t, step{say: "delete a.txt"}, 1)
			s := cl.each(t, yesToServer)
			s.say = "plain and beside it"
			cl.finish(t, s)
			w.ran(t, cl, deleteA)
			w.called(t, cl, 3)
			if last := cl.messages[len(cl.messages)-1]; last.str("content") != "echo: plain and beside it" {
				t.Errorf("the client was told %v", indented(cl.messages))
			}
		})
		t.Run("past the record", func(t *testing.T) {
			cl := w.client(t, "")
			cl.asksAbout(t, step{say: "delete a.txt"}, 1)
			for _, path := range []string{"/threads/x/runs/stream", "/runs/wait", "/threads/x/state", "/a2a/agent"} {
				res, err := http.Post(w.h.address+path, "application/json", strings.NewReader(`{"assistant_id":"agent","command":{"resume":true}}`))
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode < 400 {
					t.Errorf("%s: %d", path, res.StatusCode)
				}
			}
			w.ran(t, cl)
		})
	})
}

// A question of no known shape beside a call: a cancel ends the task, and the next run's model is
// shown a result for the call. A false is handed on as the answer that it is.
func TestLangGraphServerFreeQuestion(t *testing.T) {
	eachLangGraphServer(t, "free", func(t *testing.T, w world) {
		for name, c := range map[string]struct {
			answer answer
			want   []string
		}{
			"yes": {gives("yes"), []string{deleteA}}, "no": {gives("no"), nil}, "false": {gives(false), nil}, "cancelled": {cancelled, nil},
		} {
			t.Run(name, func(t *testing.T) {
				cl := w.client(t, "")
				cl.asksAbout(t, step{say: "delete a.txt"}, 1)
				cl.finish(t, cl.each(t, c.answer))
				w.ran(t, cl, c.want...)
				complete(t, cl.messages, nil)
				cl.goesOn(t, nil)
				w.ran(t, cl, c.want...)
			})
		}
	})
}

func TestLangGraphServerBreakpoint(t *testing.T) {
	eachLangGraphServer(t, "stop", func(t *testing.T, w world) {
		for name, c := range map[string]struct {
			answer answer
			want   []string
		}{"yes": {yesToServer, []string{deleteA}}, "no": {gives(map[string]any{"approved": false}), nil}, "cancelled": {cancelled, nil}} {
			t.Run(name, func(t *testing.T) {
				cl := w.client(t, "")
				cl.asksAbout(t, step{say: "delete a.txt"}, 1)
				cl.finish(t, cl.each(t, c.answer))
				w.ran(t, cl, c.want...)
				cl.goesOn(t, nil)
				w.ran(t, cl, c.want...)
			})
		}
	})
}

// A connection that breaks in the middle of a run costs nothing: the run is joined again.
func TestLangGraphServerIsJoined(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		cl.asksAbout(t, step{say: "delete slow.txt"}, 1)
		cut(t, w, cl.thread)
		cl.finish(t, cl.each(t, yesToServer))
		w.ran(t, cl, `delete_file {"path":"slow.txt"}`)
		w.called(t, cl, 2)
		if last := cl.messages[len(cl.messages)-1]; last.str("content") != "done: deleted slow.txt" {
			t.Errorf("the client was told %v", last)
		}
	})
}

func cut(t *testing.T, w world, thread string) {
	t.Helper()
	told(t, w, "/cut/"+thread)
}

// told asks the port before the server for something.
func told(t *testing.T, w world, path string) {
	t.Helper()
	res, err := http.Get(w.b.server.base() + path)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d", path, res.StatusCode)
	}
}

// The server is killed while a person decides, and comes back without its threads. The client is
// told so, nothing runs, and the chat goes on.
func TestLangGraphServerLosesItsThreads(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		cl.asksAbout(t, step{say: "delete a.txt"}, 1)
		told(t, w, "/lose")
		cl.refused(t, cl.each(t, yesToServer), "BACKEND_LOST_INTERRUPT", false)
		w.ran(t, cl)
		cl.goesOn(t, nil)
		cl.asksAbout(t, step{say: "delete b.txt"}, 1)
		cl.finish(t, cl.each(t, yesToServer))
		w.ran(t, cl, deleteB)
	})
}

// The graph's error is told, and the thread goes on.
func TestLangGraphServerFails(t *testing.T) {
	eachLangGraphServer(t, "agent", func(t *testing.T, w world) {
		cl := w.client(t, "")
		a := cl.run(t, step{say: "throw", loose: true}).answer(t)
		if e := a.of("RUN_ERROR"); len(e) != 1 || e[0].str("message") != "kaput" {
			t.Errorf("%s", terminal(a))
		}
		cl.goesOn(t, nil)
	})
}
