//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// In these modes the agent asks a question about each call. Strands' documented hook asks it (in
// both forms of the stream, and with calls in sequence), or Strands' HumanInTheLoop, or middleware,
// or the AG-UI adapter.
var (
	rawModes   = []string{"sse/hook", "ndjson/hook", "sse/sequential", "sse/vended", "sse/middleware", "saved/hook", "sse/graph"}
	aguiModes  = []string{"agui/hook", "agui/sequential", "agui/middleware"}
	strandsAll = append(slices.Clone(rawModes), aguiModes...)
)

// file returns the file that the call of interrupt i would delete, or "" if i names no call.
func (c *client) file(t *testing.T, i event) string {
	t.Helper()
	for _, m := range c.messages {
		list, _ := m["toolCalls"].([]any)
		for _, one := range list {
			call := event(one.(map[string]any))
			if call.str("id") != i.str("toolCallId") || call.str("id") == "" {
				continue
			}
			var args struct{ Paths []string }
			if err := json.Unmarshal([]byte(event(call["function"].(map[string]any)).str("arguments")), &args); err != nil {
				t.Fatal(err)
			}
			return strings.Join(args.Paths, " ")
		}
	}
	return ""
}

// decides answers questions until no question is open. It approves a call that deletes one of
// files, and gives the answer no for every other call. No file may be asked about twice.
func (c *client) decides(t *testing.T, no answer, files ...string) {
	t.Helper()
	asked := map[string]bool{}
	for len(c.pending) > 0 {
		var s step
		for _, i := range c.pending {
			file := c.file(t, i)
			if file == "" || asked[file] {
				t.Fatalf("asked for %q, of %v before: %v", file, asked, i)
			}
			asked[file] = true
			answer := no
			if slices.Contains(files, file) {
				answer = accept
			}
			s.resume = append(s.resume, answer(i.str("id")))
		}
		if a := c.run(t, s).answer(t); a.code() != "" {
			t.Fatalf("the answers were met with %s", terminal(a))
		}
	}
}

// kept checks that exactly these files were deleted, before and after the client's next message.
func (w world) kept(t *testing.T, c *client, files ...string) {
	t.Helper()
	complete(t, c.messages, nil)
	w.deleted(t, c, files...)
	c.goesOn(t, nil)
	w.deleted(t, c, files...)
	w.shown(t, c)
}

func TestStrandsRunsWhatIsApproved(t *testing.T) {
	t.Parallel()
	eachStrands(t, strandsAll, func(t *testing.T, w world) {
		c := w.person(t)
		c.waits(t, c.wants("delete a.txt"), 1)
		if file := c.file(t, c.pending[0]); file != "a.txt" {
			t.Errorf("asked for a call that deletes %q: %v", file, c.pending)
		}
		w.deleted(t, c)
		c.finish(t, step{resume: c.answers(accept)})
		if !slices.ContainsFunc(c.messages, func(m event) bool { return m.str("role") == "tool" && contains(m.str("content"), "deleted") }) {
			t.Errorf("the client does not have the result: %s", indented(c.messages))
		}
		w.kept(t, c, "a.txt")
	})
}

// TestStrandsTakesAWord: the answer is a word that the documentation and HumanInTheLoop use, such
// as "y". The file may be deleted only after a word for yes.
func TestStrandsTakesAWord(t *testing.T) {
	t.Parallel()
	for word, files := range map[string][]string{"y": {"a.txt"}, "Y": {"a.txt"}, "n": nil, "no, keep it": nil} {
		t.Run(word, func(t *testing.T) {
			eachStrands(t, strandsAll, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt"), 1)
				c.finish(t, step{resume: c.answers(func(id string) entry { return resolved(id, word) })})
				w.kept(t, c, files...)
			})
		})
	}
}

// TestStrandsRunsNothingThatIsDenied: a denial in any form must not delete a file. If the
// documented hook gets an answer that is not text, it throws, and the SDK then runs the call.
func TestStrandsRunsNothingThatIsDenied(t *testing.T) {
	t.Parallel()
	for name, no := range map[string]answer{
		"denied":    reject,
		"cancelled": cancelled,
		"false":     func(id string) entry { return resolved(id, false) },
	} {
		t.Run(name, func(t *testing.T) {
			eachStrands(t, strandsAll, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt"), 1)
				defer w.deleted(t, c)
				c.finish(t, step{resume: c.answers(no)})
				w.kept(t, c)
			})
		})
	}
}

// TestStrandsRunsNothingForAnswersOfOtherForms: an answer has a form that the hook cannot read.
// Holdpoint must refuse it or send it as a denial. No file may be deleted, and the thread must
// continue.
func TestStrandsRunsNothingForAnswersOfOtherForms(t *testing.T) {
	t.Parallel()
	for _, payload := range []any{
		map[string]any{"approved": false, "comment": "not today"}, map[string]any{"approved": "true"}, map[string]any{"approved": nil},
		map[string]any{"accepted": false}, map[string]any{"status": "cancelled"}, map[string]any{}, []any{}, []any{"y"}, 0, 1, "", json.RawMessage("null"),
	} {
		t.Run(text(payload), func(t *testing.T) {
			eachStrands(t, []string{"sse/hook", "sse/vended", "sse/middleware", "agui/hook", "agui/middleware"}, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt and delete b.txt"), w.visible())
				defer w.deleted(t, c)
				s := step{resume: c.answers(func(id string) entry { return resolved(id, payload) })}
				for len(c.pending) > 0 {
					a := c.run(t, s).answer(t)
					if code := a.code(); code == "INVALID_PAYLOAD" {
						c.decides(t, cancelled)
						break
					} else if code != "" {
						t.Fatalf("met with %s", terminal(a))
					}
					s = step{resume: c.answers(cancelled)}
				}
				w.kept(t, c)
			})
		})
	}
}

// visible returns how many questions about two parallel calls are in the stream at the same time.
// The stream of a native agent shows only one, and the SDK keeps only one of the questions of
// middleware.
func (w world) visible() int {
	if w.b.mode == "sse/graph" || w.b.mode == "agui/hook" {
		return 2
	}
	return 1
}

// waits runs s and expects n questions. If a question names a call, the client must have that call.
// All calls of the turn must be without a result, including calls whose question the backend has
// not sent yet.
func (c *client) waits(t *testing.T, s step, n int) wire {
	t.Helper()
	a := c.run(t, s).answer(t)
	if len(a.outcome()) != n || a.code() != "" {
		t.Fatalf("asked %d questions (code %q), want %d: %v\n%s", len(a.outcome()), a.code(), n, a.kinds(), terminal(a))
	}
	for _, i := range c.pending {
		if call, has := i["toolCallId"]; has && !slices.Contains(calls(c.messages), fmt.Sprint(call)) {
			t.Errorf("asked for call %v, which the client does not have: %v", call, calls(c.messages))
		}
		if i.str("message") == "" {
			t.Errorf("an interrupt without a word to show: %v", i)
		}
	}
	turn := len(c.messages) - 1
	for turn > 0 && c.messages[turn].str("role") != "user" {
		turn--
	}
	waiting := slices.DeleteFunc(calls(c.messages[turn:]), func(id string) bool {
		return slices.ContainsFunc(c.messages, func(m event) bool { return m.str("toolCallId") == id })
	})
	complete(t, c.messages, waiting)
	return a
}

// TestStrandsAsksForEachOfTwoCalls: the client must get a question about each of two parallel
// calls, at the same time or in turn. Each call may run only if the answer to its own question was
// an approval.
func TestStrandsAsksForEachOfTwoCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		no    answer
		files []string
	}{
		{"both approved", reject, []string{"a.txt", "b.txt"}}, {"the first approved", reject, []string{"a.txt"}},
		{"the second approved", cancelled, []string{"b.txt"}}, {"both denied", reject, nil}, {"both cancelled", cancelled, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachStrands(t, strandsAll, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt and delete b.txt"), w.visible())
				c.decides(t, test.no, test.files...)
				w.kept(t, c, test.files...)
			})
		})
	}
}

// TestStrandsAsksAgainInTheSameTurn: the model makes two calls at the same time. One needs no
// approval, and must run once. After the answer about the other, the model makes a third call, and
// the agent asks again.
func TestStrandsAsksAgainInTheSameTurn(t *testing.T) {
	t.Parallel()
	eachStrands(t, strandsAll, func(t *testing.T, w world) {
		c := w.person(t)
		c.run(t, c.wants("delete a.txt and list then delete b.txt then delete c.txt"))
		c.decides(t, cancelled, "a.txt", "c.txt")
		w.kept(t, c, "a.txt", "c.txt")
		if n := w.b.ledger(t, c.thread).Counts["list_files"]; n != 1 {
			t.Errorf("the call that nobody asks for ran %d times", n)
		}
	})
}

// TestStrandsToolAsks: a tool asks a question itself, and must get the answer unchanged. If it asks
// a second question, this must be a new pause.
func TestStrandsToolAsks(t *testing.T) {
	t.Parallel()
	for _, payload := range []any{"prod", map[string]any{"env": "prod"}, []any{"a", "b"}, 7} {
		t.Run(text(payload), func(t *testing.T) {
			eachStrands(t, []string{"sse/hook", "ndjson/hook", "saved/hook", "agui/hook"}, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("ask Which env?"), 1)
				if i := c.pending[0]; i.str("message") != "Which env?" || i.str("toolCallId") == "" {
					t.Errorf("asked %v", i)
				}
				c.finish(t, step{resume: c.answers(func(id string) entry { return resolved(id, payload) })})
				w.answered(t, c, "ask_user", payload)
				w.kept(t, c)
			})
		})
	}
	t.Run("twice", func(t *testing.T) {
		eachStrands(t, []string{"sse/hook", "agui/hook"}, func(t *testing.T, w world) {
			c := w.person(t)
			c.waits(t, c.wants("twice"), 1)
			a := c.run(t, step{resume: c.answers(func(id string) entry { return resolved(id, "one") })}).answer(t)
			if len(a.outcome()) != 1 || nativeID(a.outcome()[0]) == "" {
				t.Fatalf("after the first answer: %s", terminal(a))
			}
			c.finish(t, step{resume: c.answers(func(id string) entry { return resolved(id, "two") })})
			w.answered(t, c, "confirm_twice", []any{"one", "two"})
			w.kept(t, c)
		})
	})
	t.Run("hand over", func(t *testing.T) {
		eachStrands(t, []string{"sse/hook", "sse/vended", "agui/hook"}, func(t *testing.T, w world) {
			c := w.person(t)
			c.waits(t, c.wants("hand Which one?"), 1)
			if i := c.pending[0]; i.str("message") != "Which one?" || !contains(nativeID(i), "strands:handoff-to-user") {
				t.Errorf("asked %v", i)
			}
			c.finish(t, step{resume: c.answers(func(id string) entry { return resolved(id, "the red one") })})
			if !slices.ContainsFunc(c.messages, func(m event) bool { return m.str("role") == "tool" && contains(m.str("content"), "the red one") }) {
				t.Errorf("the reply is not the tool's result: %s", indented(c.messages))
			}
		})
	})
}

// answered checks that a tool with this name ran once and got the answer want, and that no other
// tool ran.
func (w world) answered(t *testing.T, c *client, tool string, want any) {
	t.Helper()
	l := w.b.ledger(t, c.thread)
	if len(l.Effects) != 1 || l.Effects[0].Name != tool || text(l.Effects[0].Answer) != text(want) {
		t.Errorf("ran %v, want %s answered with %s", l.Effects, tool, text(want))
	}
}

// TestStrandsAnswersByName: HOLDPOINT_STRANDS_FILE sets the form of an answer by the name of the
// interrupt.
func TestStrandsAnswersByName(t *testing.T) {
	t.Parallel()
	env := asStrands()
	env["HOLDPOINT_STRANDS_FILE"] = strandsFile(t, `{"interrupts": [
		{"name": "strands:human*", "answers": "bool"},
		{"name": "ask_user", "answers": "docs-string", "path": "choice"},
		{"name": "*", "answers": "docs-string"}]}`)
	h := ownHoldpoint(t, shared.strands.server.base(), env)
	t.Run("modes", func(t *testing.T) {
		eachStrands(t, []string{"sse/vended"}, func(t *testing.T, w world) {
			w.h = h
			c := w.person(t)
			c.waits(t, c.wants("delete a.txt then delete b.txt"), 1)
			c.decides(t, cancelled, "a.txt")
			w.kept(t, c, "a.txt")
			c.waits(t, c.wants("ask Which env?"), 1)
			c.finish(t, step{resume: c.answers(func(id string) entry { return resolved(id, map[string]any{"choice": "prod"}) })})
			effects := w.b.ledger(t, c.thread).Effects
			if last := effects[len(effects)-1]; last.Name != "ask_user" || last.Answer != "prod" {
				t.Errorf("ran %v", effects)
			}
			runs := w.b.ledger(t, c.thread).Runs
			if !contains(text(runs[1].Prompt), `"response":true`) || !contains(text(runs[2].Prompt), `"response":false`) {
				t.Errorf("answered with %v and %v", runs[1].Prompt, runs[2].Prompt)
			}
		})
	})
}

// TestStrandsBatch: one question is about all calls of a turn. The next turn's question has the
// same native id. The second answer must apply to the second question.
func TestStrandsBatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		first, second answer
		files         []string
	}{
		{"approved, then denied", accept, reject, []string{"a.txt", "b.txt"}}, {"denied, then approved", cancelled, accept, []string{"c.txt"}},
		{"approved twice", accept, accept, []string{"a.txt", "b.txt", "c.txt"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachStrands(t, []string{"sse/batch", "saved/batch", "agui/batch"}, func(t *testing.T, w world) {
				c := w.person(t)
				first := c.run(t, c.wants("delete a.txt and delete b.txt")).answer(t)
				c.finish(t, step{resume: c.answers(test.first)})
				second := c.run(t, c.wants("delete c.txt")).answer(t)
				if len(first.outcome()) != 1 || len(second.outcome()) != 1 {
					t.Fatalf("asked %v and %v", first.outcome(), second.outcome())
				}
				one, two := first.outcome()[0], second.outcome()[0]
				if nativeID(one) != nativeID(two) || one.str("id") == two.str("id") || one["toolCallId"] != nil || one.str("message") == "" {
					t.Errorf("asked %v, then %v", one, two)
				}
				c.finish(t, step{resume: c.answers(test.second)})
				w.deleted(t, c, test.files...)
				c.goesOn(t, nil)
				w.deleted(t, c, test.files...)
			})
		})
	}
}

// TestStrandsTwoHooksOnOneCall: two hooks ask about one call. The call may run only if both answers
// are approvals.
func TestStrandsTwoHooksOnOneCall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answers []answer
		files   []string
	}{{[]answer{accept, accept}, []string{"a.txt"}}, {[]answer{accept, reject}, nil}, {[]answer{cancelled, accept}, nil}} {
		t.Run(fmt.Sprint(len(test.files), " deleted"), func(t *testing.T) {
			eachStrands(t, []string{"sse/two", "agui/two"}, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt"), 2)
				c.finish(t, c.each(t, test.answers...))
				w.kept(t, c, test.files...)
			})
		})
	}
}

// TestStrandsGraphNode: a node of a graph asks. The graph must continue after an approval, and also
// after a denial, which leaves the node out.
func TestStrandsGraphNode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer answer
		files  []string
	}{{"approved", accept, []string{"a.txt"}}, {"denied", reject, nil}, {"cancelled", cancelled, nil}} {
		t.Run(test.name, func(t *testing.T) {
			eachStrands(t, []string{"sse/graph-hook", "ndjson/graph-hook"}, func(t *testing.T, w world) {
				c := w.person(t)
				c.waits(t, c.wants("delete a.txt"), 1)
				if i := c.pending[0]; i["toolCallId"] != nil {
					t.Errorf("a node is no call: %v", i)
				}
				c.run(t, step{resume: c.answers(test.answer)}).answer(t)
				w.deleted(t, c, test.files...)
			})
		})
	}
}

// TestStrandsAgentAsATool: an agent uses another agent as a tool. The client must get the outer
// call and one result, and no events of the inner agent. If the inner agent asks, Strands loses the
// question, and Holdpoint must not invent one.
func TestStrandsAgentAsATool(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]int{"child list": 1, "child ask Which env?": 0} {
		t.Run(name, func(t *testing.T) {
			eachStrands(t, []string{"sse/hook", "ndjson/hook"}, func(t *testing.T, w world) {
				c := w.person(t)
				a := c.finish(t, c.wants(name))
				if starts := a.of("TOOL_CALL_START"); len(starts) != 1 || starts[0].str("toolCallName") != "helper" || len(a.of("TOOL_CALL_RESULT")) != 1 {
					t.Errorf("the client sees %v", a.kinds())
				}
				if n := len(w.b.ledger(t, c.thread).Effects); n != calls {
					t.Errorf("%d calls ran inside", n)
				}
				w.kept(t, c)
			})
		})
	}
}
