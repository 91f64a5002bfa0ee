//go:build e2e

package e2e

import "testing"

// TestMastraMixesApprovalsAndSuspensions: the model calls two tools at once: one that requires an
// approval, and one that suspends. If the tool with the approval is called first, Mastra stops at
// it, and announces both calls in the same way. The suspending tool asks its own question after
// these answers. If the suspending tool is called first, Mastra does not report that the other tool
// requires an approval. Nobody is asked about that tool then, so it must not run.
func TestMastraMixesApprovalsAndSuspensions(t *testing.T) {
	t.Parallel()
	const mailed = `send_mail {"to":"bob"}`
	type scene struct {
		order  string
		rounds [][]answer
		want   []string
	}
	yes, no := yesToMastra, noToMastra
	const first, last = "delete a.txt, mail bob", "mail bob, delete a.txt"
	scenes := map[string]scene{
		"yes, yes; yes":   {first, [][]answer{{yes, yes}, {yes}}, []string{deleteA, mailed}},
		"yes, yes; no":    {first, [][]answer{{yes, yes}, {no}}, []string{deleteA}},
		"no, yes; yes":    {first, [][]answer{{no, yes}, {yes}}, []string{mailed}},
		"yes, no; no":     {first, [][]answer{{yes, no}, {no}}, []string{deleteA}},
		"cancelled, both": {first, [][]answer{{cancelled, cancelled}}, nil},
		"the other, yes":  {last, [][]answer{{yes}}, []string{mailed}},
		"the other, no":   {last, [][]answer{{no}}, nil},
		"the other, not":  {last, [][]answer{{cancelled}}, nil},
	}
	s := need(t, "mastra", "1.1.2")
	together(t, map[string]string{"outcome": newest, "quiet": pinned, "old": newest}, func(t *testing.T, version string) {
		mode := t.Name()[len("TestMastraMixesApprovalsAndSuspensions/"):]
		w := world{b: &backend{name: "mastra " + mode, mode: mode, server: s}, version: version}
		w.h = ownHoldpoint(t, s.base()+"/"+mode, map[string]string{"HOLDPOINT_DIALECT": "mastra"})
		together(t, scenes, func(t *testing.T, scene scene) {
			c := w.client(t, "mixed")
			s := step{say: scene.order}
			for _, answers := range scene.rounds {
				c.asksAbout(t, s, len(answers))
				s = c.each(t, answers...)
			}
			if a := c.run(t, s).answer(t); a.code() != "" {
				t.Fatalf("%s", terminal(a))
			}
			w.ran(t, c, scene.want...)
			c.goesOn(t, nil)
			w.ran(t, c, scene.want...)
		})
	})
}

// TestMastraWantsAllAnswers: two questions are open, and the client answers only one. Mastra must
// get no answer.
func TestMastraWantsAllAnswers(t *testing.T) {
	t.Parallel()
	s := need(t, "mastra", "1.1.2")
	for _, mode := range []string{"outcome", "quiet", "old"} {
		for _, agent := range []string{"free", "guarded"} {
			if mode == "outcome" && agent == "guarded" {
				continue
			}
			w := world{b: &backend{name: "mastra " + mode, mode: mode, server: s}, version: newest}
			w.h = ownHoldpoint(t, s.base()+"/"+mode, map[string]string{"HOLDPOINT_DIALECT": "mastra"})
			c := w.client(t, agent)
			c.asksAbout(t, step{say: "delete a.txt, delete b.txt"}, 2)
			for n := range 2 {
				c.refused(t, step{resume: c.answers(yesToMastra)[n : n+1], empty: true}, "PARTIAL_RESUME", true)
			}
			w.called(t, c, 1)
			w.ran(t, c)
			c.finish(t, c.each(t, noToMastra, yesToMastra))
			w.ran(t, c, deleteB)
		}
	}
}
