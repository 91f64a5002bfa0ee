//go:build e2e

package e2e

import (
	"fmt"
	"reflect"
	"testing"
)

// adaptersOfToday are the recent versions of ag-ui-langgraph. They are tested with langgraph 1.2.22
// and langchain 1.4.7.
var adaptersOfToday = []string{"0.0.44", "0.0.45", "0.0.46", newestLangGraph}

// today runs test behind a Holdpoint with default settings. It runs the newest adapter in each of
// the modes. It runs each older adapter in one mode only, the first or the second of the list. That
// is enough, because all these adapters handle a pause and an answer with the same code.
func today(t *testing.T, modes []string, test func(t *testing.T, w world)) {
	t.Helper()
	for n, version := range adaptersOfToday {
		modes := modes
		if version != newestLangGraph {
			modes = modes[n%2 : n%2+1]
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := need(t, "langgraph", version)
			for _, mode := range modes {
				t.Run(mode, func(t *testing.T) {
					b := &backend{name: version + "-" + mode, mode: mode, server: server}
					test(t, world{b: b, h: ownHoldpoint(t, b.url(), nil), version: newest})
				})
			}
		})
	}
}

// TestPerCallReview: with langchain's interrupt_mode="per_call", each call has an interrupt of its
// own. Each interrupt must be published with a schema and the arguments of its call. An approved
// call must run once. If its arguments are edited, it must run with the edited arguments.
func TestPerCallReview(t *testing.T) {
	t.Parallel()
	args := map[string]any{"to": "eve@example.org", "body": "hello"}
	edit := func(id string) entry { return resolved(id, map[string]any{"approved": true, "editedArgs": args}) }
	native := func(id string) entry { return resolved(id, map[string]any{"type": "approve"}) }
	for _, scene := range []struct {
		name          string
		email, delete func(id string) entry
		want          map[string]int
		mailed        any
	}{
		{"both approved", accept, accept, map[string]int{"send_email": 1, "delete_file": 1}, map[string]any{"to": "bob@example.org", "body": "hi"}},
		{"one denied", accept, reject, map[string]int{"send_email": 1}, map[string]any{"to": "bob@example.org", "body": "hi"}},
		{"edited", edit, cancelled, map[string]int{"send_email": 1}, args},
		{"cancelled", cancelled, cancelled, nil, nil},
		{"in LangChain's own words", reject, native, map[string]int{"delete_file": 1}, nil},
	} {
		t.Run(scene.name, func(t *testing.T) {
			today(t, []string{"default", "outcome", "outcomeonly"}, func(t *testing.T, w world) {
				c := w.paused(t, "percall", 2)
				entries := make([]entry, 2)
				for n, i := range c.pending {
					about, _ := i["metadata"].(map[string]any)["langgraph"].(map[string]any)
					answer, edits := scene.email, true
					if about["name"] == "delete_file" {
						answer, edits = scene.delete, false
						if i.str("message") != "Deleting needs an OK" || !reflect.DeepEqual(about["args"], map[string]any{"path": "notes.txt"}) {
							t.Errorf("nobody can see what is to be deleted: %v", i)
						}
					}
					properties, _ := i["responseSchema"].(map[string]any)["properties"].(map[string]any)
					if _, has := properties["editedArgs"]; has != edits || i.str("reason") != "tool_call" || i.str("toolCallId") == "" {
						t.Errorf("interrupt %v", i)
					}
					entries[n] = answer(i.str("id"))
				}
				c.finish(t, step{resume: entries})
				w.did(t, c, 2, scene.want)
				for _, e := range w.b.ledger(t, c.thread).Effects {
					if e.Name == "send_email" && !reflect.DeepEqual(e.Answer, scene.mailed) {
						t.Errorf("mailed %v, want %v", e.Answer, scene.mailed)
					}
				}
				c.goesOn(t, nil)
				w.effects(t, c, scene.want)
			})
		})
	}
}

// TestPerCallReviewOfOneCall reviews the only call of a turn. It must also work in the mode quiet,
// where the stream has neither ids nor schemas because it has no raw events.
func TestPerCallReviewOfOneCall(t *testing.T) {
	t.Parallel()
	for name, scene := range map[string]struct {
		answer func(id string) entry
		want   map[string]int
	}{
		"approved": {accept, map[string]int{"delete_file": 1}}, "denied": {reject, nil}, "cancelled": {cancelled, nil},
	} {
		t.Run(name, func(t *testing.T) {
			today(t, []string{"default", "outcome", "quiet", "outcomeonly"}, func(t *testing.T, w world) {
				c := w.paused(t, "percallone", 1)
				c.refused(t, step{resume: c.answers(func(id string) entry { return resolved(id, map[string]any{"approved": "perhaps"}) })}, "INVALID_PAYLOAD", true)
				c.finish(t, step{resume: c.answers(scene.answer)})
				w.did(t, c, 2, scene.want)
				c.goesOn(t, nil)
				w.effects(t, c, scene.want)
			})
		})
	}
}

// TestResponseSchemaOfLangGraph: the schema of interrupt(value, response_schema=...) must be
// published as responseSchema. The adapter leaves it out of its own outcome. If an answer does not
// fit the schema, it must not reach the graph.
func TestResponseSchemaOfLangGraph(t *testing.T) {
	t.Parallel()
	today(t, []string{"default", "outcome", "outcomeonly"}, func(t *testing.T, w world) {
		c := w.paused(t, "ordered", 1)
		schema, _ := c.pending[0]["responseSchema"].(map[string]any)
		if fmt.Sprint(schema["required"]) != "[env count]" {
			t.Errorf("interrupt %v", c.pending[0])
		}
		order := func(env string) step {
			return step{resume: c.answers(func(id string) entry { return resolved(id, map[string]any{"env": env, "count": 2}) })}
		}
		c.refused(t, order("moon"), "INVALID_PAYLOAD", true)
		w.did(t, c, 1, nil)
		c.finish(t, order("prod"))
		w.did(t, c, 2, map[string]int{"deploy": 1})
		c.goesOn(t, nil)
		w.effects(t, c, map[string]int{"deploy": 1})
	})
}

// TestTheAnswerGoesInTheFormThatTheAdapterTakes: a person answers one question. If the adapter
// reads the array `resume`, Holdpoint must send the answer in that array, otherwise in
// command.resume. Holdpoint must never send a cancel as an entry of the array, because the adapters
// turn any entry into a value that is true in Python.
func TestTheAnswerGoesInTheFormThatTheAdapterTakes(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, w world) {
		for _, scene := range []struct {
			name   string
			answer func(id string) entry
			want   map[string]int
		}{
			{"approved", accept, map[string]int{"delete": 1}}, {"denied", reject, nil}, {"cancelled", cancelled, nil},
			{"false", func(id string) entry { return resolved(id, false) }, nil},
		} {
			c := w.paused(t, "approve", 1)
			c.finish(t, step{resume: c.answers(scene.answer)})
			w.did(t, c, 2, scene.want)
			got := w.b.ledger(t, c.thread).Runs[1]
			array, _ := got.Resume.([]any)
			takes := w.b.server.version != "0.0.42" && (scene.name == "approved" || scene.name == "denied")
			if takes != (len(array) == 1) || takes != (got.Command == nil) {
				t.Errorf("%s: the adapter gets resume %v, command.resume %v", scene.name, got.Resume, got.Command)
			}
		}
		for _, answer := range []func(id string) entry{cancelled, func(id string) entry { return resolved(id, false) }} {
			c := w.paused(t, "truthy", 1)
			c.finish(t, step{resume: c.answers(answer)})
			w.did(t, c, 2, nil)
		}
		c := w.paused(t, "text", 1)
		c.finish(t, step{resume: c.answers(func(id string) entry { return resolved(id, "42") })})
		if l := w.b.ledger(t, c.thread); len(l.Effects) != 1 || l.Effects[0].Type != "str" {
			t.Errorf("a text that looks like a number: %v", l.Effects)
		}
	}
	everyLangGraph(t, test)
	today(t, []string{"default", "outcome", "quiet", "outcomeonly"}, test)
}
