//go:build e2e

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The tests in this file run without Holdpoint. They check the behavior of agent-framework-ag-ui on
// which the dialect relies. If a new version behaves differently, these tests fail first.

// eachBareAgent runs test for each version of the backend, with a client that talks to the agent
// directly, without Holdpoint.
func eachBareAgent(t *testing.T, agent string, test func(t *testing.T, w world, c *client)) {
	t.Helper()
	for _, b := range shared.agents {
		w := world{b: b, version: newest}
		if b.mode != "default" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, w, bare(t, b, newest, agent))
		})
	}
}

// array returns a resume array that gives one answer to each open question of the client.
func (c *client) array(answers ...answer) []entry {
	var all []entry
	for n, i := range c.pending {
		all = append(all, answers[n](i.str("id")))
	}
	return all
}

// askedFor returns the ids of the calls for which the stream asks by a CUSTOM event
// function_approval_request.
func askedFor(w wire) []string {
	var all []string
	for _, e := range w.of("CUSTOM") {
		if value, _ := e["value"].(map[string]any); e.str("name") == "function_approval_request" {
			call, _ := value["function_call"].(map[string]any)["call_id"].(string)
			all = append(all, call)
		}
	}
	return all
}

// natively returns a step without resume. It sends the client's messages, without the calls of
// confirm_changes, and then the messages in the parameter more.
func (c *client) natively(more ...event) step {
	var messages []any
	for _, m := range c.messages {
		list, _ := m["toolCalls"].([]any)
		m["toolCalls"] = slices.DeleteFunc(list, func(call any) bool { return contains(text(call), "confirm_changes") })
		if len(list) == 0 {
			delete(m, "toolCalls")
		}
		messages = append(messages, m)
	}
	for _, m := range more {
		messages = append(messages, m)
	}
	return step{patch: map[string]any{"messages": messages}, empty: true}
}

func toolSays(call, content string) event {
	return event{"id": fresh("answer"), "role": "tool", "toolCallId": call, "content": content}
}

func TestDirectAgentsPause(t *testing.T) {
	t.Parallel()
	eachBareAgent(t, "parallel", func(t *testing.T, w world, c *client) {
		a := c.run(t, step{say: "go"}).answer(t)
		asked, finished := askedFor(a), a.of("RUN_FINISHED")[0]
		if len(asked) != 2 || !slices.Equal(asked, calls(a.of("MESSAGES_SNAPSHOT")[0].messages())[:2]) {
			t.Errorf("CUSTOM asks for %v", asked)
		}
		if n := strings.Count(a.Text, `"toolCallName":"confirm_changes"`); n != 2 {
			t.Errorf("%d calls of confirm_changes, were 2", n)
		}
		list, _ := finished["interrupt"].([]any)
		if old := !w.since("1.0.0rc8"); old != (len(list) == 2) || old == (len(a.outcome()) == 2) {
			t.Errorf("RUN_FINISHED %v", finished)
		}
		for n, i := range a.outcome() {
			if i.str("toolCallId") != asked[n] || strings.HasPrefix(i.str("id"), "af-call-") != w.since("1.7.0") || !w.since("1.7.0") && i.str("id") != asked[n] {
				t.Errorf("interrupt %v of call %s", i["id"], asked[n])
			}
		}
	})
}

// messages returns the messages of the snapshot e. In each message, the calls of confirm_changes
// come after the other calls.
func (e event) messages() []event {
	var all []event
	list, _ := e["messages"].([]any)
	for _, one := range list {
		m := event(one.(map[string]any))
		if list, _ := m["toolCalls"].([]any); list != nil {
			slices.SortStableFunc(list, func(a, b any) int {
				return strings.Count(text(a), `"name":"confirm_changes"`) - strings.Count(text(b), `"name":"confirm_changes"`)
			})
		}
		all = append(all, m)
	}
	return all
}

func TestDirectAgentsResumeArray(t *testing.T) {
	t.Parallel()
	eachBareAgent(t, "approve", func(t *testing.T, w world, c *client) {
		c.run(t, step{say: "go"})
		if !w.since("1.0.0rc8") {
			r := c.run(t, step{resume: []entry{accepted("x")}, empty: true})
			if a := r.answer(t); a.Status != 422 {
				t.Errorf("an array was met with %d", a.Status)
			}
			w.ran(t, c)
			return
		}
		s := step{resume: c.array(accept), empty: true}
		c.run(t, s)
		w.ran(t, c, deleteA)
		again := c.run(t, s).answer(t)
		if w.since("1.7.0") != (again.code() == "") || again.code() != "" && again.code() != "APPROVAL_RESUME_NOT_FOUND" {
			t.Errorf("the same again: %s", terminal(again))
		}
		w.ran(t, c, deleteA)
	})
}

// TestDirectAgentsTwoAnswers: two calls wait, and one request answers both. 1.0.0rc8 carries out
// only the first answer, and its model gets a call without a result. 1.7.0 carries out two equal
// answers. If one answer approves and the other one denies, 1.7.0 runs nothing, and asks about the
// denied call in every later run.
func TestDirectAgentsTwoAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		answers []answer
		want    map[string][]string
	}{
		{"both", []answer{accept, accept}, map[string][]string{"1.0.0rc8": {deleteA}, "1.7.0": {deleteA, deleteB}}},
		{"the first", []answer{accept, reject}, map[string][]string{"1.0.0rc8": {deleteA}}},
		{"the second", []answer{reject, accept}, nil},
		{"neither", []answer{reject, reject}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachBareAgent(t, "parallel", func(t *testing.T, w world, c *client) {
				if !w.since("1.0.0rc8") {
					return // accepts no resume array
				}
				c.run(t, step{say: "go"})
				// The test sends the request itself, because the response of 1.7.0 ends a call that
				// it has not begun, and the client would fail at that.
				body, err := json.Marshal(map[string]any{"threadId": c.thread, "runId": fresh("run"), "state": map[string]any{}, "messages": c.messages,
					"tools": []any{}, "context": []any{}, "forwardedProps": map[string]any{}, "resume": c.array(test.answers...)})
				if err != nil {
					t.Fatal(err)
				}
				a := c.post(t, body)
				w.ran(t, c, test.want[w.b.server.version]...)
				mixed := test.name == "the first" || test.name == "the second"
				if asks := len(a.outcome()); (asks == 1) != (mixed && w.since("1.7.0")) {
					t.Errorf("asks for %d things: %s", asks, terminal(a))
				}
			})
		})
	}
}

func TestDirectAgentsCancelled(t *testing.T) {
	t.Parallel()
	eachBareAgent(t, "approve", func(t *testing.T, w world, c *client) {
		if !w.since("1.0.0rc8") {
			return // accepts no resume array
		}
		c.run(t, step{say: "go"})
		a := c.run(t, step{resume: c.array(cancelled), empty: true}).answer(t)
		if want := map[bool]string{true: "", false: "APPROVAL_RESUME_CANCELLED"}[w.since("1.7.0")]; a.code() != want {
			t.Errorf("cancelled: %s", terminal(a))
		}
		w.ran(t, c)
	})
}

// TestDirectAgentsToolMessage: older versions accept a tool message as the answer. Their problem is
// that they ignore an answer to an unknown question, and end the run normally.
func TestDirectAgentsToolMessage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		content string
		runs    bool
	}{{`{"accepted":true}`, true}, {`{"accepted":false}`, false}, {`{"approved":true}`, false}} {
		t.Run(test.content, func(t *testing.T) {
			eachBareAgent(t, "approve", func(t *testing.T, w world, c *client) {
				a := c.run(t, step{say: "go"}).answer(t)
				end := c.run(t, c.natively(toolSays(askedFor(a)[0], test.content))).answer(t)
				if w.b.server.version == "1.0.0rc8" {
					if end.code() != "APPROVAL_RESUME_REQUIRED" {
						t.Errorf("1.0.0rc8 takes the tool message again: %s", terminal(end))
					}
					return
				}
				if !w.since("1.0.0rc8") && (end.code() != "" || len(end.of("RUN_FINISHED")) != 1) {
					t.Errorf("answer: %s", terminal(end))
				}
				want := []string{}
				if test.runs {
					want = []string{deleteA}
				}
				w.ran(t, c, want...)
			})
		})
	}
}

// TestDirectAgentsForget: these versions keep their open questions only in memory. After a restart,
// the older versions do not report that a question is lost.
func TestDirectAgentsForget(t *testing.T) {
	t.Parallel()
	mortalAgent(t, func(t *testing.T, w world) {
		w.version = newest
		c := bare(t, w.b, newest, "approve")
		a := c.run(t, step{say: "go"}).answer(t)
		w.b.server.crash()
		w.b.server.back(t)
		if w.since("1.0.0rc8") {
			if end := c.run(t, step{resume: c.array(accept), empty: true}).answer(t); end.code() != "APPROVAL_RESUME_NOT_FOUND" {
				t.Errorf("answer: %s", terminal(end))
			}
		} else if end := c.run(t, c.natively(toolSays(askedFor(a)[0], `{"accepted":true}`))).answer(t); end.code() != "" || len(end.of("RUN_FINISHED")) != 1 || len(end.of("TOOL_CALL_RESULT")) != 0 {
			t.Errorf("no longer looks like a success: %s", terminal(end))
		}
		w.ran(t, c)
	})
}

// TestDirectAgentsPrediction: in every version, a client confirms a prediction by a tool message,
// whose call is not in the history. Versions with the interrupt outcome also report the question in
// the outcome, but accept no resume for it.
func TestDirectAgentsPrediction(t *testing.T) {
	t.Parallel()
	eachBareAgent(t, "predictive", func(t *testing.T, w world, c *client) {
		a := c.run(t, step{say: "go"}).answer(t)
		confirm := ""
		for _, e := range a.of("TOOL_CALL_START") {
			if e.str("toolCallName") == "confirm_changes" {
				confirm = e.str("toolCallId")
			}
		}
		if w.since("1.0.0rc8") {
			if a.outcome()[0].str("id") != confirm {
				t.Errorf("interrupt %v, the call is %s", a.outcome(), confirm)
			}
			if end := c.run(t, step{resume: c.array(accepted), empty: true}).answer(t); end.code() != "APPROVAL_RESUME_NOT_FOUND" {
				t.Errorf("a resume was met with %s", terminal(end))
			}
		}
		end := c.run(t, c.natively(toolSays(confirm, `{"accepted":true,"steps":[]}`))).answer(t)
		if !contains(end.Text, "Changes confirmed") || len(w.b.ledger(t, c.thread).Seen) != 1 {
			t.Errorf("answer: %v, the model was asked %d times", end.kinds(), len(w.b.ledger(t, c.thread).Seen))
		}
	})
}

// TestDirectAgentsDrift: 1.0.0rc7 uses another thread id than the client. It sends this id to the
// client, and keeps the open question only under this id.
func TestDirectAgentsDrift(t *testing.T) {
	t.Parallel()
	eachBareAgent(t, "drift", func(t *testing.T, w world, c *client) {
		a := c.run(t, step{say: "go"}).answer(t)
		told := a.of("RUN_STARTED")[0].str("threadId")
		if drifts := told != c.thread; drifts == w.since("1.7.0") {
			t.Errorf("told thread %q, asked was %q", told, c.thread)
		}
		if w.since("1.0.0rc8") {
			return
		}
		answer := toolSays(askedFor(a)[0], `{"accepted":true}`)
		c.run(t, c.natively(answer))
		w.ran(t, c)
		s := c.natively()
		s.patch["messages"] = append(s.patch["messages"].([]any)[:2], answer)
		s.patch["threadId"] = told
		c.run(t, s)
		w.ran(t, c, deleteA)
	})
}

// TestDirectAgentsAreForged: versions that are too old store nothing about their questions. If
// anyone sends an approval of a call, such a version runs the call, every time.
func TestDirectAgentsAreForged(t *testing.T) {
	t.Parallel()
	for _, b := range append(slices.Clone(shared.agents), shared.tooOld) {
		if b.mode != "default" {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := world{b: b, version: newest}
			c := bare(t, b, newest, "approve")
			hello := event{"id": fresh("user"), "role": "user", "content": "plain hello"}
			for range 2 {
				forgeries[1].post(t, c, []event{hello}, "call_forged", evil)
			}
			runs := w.b.ledger(t, c.thread).Counts["delete_file"]
			if want := map[bool]int{true: 2}[b == shared.tooOld]; runs != want {
				t.Errorf("an approval that nobody asked for, sent twice, ran %d times, was %d", runs, want)
			}
		})
	}
}
