//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestQuestionsWhoseIDsHaveLineFeeds: CrewAI uses the client's thread id as the id of a question,
// and a thread id can contain line feeds. A decision on such a question, at the desk or in the
// chat, must be carried out once. It must not delay other threads.
func TestQuestionsWhoseIDsHaveLineFeeds(t *testing.T) {
	t.Parallel()
	s := need(t, "crewai", "1.0.0")
	for _, mode := range []string{"outcome", "default"} {
		t.Run(mode, func(t *testing.T) {
			d := newDeskOf(t, s.base()+"/"+mode)
			w := world{b: &backend{name: "crewai " + mode, mode: mode, server: s}, h: d.h, version: newest}
			asks := func(odd string) *client {
				c := newClient(t, shared.through, w.version, w.h.address+"/gate", fresh("thread")+odd, nil)
				c.asksAbout(t, step{say: "go"}, 1)
				return c
			}
			var odd []*client
			var decided []map[string]any
			for range 9 { // one more than an agent may have at once
				c := asks("\nb c")
				a := d.waiting(t, c.thread)
				d.decide(t, a, 0, "answer", "approved")
				odd, decided = append(odd, c), append(decided, a)
			}
			for _, q := range d.waiting(t, asks("\nthat waits").thread)["questions"].([]any) {
				if id := q.(map[string]any)["id"].(string); strings.ContainsAny(id, "\n") {
					t.Errorf("a question has the id %q", id)
				}
			}
			plain := asks("")
			a := d.waiting(t, plain.thread)
			d.decide(t, a, 0, "answer", "approved")
			d.finished(t, a)
			w.ran(t, plain, deletes)
			for n, c := range odd {
				d.finished(t, decided[n])
				w.ran(t, c, deletes)
			}
			chat := asks("\nb c")
			chat.finish(t, step{resume: chat.answers(gives("approved"))})
			w.ran(t, chat, deletes)
		})
	}
}
