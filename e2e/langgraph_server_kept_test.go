//go:build e2e

package e2e

import "testing"

// TestLangGraphServerFailedAnswerIsCancelled: a node gets an approval and then fails. LangGraph has
// stored this approval, and would use it instead of any later answer. So Holdpoint must refuse a
// denial. A cancel must end the task of the thread: nothing runs, and the chat continues.
func TestLangGraphServerFailedAnswerIsCancelled(t *testing.T) {
	const broken = `delete_file {"path":"broken.txt"}`
	t.Parallel()
	together(t, map[string]string{"review": "agent", "free question": "free"}, func(t *testing.T, graph string) {
		eachLangGraphServerNow(t, graph, func(t *testing.T, w world) {
			failed := func(t *testing.T, order string, answers ...answer) *client {
				t.Helper()
				cl := w.client(t, "")
				cl.asksAbout(t, step{say: order}, len(answers))
				before := cl.pending
				s := cl.each(t, answers...)
				s.loose = true
				if a := cl.run(t, s).answer(t); a.code() == "" && len(a.of("RUN_ERROR")) != 1 {
					t.Fatalf("the run did not fail: %s", terminal(a))
				}
				w.ran(t, cl, broken)
				cl.pending = before // as on a page that still shows the question
				return cl
			}
			free := func(t *testing.T, cl *client) {
				t.Helper()
				cl.goesOn(t, nil)
				w.ran(t, cl, broken)
				cl.asksAbout(t, step{say: "delete a.txt"}, 1)
				cl.finish(t, cl.each(t, yesToServer))
				w.ran(t, cl, broken, deleteA)
			}
			// asked returns a new client, as after a reload. It has sent a message, at which the
			// server asked its questions again.
			asked := func(t *testing.T, cl *client, questions int) *client {
				t.Helper()
				cl = cl.another(t)
				cl.asksAgain(t, questions)
				return cl
			}
			scenes := map[string]func(t *testing.T){
				"cancelled right away": func(t *testing.T) {
					cl := failed(t, "delete broken.txt", yesToServer)
					cl.finish(t, cl.each(t, cancelled))
					free(t, cl)
				},
				"cancelled right away beside a message": func(t *testing.T) {
					cl := failed(t, "delete broken.txt", yesToServer)
					s := cl.each(t, cancelled)
					s.say = "plain " + fresh("n")
					cl.finish(t, s)
					if !cl.echoed(s.say) {
						t.Errorf("the message was not answered: %v", indented(cl.messages))
					}
					free(t, cl)
				},
				"cancelled when it is asked again": func(t *testing.T) {
					cl := asked(t, failed(t, "delete broken.txt", yesToServer), 1)
					cl.refused(t, cl.each(t, noToServer), "RESUME_CONFLICT", true)
					w.ran(t, cl, broken)
					cl.finish(t, cl.each(t, cancelled))
					free(t, cl)
				},
				"cancelled beside a message": func(t *testing.T) {
					cl := asked(t, failed(t, "delete broken.txt", yesToServer), 1)
					s := cl.each(t, cancelled)
					s.say = "plain " + fresh("n")
					cl.finish(t, s)
					if !cl.echoed(s.say) {
						t.Errorf("the message was not answered: %v", indented(cl.messages))
					}
					free(t, cl)
				},
			}
			if graph == "agent" {
				scenes["one of two failed"] = func(t *testing.T) {
					cl := asked(t, failed(t, "delete broken.txt, delete b.txt", yesToServer, noToServer), 0)
					var answers []answer
					for range cl.pending {
						answers = append(answers, cancelled)
					}
					cl.finish(t, cl.each(t, answers...))
					free(t, cl)
				}
			}
			together(t, scenes, func(t *testing.T, scene func(*testing.T)) { scene(t) })
		})
	})
}

// asksAgain sends a message. The run must end with this number of questions, or with any number
// above 0 if questions is 0. The server does not reply to the message.
func (c *client) asksAgain(t *testing.T, questions int) {
	t.Helper()
	a := c.run(t, step{say: "plain and forgotten"}).answer(t)
	if got := len(a.outcome()); got == 0 || questions != 0 && got != questions {
		t.Fatalf("it asks %d questions: %s", got, terminal(a))
	}
}
