//go:build e2e

package e2e

import (
	"slices"
	"testing"
)

// pydantic-ai over its AG-UI adapter, behind a Holdpoint that is told nothing of it. It sends the
// interrupt outcome and takes resume. Without a conversation store it keeps nothing, and runs what
// the client's history says.

// eachPydanticAI runs test on every version in these modes, with one of the clients that read the
// outcome each.
func eachPydanticAI(t *testing.T, modes []string, test func(t *testing.T, w world)) {
	t.Helper()
	for n, version := range []string{"2.0.0", "2.68.0"} {
		s := need(t, "pydanticai", version)
		h := ownHoldpoint(t, s.base(), nil)
		for _, mode := range modes {
			if slices.Contains(s.modes, mode) {
				at := *h
				at.address += "/" + mode
				client := []string{pinned, newest}[n]
				t.Run(version+"/"+mode+"/client-"+client, func(t *testing.T) {
					test(t, world{b: &backend{name: version + " " + mode, mode: mode, server: s}, h: &at, version: client})
				})
			}
		}
	}
}

// asksAbout runs s and expects questions about these many calls.
func (c *client) asksAbout(t *testing.T, s step, calls int) {
	t.Helper()
	a := c.run(t, s).answer(t)
	if got := len(a.outcome()); got != calls || a.code() != "" {
		t.Fatalf("asked about %d calls (code %q), want %d: %v\n%s", got, a.code(), calls, a.kinds(), terminal(a))
	}
}

// What is approved runs once, with the arguments that were asked for; what is not does not run.
func TestPydanticAIApprovals(t *testing.T) {
	round := func(answers ...answer) []answer { return answers }
	edited := func(id string) entry {
		return resolved(id, map[string]any{"approved": true, "editedArgs": map[string]any{"path": "c.txt"}})
	}
	for _, test := range []struct {
		name, order string
		rounds      [][]answer // the answers of each pause
		want        []string
	}{
		{"approved", "delete a.txt", [][]answer{round(accept)}, []string{deleteA}},
		{"denied", "delete a.txt", [][]answer{round(reject)}, nil},
		{"cancelled", "delete a.txt", [][]answer{round(cancelled)}, nil},
		{"edited", "delete a.txt", [][]answer{round(edited)}, []string{deleteC}},
		{"both", "delete a.txt, delete b.txt", [][]answer{round(accept, accept)}, []string{deleteA, deleteB}},
		{"the first of two", "delete a.txt, delete b.txt", [][]answer{round(accept, reject)}, []string{deleteA}},
		{"the second of two", "delete a.txt, delete b.txt", [][]answer{round(cancelled, accept)}, []string{deleteB}},
		{"beside a free call", "delete a.txt, search x", [][]answer{round(reject)}, []string{search}},
		{"again", "delete a.txt; delete b.txt", [][]answer{round(accept), round(reject)}, []string{deleteA}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachPydanticAI(t, []string{"stateless", "store"}, func(t *testing.T, w world) {
				c := w.client(t, "agent")
				s := step{say: test.order}
				for _, answers := range test.rounds {
					c.asksAbout(t, s, len(answers))
					s = c.each(t, answers...)
				}
				c.finish(t, s)
				w.ran(t, c, test.want...)
				c.goesOn(t, nil)
				w.ran(t, c, test.want...)
			})
		})
	}
}
