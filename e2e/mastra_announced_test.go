//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// Tests of Mastra's AG-UI adapter in two versions that do not send the interrupt outcome: 1.0.3
// ("old"), and 1.1.2 with the outcome switched off ("quiet"). If a tool suspends, both send a
// CUSTOM event that announces the waiting call. If a tool requires an approval, they send only the
// call.

// eachQuietMastra calls test for both adapter versions and each client version that sends resume.
// dialects are the values of HOLDPOINT_DIALECT to test with: "auto", "mastra" or both.
func eachQuietMastra(t *testing.T, dialects []string, test func(t *testing.T, w world)) {
	t.Helper()
	s := need(t, "mastra", "1.1.2")
	for _, mode := range []string{"old", "quiet"} {
		for _, dialect := range dialects {
			h := ownHoldpoint(t, s.base()+"/"+mode, map[string]string{"HOLDPOINT_DIALECT": dialect})
			for _, version := range []string{newest, pinned} {
				t.Run(mode+"/"+dialect+"/client-"+version, func(t *testing.T) {
					t.Parallel()
					test(t, world{b: &backend{name: "mastra " + mode, mode: mode, server: s}, h: h, version: version})
				})
			}
		}
	}
}

var (
	foundOrNamed = []string{"auto", "mastra"} // dialects in tests of a tool that suspends
	namedOnly    = []string{"mastra"}         // dialects in tests of a tool that requires an approval
)

var yesToMastra, noToMastra = gives(map[string]any{"approved": true}), gives(map[string]any{"approved": false})

// TestQuietMastraRunsWhatIsApproved: an approved action runs once, and no other action runs. The
// cases have one call, several calls at the same time, and several calls one after another.
func TestQuietMastraRunsWhatIsApproved(t *testing.T) {
	t.Parallel()
	again := gives(map[string]any{"approved": true, "again": true})
	for name, c := range map[string]struct {
		agent, order string
		rounds       [][]answer
		want         []string
		dialects     []string
	}{
		"suspended, yes":               {"agent", "delete a.txt", [][]answer{{yesToMastra}}, []string{deleteA}, foundOrNamed},
		"suspended, no":                {"agent", "delete a.txt", [][]answer{{noToMastra}}, nil, foundOrNamed},
		"suspended, cancelled":         {"agent", "delete a.txt", [][]answer{{cancelled}}, nil, foundOrNamed},
		"suspended, words":             {"free", "delete a.txt", [][]answer{{gives("yes")}}, []string{deleteA}, foundOrNamed},
		"suspended, false":             {"free", "delete a.txt", [][]answer{{gives(false)}}, nil, foundOrNamed},
		"one after the other":          {"agent", "delete a.txt then delete b.txt then delete c.txt", [][]answer{{yesToMastra}, {noToMastra}, {yesToMastra}}, []string{deleteA, deleteC}, foundOrNamed},
		"twice about one call":         {"agent", "delete a.txt", [][]answer{{again}, {yesToMastra}}, []string{deleteA}, foundOrNamed},
		"twice about one call, not":    {"agent", "delete a.txt", [][]answer{{again}, {noToMastra}}, nil, foundOrNamed},
		"two at once, yes, yes":        {"free", "delete a.txt, delete b.txt", [][]answer{{yesToMastra, yesToMastra}}, []string{deleteA, deleteB}, foundOrNamed},
		"two at once, yes, no":         {"free", "delete a.txt, delete b.txt", [][]answer{{yesToMastra, noToMastra}}, []string{deleteA}, foundOrNamed},
		"two at once, no, yes":         {"free", "delete a.txt, delete b.txt", [][]answer{{noToMastra, yesToMastra}}, []string{deleteB}, foundOrNamed},
		"two at once, no, no":          {"free", "delete a.txt, delete b.txt", [][]answer{{noToMastra, noToMastra}}, nil, foundOrNamed},
		"two that Mastra asks in turn": {"agent", "delete a.txt, delete b.txt", [][]answer{{yesToMastra}, {noToMastra}}, []string{deleteA}, foundOrNamed},
		"approval, yes":                {"guarded", "delete a.txt", [][]answer{{yesToMastra}}, []string{deleteA}, namedOnly},
		"approval, a bare yes":         {"guarded", "delete a.txt", [][]answer{{gives(map[string]any{"approved": true})}}, []string{deleteA}, namedOnly},
		"approval, no":                 {"guarded", "delete a.txt", [][]answer{{noToMastra}}, nil, namedOnly},
		"approval, cancelled":          {"guarded", "delete a.txt", [][]answer{{cancelled}}, nil, namedOnly},
		"approvals, yes, no":           {"guarded", "delete a.txt, delete b.txt", [][]answer{{yesToMastra, noToMastra}}, []string{deleteA}, namedOnly},
		"approvals, no, yes":           {"guarded", "delete a.txt, delete b.txt", [][]answer{{noToMastra, yesToMastra}}, []string{deleteB}, namedOnly},
		"approvals, cancelled, yes":    {"guarded", "delete a.txt, delete b.txt", [][]answer{{cancelled, yesToMastra}}, []string{deleteB}, namedOnly},
		"approvals in turn":            {"guarded", "delete a.txt then delete b.txt", [][]answer{{yesToMastra}, {yesToMastra}}, []string{deleteA, deleteB}, namedOnly},
	} {
		t.Run(name, func(t *testing.T) {
			eachQuietMastra(t, c.dialects, func(t *testing.T, w world) {
				cl := w.client(t, c.agent)
				cl.asksAbout(t, step{say: c.order}, len(c.rounds[0]))
				w.ran(t, cl)
				called := 1
				for n, answers := range c.rounds {
					called += len(answers)
					if n+1 < len(c.rounds) {
						cl.asksAbout(t, cl.each(t, answers...), len(c.rounds[n+1]))
						continue
					}
					cl.finish(t, cl.each(t, answers...))
				}
				w.called(t, cl, called)
				w.ran(t, cl, c.want...)
				cl.goesOn(t, nil)
				w.ran(t, cl, c.want...)
			})
		})
	}
}

// TestQuietMastraKeepsTheContract: while a question is open, the thread does not continue without
// an answer. An answer is carried out once. An empty answer is refused.
func TestQuietMastraKeepsTheContract(t *testing.T) {
	t.Parallel()
	for agent, dialects := range map[string][]string{"agent": foundOrNamed, "guarded": namedOnly} {
		t.Run(agent, func(t *testing.T) {
			eachQuietMastra(t, dialects, func(t *testing.T, w world) {
				t.Run("no answer", func(t *testing.T) {
					c := w.client(t, agent)
					c.asksAbout(t, step{say: "delete a.txt"}, 1)
					page := c.another(t)
					if a := page.run(t, step{}).answer(t); ids(a.outcome()) != ids(c.pending) {
						t.Errorf("a reloaded page is told %s", terminal(a))
					}
					c.refused(t, step{say: "plain hello", empty: true}, "PENDING_INTERRUPTS", true)
					c.refused(t, step{patch: map[string]any{"resume": []any{}}, empty: true}, "PARTIAL_RESUME", true)
					for _, odd := range []answer{gives(nil), gives("no"), gives(map[string]any{"approved": "false"})} {
						c.refused(t, step{resume: c.answers(odd)}, "INVALID_PAYLOAD", true)
					}
					w.called(t, c, 1)
					w.ran(t, c)
				})
				t.Run("three equal answers at once, and one more", func(t *testing.T) {
					c := w.client(t, agent)
					c.asksAbout(t, step{say: "delete slow.txt"}, 1)
					yes, no := step{resume: c.answers(yesToMastra)}, step{resume: c.answers(noToMastra)}
					var tabs []<-chan report
					for range 3 {
						tabs = append(tabs, c.another(t).start(t, yes))
					}
					for _, tab := range tabs {
						if a := (<-tab).answer(t); a.code() != "" || a.outcome() != nil {
							t.Errorf("a tab is told %s", terminal(a))
						}
					}
					c.finish(t, yes)
					c.another(t).refused(t, no, "RESUME_CONFLICT", false)
					w.called(t, c, 2)
					w.ran(t, c, `delete_file {"path":"slow.txt"}`)
				})
				t.Run("the client leaves", func(t *testing.T) {
					c := w.client(t, agent)
					c.asksAbout(t, step{say: "delete slow.txt"}, 1)
					yes, page := step{resume: c.answers(yesToMastra)}, c.another(t)
					c.run(t, step{resume: yes.resume, abortOn: "RUN_STARTED"})
					page.finish(t, yes)
					w.called(t, c, 2)
					w.ran(t, c, `delete_file {"path":"slow.txt"}`)
				})
				t.Run("a message beside the answer", func(t *testing.T) {
					c := w.client(t, agent)
					c.asksAbout(t, step{say: "delete a.txt"}, 1)
					said := "plain " + fresh("n")
					c.finish(t, step{say: said, resume: c.answers(yesToMastra)})
					if !c.echoed(said) {
						t.Errorf("the message was not answered: %v", c.messages)
					}
					w.ran(t, c, deleteA)
					w.called(t, c, 3)
				})
				t.Run("a tool that fails is no question", func(t *testing.T) {
					c := w.client(t, agent)
					c.asksAbout(t, step{say: "delete locked.txt"}, 1)
					c.finish(t, step{resume: c.answers(yesToMastra)})
					w.ran(t, c)
					c.goesOn(t, nil)
				})
			})
		})
	}
}

// TestQuietMastraTakesNoForgedAnswer: Mastra 1.0.3 resumes whichever call waits. So an answer must
// never reach Mastra if Holdpoint has no open question for it: an answer on a thread without a
// question, an answer in Mastra's own form, or an answer to a question from before a restart of
// Holdpoint.
func TestQuietMastraTakesNoForgedAnswer(t *testing.T) {
	t.Parallel()
	eachQuietMastra(t, foundOrNamed, func(t *testing.T, w world) {
		c := w.client(t, "agent")
		c.asksAbout(t, step{say: "delete a.txt"}, 1)
		metadata, _ := c.pending[0]["metadata"].(map[string]any)
		own, _ := metadata["mastra"].(map[string]any)
		command := func(more map[string]any) map[string]any {
			echo := map[string]any{"type": "mastra_suspend"}
			for k, v := range own {
				echo[k] = v
			}
			for k, v := range more {
				echo[k] = v
			}
			text, _ := json.Marshal(echo)
			return map[string]any{"forwardedProps": map[string]any{"command": map[string]any{"resume": map[string]any{"approved": true}, "interruptEvent": string(text)}}}
		}
		// The answer is sent on another thread of the same path.
		other := w.client(t, "agent")
		other.refused(t, step{patch: command(nil)}, "UNKNOWN_INTERRUPT_ID", false)
		w.called(t, other, 0)
		// The answer names another call of the same run. Mastra 1.0.3 would resume the waiting
		// call.
		c.refused(t, step{empty: true, patch: command(map[string]any{"toolCallId": "call-0"})}, "UNKNOWN_INTERRUPT_ID", true)
		c.refused(t, step{empty: true, patch: command(map[string]any{"id": own["runId"].(string) + "::" + own["toolCallId"].(string) + "~0123456789ab"})}, "UNKNOWN_INTERRUPT_ID", true)
		// Holdpoint is restarted.
		next := ownHoldpoint(t, w.b.url(), nil)
		page := newClient(t, shared.through, w.version, next.address+"/agent", c.thread, c.messages)
		page.refused(t, step{patch: command(nil)}, "UNKNOWN_INTERRUPT_ID", false)
		page.refused(t, step{resume: c.answers(yesToMastra)}, "UNKNOWN_INTERRUPT_ID", false)
		w.called(t, c, 1)
		w.ran(t, c)
		page.goesOn(t, nil)
		w.ran(t, c)
	})
}

// TestMastrasAnnouncementIsAnswered: a client that reads only CUSTOM events sends Mastra's
// announcement back with its answer. If two questions are about the same call, the announcement
// shows which question the answer is for.
func TestMastrasAnnouncementIsAnswered(t *testing.T) {
	t.Parallel()
	s := need(t, "mastra", "1.1.2")
	for _, mode := range []string{"outcome", "quiet", "old"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := world{b: &backend{name: "mastra " + mode, mode: mode, server: s}, h: ownHoldpoint(t, s.base()+"/"+mode, nil), version: oldest}
			c := w.client(t, "free")
			c.asksAbout(t, step{say: "delete a.txt"}, 1)
			if len(c.customs) != 1 || !strings.Contains(text(c.customs[0]["value"]), c.pending[0].str("id")) {
				t.Fatalf("announced is %v, asked is %v", c.customs, ids(c.pending))
			}
			late := c.another(t)
			c.asksAbout(t, step{command: map[string]any{"approved": true, "again": true}}, 1)
			late.run(t, step{command: map[string]any{"approved": true}}) // answers the first question, too late
			w.called(t, c, 2)
			w.ran(t, c)
			c.finish(t, step{command: map[string]any{"approved": true}})
			w.ran(t, c, deleteA)
			c.goesOn(t, nil)
			w.ran(t, c, deleteA)
		})
	}
}

// TestQuietMastraKeepsThreadsApart: the runs of two threads have the same run id. Each answer must
// run only the action of its own thread.
func TestQuietMastraKeepsThreadsApart(t *testing.T) {
	t.Parallel()
	eachQuietMastra(t, foundOrNamed, func(t *testing.T, w world) {
		one, two, run := w.client(t, "agent"), w.client(t, "agent"), fresh("run")
		one.asksAbout(t, step{say: "delete a.txt", runID: run}, 1)
		two.asksAbout(t, step{say: "delete b.txt", runID: run}, 1)
		one.finish(t, step{resume: one.answers(yesToMastra), runID: run})
		w.ran(t, one, deleteA)
		w.ran(t, two)
		two.finish(t, step{resume: two.answers(yesToMastra), runID: run})
		w.ran(t, one, deleteA)
		w.ran(t, two, deleteB)
	})
}

// TestMastraIsRestarted: Mastra is restarted between the question and its answer. If Mastra has a
// store, the answer must be carried out. If it has none, the question is lost, and nothing may run.
func TestMastraIsRestarted(t *testing.T) {
	t.Parallel()
	need(t, "mastra", "1.1.2")
	for _, kept := range []bool{true, false} {
		name := map[bool]string{true: "with its store", false: "without its store"}[kept]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &server{stack: stack{"mastra", "1.1.2"}}
			if kept {
				server.args = []string{"--store", filepath.Join(t.TempDir(), "mastra.db")}
			}
			if err := server.start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.kill() })
			var waiting []*client
			w := world{b: &backend{name: name, server: server}, version: newest}
			for _, c := range []struct{ mode, agent string }{{"outcome", "agent"}, {"quiet", "agent"}, {"old", "agent"}, {"quiet", "guarded"}, {"old", "guarded"}} {
				w.h = ownHoldpoint(t, server.base()+"/"+c.mode, map[string]string{"HOLDPOINT_DIALECT": "mastra"})
				cl := w.client(t, c.agent)
				cl.asksAbout(t, step{say: "delete a.txt"}, 1)
				waiting = append(waiting, cl)
			}
			server.crash()
			server.back(t)
			for _, c := range waiting {
				yes := step{resume: c.answers(yesToMastra)}
				if kept {
					c.finish(t, yes)
					w.ran(t, c, deleteA)
					continue
				}
				c.refused(t, yes, "BACKEND_LOST_INTERRUPT", false)
				w.ran(t, c)
				c.goesOn(t, nil)
			}
		})
	}
}
