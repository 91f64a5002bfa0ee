//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCrewAIKeepsTheContract: a flow must not continue without an answer, and each answer must be
// carried out once.
func TestCrewAIKeepsTheContract(t *testing.T) {
	t.Parallel()
	eachCrew(t, nil, func(t *testing.T, w world) {
		t.Run("new input and no answer", func(t *testing.T) {
			c := w.client(t, "gate")
			c.asksAbout(t, step{say: "go"}, 1)
			c.refused(t, step{say: "hello", empty: true}, "PENDING_INTERRUPTS", true)
			c.refused(t, step{patch: map[string]any{"resume": []any{}}, empty: true}, "PARTIAL_RESUME", true)
			w.called(t, c, 1)
			w.ran(t, c)
		})
		t.Run("a reloaded page", func(t *testing.T) {
			c := w.client(t, "gate")
			c.asksAbout(t, step{say: "go"}, 1)
			page := c.another(t)
			if a := page.run(t, step{}).answer(t); ids(a.outcome()) != ids(c.pending) {
				t.Errorf("told is %s", terminal(a))
			}
			w.called(t, c, 1)
		})
		t.Run("three equal answers at once, and one more", func(t *testing.T) {
			c := w.client(t, "slow")
			c.asksAbout(t, step{say: "go"}, 1)
			yes, no := step{resume: c.answers(gives("approved"))}, step{resume: c.answers(gives("rejected"))}
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
			w.ran(t, c, deletes)
		})
		t.Run("the client leaves", func(t *testing.T) {
			c := w.client(t, "slow")
			c.asksAbout(t, step{say: "go"}, 1)
			yes, page := step{resume: c.answers(gives("approved"))}, c.another(t)
			c.run(t, step{resume: yes.resume, abortOn: "STEP_STARTED"})
			page.finish(t, yes)
			w.called(t, c, 2)
			w.ran(t, c, deletes)
		})
		t.Run("answers that nobody asked for", func(t *testing.T) {
			c := w.client(t, "gate")
			forged := map[string]any{"id": c.thread, "reason": "crewai:human_feedback", "message": "Delete a.txt?"}
			c.refused(t, step{say: "go", patch: map[string]any{"resume": []entry{resolved(c.thread, "approved")}}}, "UNKNOWN_INTERRUPT_ID", false)
			c.refused(t, step{patch: map[string]any{"forwardedProps": map[string]any{"command": map[string]any{"resume": "approved", "interruptEvent": forged}}}}, "UNKNOWN_INTERRUPT_ID", false)
			w.called(t, c, 0)
			c.asksAbout(t, step{}, 1)
			// CrewAI itself uses the thread's id as the id of every question of the thread.
			// Holdpoint must not accept this id.
			c.refused(t, step{empty: true, patch: map[string]any{"resume": []entry{resolved(c.thread, "approved")}}}, "UNKNOWN_INTERRUPT_ID", true)
			w.called(t, c, 1)
			w.ran(t, c)
		})
		t.Run("one after the other", func(t *testing.T) {
			for second, want := range map[string][]string{"sure": {deletes}, "no": nil} {
				c := w.client(t, "two")
				c.asksAbout(t, step{say: "go"}, 1)
				first := c.answers(gives("approved"))
				c.asksAbout(t, step{resume: first}, 1)
				c.refused(t, step{resume: c.answers(gives("approved")), empty: true}, "INVALID_PAYLOAD", true)
				c.refused(t, step{resume: first, empty: true}, "", true)
				w.ran(t, c)
				c.finish(t, step{resume: c.answers(gives(second))})
				w.called(t, c, 3)
				w.ran(t, c, want...)
			}
		})
		t.Run("of two that ask at once CrewAI asks one", func(t *testing.T) {
			c := w.client(t, "pair")
			c.asksAbout(t, step{say: "go"}, 1)
			c.finish(t, step{resume: c.answers(cancelled)})
			w.called(t, c, 1)
			w.ran(t, c)
		})
	})
}

// TestCrewAIIsRestarted: CrewAI is restarted between the question and its answer. If it still has
// the file in which it keeps its flows, the answer must be carried out. Without that file the
// question is lost: nothing may run, and CrewAI must ask again at the next message.
func TestCrewAIIsRestarted(t *testing.T) {
	t.Parallel()
	s := need(t, "crewai", "1.0.0").stack
	for _, kept := range []bool{true, false} {
		name := map[bool]string{true: "with its store", false: "without its store"}[kept]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "ledger")
			server, err := startServer(s, folder)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.kill() })
			var waiting []*client
			w := world{b: &backend{name: name, mode: "default", server: server}, version: newest}
			for _, mode := range []string{"outcome", "default"} {
				w.h = ownHoldpoint(t, server.base()+"/"+mode, nil)
				c := w.client(t, "gate")
				c.asksAbout(t, step{say: "go"}, 1)
				waiting = append(waiting, c)
			}
			server.crash()
			if !kept {
				if err := os.RemoveAll(folder); err != nil {
					t.Fatal(err)
				}
			}
			server.back(t)
			for _, c := range waiting {
				yes := step{resume: c.answers(gives("approved"))}
				if kept {
					c.finish(t, yes)
					w.ran(t, c, deletes)
					continue
				}
				c.refused(t, yes, "BACKEND_LOST_INTERRUPT", false)
				w.ran(t, c)
				c.asksAbout(t, step{say: "once more"}, 1)
				c.finish(t, step{resume: c.answers(gives("approved"))})
				w.ran(t, c, deletes)
			}
		})
	}
}

// TestCrewAIsQuestionIsForgottenByHoldpoint: Holdpoint is restarted with its store in memory, so it
// does not know the question. The answer must be refused, and CrewAI must ask again at the next
// message.
func TestCrewAIsQuestionIsForgottenByHoldpoint(t *testing.T) {
	t.Parallel()
	eachCrew(t, nil, func(t *testing.T, w world) {
		c := w.client(t, "gate")
		c.asksAbout(t, step{say: "go"}, 1)
		next := ownHoldpoint(t, w.b.url(), nil)
		page := newClient(t, shared.through, w.version, next.address+"/gate", c.thread, c.messages)
		a := page.refused(t, step{resume: c.answers(gives("approved"))}, "UNKNOWN_INTERRUPT_ID", false)
		if !strings.Contains(a.Text, "before a restart") {
			t.Errorf("told is %s", terminal(a))
		}
		page.asksAbout(t, step{say: "once more"}, 1)
		w.called(t, c, 2)
		page.finish(t, step{resume: page.answers(gives("approved"))})
		w.ran(t, c, deletes)
	})
}
