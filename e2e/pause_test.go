//go:build e2e

package e2e

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestAnOrdinaryMessagePasses(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.client(t, "chat")
		for _, said := range []string{"plain one", "plain two"} {
			c.finish(t, step{say: said})
			if !c.echoed(said) {
				t.Errorf("no answer to %q: %v", said, c.messages)
			}
		}
		w.did(t, c, 2, nil)
	})
}

func TestAPauseIsTold(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.client(t, "approve")
		a := c.pause(t, 1)
		i := c.pending[0]
		if i.str("reason") != "langgraph:interrupt" || i.str("message") != "Please confirm" {
			t.Errorf("interrupt %v", i)
		}
		if native := nativeID(i); w.b.showsIDs() && len(native) != 32 {
			t.Errorf("interrupt id %q does not begin with LangGraph's own", i.str("id"))
		}
		raw, _ := i["metadata"].(map[string]any)["langgraph"].(map[string]any)["raw"].(map[string]any)
		if raw["question"] != "Delete 3 files?" {
			t.Errorf("metadata.langgraph.raw is %v", raw)
		}
		// The newest client declares its protocol version, so it reads the outcome. Other clients
		// may read only the CUSTOM event, so they get both.
		want := 1
		if w.version == newest {
			want = 0
		}
		if got := len(a.customs()); got != want {
			t.Errorf("%d CUSTOM on_interrupt beside the outcome, want %d", got, want)
		}
		w.did(t, c, 1, nil)
	})
}

func TestAnApprovalRunsOnce(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		c.finish(t, c.answer(c.answers(accept), yes))
		w.did(t, c, 2, map[string]int{"delete": 1})
		c.goesOn(t, nil)
		w.did(t, c, 3, map[string]int{"delete": 1})
	})
}

func TestADenialRunsNothing(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		c.finish(t, c.answer(c.answers(reject), no))
		w.did(t, c, 2, nil)
		c.goesOn(t, nil)
		w.did(t, c, 3, nil)
	})
}

// TestACancelledAnswerIsNoApproval: the graph reads every value that is true in Python as an
// approval, as most graphs do. A cancelled answer must still not run the action.
func TestACancelledAnswerIsNoApproval(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "truthy", 1)
		c.finish(t, c.answer(c.answers(cancelled), false))
		w.did(t, c, 2, nil)
		c.goesOn(t, nil)
		w.effects(t, c, nil)
	})
}

func TestAnAnswerArrivesAsItWasGiven(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		for _, value := range []any{"Bob", "42", `{"a":1}`, float64(42), true, map[string]any{"a": []any{"b"}}, []any{"x"}, float64(0), ""} {
			if text, isText := value.(string); !w.b.showsIDs() && (value == float64(0) || isText && text != "Bob") {
				// The stream has no native id, so Holdpoint can only send the value alone. The
				// adapter would parse it as JSON.
				continue
			}
			if text, isText := value.(string); w.old() && isText && text != "Bob" && text != "" {
				// In command.resume, the adapter parses a string as JSON. The oldest client sends
				// its answers there, and expects this.
				continue
			}
			c := w.paused(t, "text", 1)
			if got := c.pending[0].str("message"); got != "What is your name?" {
				t.Errorf("message %q", got)
			}
			c.finish(t, c.answer(c.answers(func(id string) entry { return resolved(id, value) }), value))
			l := w.b.ledger(t, c.thread)
			if len(l.Effects) != 1 || !reflect.DeepEqual(l.Effects[0].Answer, value) {
				t.Errorf("answered %#v, the graph got %v", value, l.Effects)
			}
		}
	})
}

func TestTheBackendsSchemaIsTold(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "schema", 1)
		schema, _ := c.pending[0]["responseSchema"].(map[string]any)
		if c.pending[0].str("reason") != "input_required" || schema == nil || schema["type"] != "object" {
			t.Errorf("interrupt %v", c.pending[0])
		}
		two := map[string]any{"count": 2}
		c.finish(t, c.answer(c.answers(func(id string) entry { return resolved(id, two) }), two))
		w.did(t, c, 2, map[string]int{"copy": 1})
	})
}

func TestACopilotKitValue(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "copilot", 1)
		if got := c.pending[0].str("message"); got != "What is your name?" {
			t.Errorf("message %q", got)
		}
		if _, has := c.pending[0]["toolCallId"]; has {
			t.Error("a toolCallId that the client has never seen")
		}
		c.finish(t, c.answer(c.answers(func(id string) entry { return resolved(id, "Bob") }), "Bob"))
		w.did(t, c, 2, map[string]int{"greet": 1})
	})
}

func TestAnAgentInboxRequest(t *testing.T) {
	t.Parallel()
	edited := map[string]any{"to": "eve@example.org"}
	for _, test := range []struct {
		name    string
		entry   func(id string) entry
		command any
		want    map[string]int
		args    any
	}{
		{"accepted", accept, []any{map[string]any{"type": "accept", "args": nil}}, map[string]int{"send_email": 1}, map[string]any{"to": "bob@example.org"}},
		{"edited", func(id string) entry { return resolved(id, map[string]any{"approved": true, "editedArgs": edited}) },
			[]any{map[string]any{"type": "edit", "args": map[string]any{"action": "send_email", "args": edited}}}, map[string]int{"send_email": 1}, edited},
		{"denied", reject, []any{map[string]any{"type": "ignore", "args": nil}}, nil, nil},
		{"cancelled", cancelled, []any{map[string]any{"type": "ignore", "args": nil}}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			matrix(t, func(t *testing.T, w world) {
				c := w.paused(t, "inbox", 1)
				if got := c.pending[0].str("message"); got != "Send this mail?" {
					t.Errorf("message %q", got)
				}
				c.finish(t, c.answer(c.answers(test.entry), test.command))
				w.did(t, c, 2, test.want)
				if l := w.b.ledger(t, c.thread); test.want != nil && !reflect.DeepEqual(l.Effects[0].Answer, test.args) {
					t.Errorf("sent with %v, want %v", l.Effects[0].Answer, test.args)
				}
			})
		})
	}
}

// TestToolCallsAreApprovedOneByOne: one native interrupt of LangChain's HITL middleware contains
// two tool calls. The client must get one question for each call.
func TestToolCallsAreApprovedOneByOne(t *testing.T) {
	t.Parallel()
	decide := func(d ...any) any { return map[string]any{"decisions": d} }
	approve, rejection := map[string]any{"type": "approve"}, map[string]any{"type": "reject", "message": "no"}
	args := map[string]any{"to": "eve@example.org", "body": "hello"}
	edit := map[string]any{"type": "edit", "edited_action": map[string]any{"name": "send_email", "args": args}}
	editEntry := func(id string) entry { return resolved(id, map[string]any{"approved": true, "editedArgs": args}) }
	rejectEntry := func(id string) entry { return resolved(id, map[string]any{"approved": false, "message": "no"}) }
	for _, test := range []struct {
		name    string
		answers [2]func(id string) entry
		command any
		want    map[string]int
		email   any
	}{
		{"both approved", [2]func(string) entry{accept, accept}, decide(approve, approve), map[string]int{"send_email": 1, "delete_file": 1}, map[string]any{"to": "bob@example.org", "body": "hi"}},
		{"one denied", [2]func(string) entry{accept, rejectEntry}, decide(approve, rejection), map[string]int{"send_email": 1}, map[string]any{"to": "bob@example.org", "body": "hi"}},
		{"the other denied", [2]func(string) entry{rejectEntry, accept}, decide(rejection, approve), map[string]int{"delete_file": 1}, nil},
		{"both denied", [2]func(string) entry{rejectEntry, reject}, decide(rejection, rejection), nil, nil},
		{"edited", [2]func(string) entry{editEntry, rejectEntry}, decide(edit, rejection), map[string]int{"send_email": 1}, args},
		{"cancelled", [2]func(string) entry{cancelled, cancelled}, decide(rejection, rejection), nil, nil},
		{"approved and cancelled", [2]func(string) entry{accept, cancelled}, decide(approve, rejection), map[string]int{"send_email": 1}, map[string]any{"to": "bob@example.org", "body": "hi"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			matrix(t, func(t *testing.T, w world) {
				c := w.paused(t, "hitl", 2)
				if one, two := c.pending[0], c.pending[1]; one.str("reason") != "tool_call" || one.str("toolCallId") != "call-1-1" || two.str("toolCallId") != "call-1-2" || two.str("message") != "Deleting needs an OK" {
					t.Errorf("interrupts %v", c.pending)
				}
				if edits := strings.Contains(text(c.pending[0]["responseSchema"]), "editedArgs"); !edits {
					t.Errorf("schema of a call that may be edited: %v", c.pending[0]["responseSchema"])
				}
				if edits := strings.Contains(text(c.pending[1]["responseSchema"]), "editedArgs"); edits {
					t.Errorf("schema of a call that may not be edited: %v", c.pending[1]["responseSchema"])
				}
				before := calls(c.messages)
				// The client answers in the reverse order of the questions, which it may do.
				entries := []entry{test.answers[1](c.pending[1].str("id")), test.answers[0](c.pending[0].str("id"))}
				a := c.finish(t, c.answer(entries, test.command))
				w.did(t, c, 2, test.want)
				for _, e := range w.b.ledger(t, c.thread).Effects {
					if e.Name == "send_email" && !reflect.DeepEqual(e.Answer, test.email) {
						t.Errorf("mailed %v, want %v", e.Answer, test.email)
					}
				}
				for _, e := range a.of("TOOL_CALL_START") {
					if slices.Contains(before, e.str("toolCallId")) {
						t.Errorf("call %s, which the client knows, begins again", e.str("toolCallId"))
					}
				}
				if after := calls(c.messages); !slices.Equal(before, after) {
					t.Errorf("tool calls of the client were %v, are %v", before, after)
				}
				c.goesOn(t, nil)
				w.effects(t, c, test.want)
			})
		})
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// calls returns the ids of the tool calls in a client's messages.
func calls(messages []event) []string {
	var all []string
	for _, m := range messages {
		list, _ := m["toolCalls"].([]any)
		for _, call := range list {
			id, _ := call.(map[string]any)["id"].(string)
			all = append(all, id)
		}
	}
	return all
}

// TestTwoInterruptsAtOnce: two interrupts are open at the same time. Adapter 0.0.42 reports only
// the first of them, so the client gets the second question after its answer to the first.
func TestTwoInterruptsAtOnce(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		if !w.b.showsIDs() {
			return // the stream has no native ids: see TestTwoInterruptsWithoutNativeIDs
		}
		c := w.client(t, "parallel")
		r := c.run(t, step{say: "go"})
		rounds := 1
		for ; len(r.answer(t).outcome()) > 0 && rounds < 5; rounds++ {
			if w.old() && len(c.customs) != len(c.pending) {
				t.Errorf("%d CUSTOM on_interrupt for %d interrupts", len(c.customs), len(c.pending))
			}
			byID := map[string]any{}
			var entries []entry
			for _, i := range c.pending {
				answer := no
				if i.str("message") == "May a go on?" {
					answer = yes
				}
				entries, byID[nativeID(i)] = append(entries, resolved(i.str("id"), answer)), answer
			}
			if len(byID) != len(entries) {
				t.Fatalf("%d interrupts with %d native ids: %s", len(entries), len(byID), ids(c.pending))
			}
			r = c.run(t, c.answer(entries, byID))
		}
		if a := r.answer(t); a.code() != "" || a.outcome() != nil {
			t.Fatalf("not at its end after %d rounds: %s", rounds, terminal(a))
		}
		if rounds > 2 && w.b.name != "0.0.42" {
			t.Errorf("%d rounds for two interrupts that the backend tells at once", rounds)
		}
		w.effects(t, c, map[string]int{"a": 1})
		if l := w.b.ledger(t, c.thread); !slices.Contains(l.Nodes, "b refused") || !slices.Contains(l.Nodes, "join") {
			t.Errorf("nodes %v", l.Nodes)
		}
		c.goesOn(t, nil)
		w.effects(t, c, map[string]int{"a": 1})
	})
}

// TestTwoInterruptsWithoutNativeIDs: without RAW events and without the outcome, the stream has no
// native ids. The backend could not match two answers to its two interrupts. So Holdpoint must send
// neither answer, and nothing may run.
func TestTwoInterruptsWithoutNativeIDs(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		if w.b.showsIDs() {
			return // TestTwoInterruptsAtOnce tests this backend
		}
		c := w.paused(t, "parallel", 2)
		command := map[string]any{c.pending[0].str("id"): yes, c.pending[1].str("id"): yes}
		a := c.run(t, c.answer(c.answers(accept), command)).answer(t)
		if a.code() == "" {
			t.Errorf("two answers without native ids were taken: %s", terminal(a))
		}
		w.did(t, c, 1, nil)
	})
}

// TestOneQuestionAfterTheOtherWithTheSameNativeID: one node asks two questions in turn, under the
// same native id. The answer to the first question must not reach the second one.
func TestOneQuestionAfterTheOtherWithTheSameNativeID(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "sequential", 1)
		first := c.pending[0]
		a := c.run(t, c.answer(c.answers(accept), yes))
		second := a.answer(t).outcome()
		if len(second) != 1 || second[0].str("message") != "Second?" {
			t.Fatalf("after the first answer: %s", terminal(a.answer(t)))
		}
		if nativeID(first) != nativeID(second[0]) && w.b.showsIDs() {
			t.Errorf("native ids %q and %q: this scene is about equal ones", nativeID(first), nativeID(second[0]))
		}
		if first.str("id") == second[0].str("id") {
			t.Errorf("both questions have the id %q", first.str("id"))
		}
		w.did(t, c, 2, nil)

		if !w.old() {
			// The same request with the first answer is posted again. Its response must be the
			// second question, and the backend must not be called.
			again := c.post(t, a.Sent[0])
			if got := ids(again.outcome()); got != ids(second) {
				t.Errorf("the first answer again was met with %s, want the second question %s\n%s", got, ids(second), terminal(again))
			}
			// A different answer to the first question must not answer the second question.
			c.refused(t, step{resume: []entry{reject(first.str("id"))}, empty: true}, "RESUME_CONFLICT", true)
			w.did(t, c, 2, nil)
		}
		c.finish(t, c.answer(c.answers(accept), yes))
		w.did(t, c, 3, map[string]int{"first": 1, "second": 1})
		c.goesOn(t, nil)
		w.effects(t, c, map[string]int{"first": 1, "second": 1})
	})
}

// TestAQuestionInASubgraph: the node that asks is in a subgraph. The adapter sends the snapshots of
// the subgraph in the middle of the run. An approval must run the action once, a denial must run
// nothing, and the thread must continue.
func TestAQuestionInASubgraph(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		for _, test := range []struct {
			entry   func(string) entry
			command any
			want    map[string]int
		}{{accept, yes, map[string]int{"inside": 1}}, {reject, no, nil}} {
			c := w.paused(t, "subgraph", 1)
			c.finish(t, c.answer(c.answers(test.entry), test.command))
			w.did(t, c, 2, test.want)
			c.goesOn(t, nil)
			w.did(t, c, 3, test.want)
		}
	})
}

// TestOnePauseAfterTheOther: a node runs several times, and asks each time under a new native id.
// Each question must get a new id for the client, and each answer must be carried out once.
func TestOnePauseAfterTheOther(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "loop", 1)
		told := map[string]bool{}
		for range 3 {
			id := c.pending[0].str("id")
			if told[id] {
				t.Errorf("the id %s was told before", id)
			}
			told[id] = true
			if a := c.run(t, c.answer(c.answers(accept), yes)).answer(t); len(a.outcome()) != 1 {
				t.Fatalf("no further question: %s", terminal(a))
			}
		}
		c.finish(t, c.answer(c.answers(reject), no))
		w.did(t, c, 5, map[string]int{"round": 3})
		c.goesOn(t, nil)
		w.effects(t, c, map[string]int{"round": 3})
	})
}

// TestTwoToolsOfOneNode: two tools of one node ask in turn, both under the native id of the node.
// After the second answer LangGraph runs the node from its start, with or without Holdpoint. So the
// first tool runs twice, and which tool gets which answer depends on which tool asks first. No
// answer may reach the wrong tool: if RAW events show that there are two tools, Holdpoint must
// accept only a denial as the second answer.
func TestTwoToolsOfOneNode(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "tools", 1)
		if got := c.pending[0].str("message"); got != "Tool a?" {
			t.Errorf("first question %q", got)
		}
		a := c.run(t, c.answer(c.answers(reject), no)).answer(t)
		if len(a.outcome()) != 1 || a.outcome()[0].str("message") != "Tool b?" {
			t.Fatalf("second question: %s", terminal(a))
		}
		if w.b.mode == "quiet" {
			c.finish(t, c.answer(c.answers(accept), yes))
			w.did(t, c, 3, map[string]int{"b": 1})
			c.goesOn(t, nil)
			w.effects(t, c, map[string]int{"b": 1})
			return
		}
		c.refused(t, c.answer(c.answers(accept), yes), "APPROVAL_AMBIGUOUS", true)
		c.finish(t, c.answer(c.answers(reject), no))
		w.did(t, c, 3, nil)
		c.goesOn(t, nil)
		w.effects(t, c, nil)
	})
}

// TestCopilotKitsResume: CopilotKit sends its answers in a request with two peculiarities. The
// request has the run id of the interrupted run. In addition to the resume array, it has a tool
// message with each payload. The answers must be carried out once, and no payload may remain in the
// messages as the result of a tool.
func TestCopilotKitsResume(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		if w.old() {
			return // the CopilotKit versions that send resume use a newer client
		}
		c := w.client(t, "hitl")
		r := c.run(t, step{say: "go", runID: "run-of-" + c.thread})
		if len(r.answer(t).outcome()) != 2 {
			t.Fatal(terminal(r.answer(t)))
		}
		messages := slices.Clone(c.messages)
		var entries []entry
		for n, i := range c.pending {
			payload := []map[string]any{yes, no}[n]
			entries = append(entries, resolved(i.str("id"), payload))
			messages = append(messages, event{"id": fresh("tool"), "role": "tool", "toolCallId": i.str("toolCallId"), "content": text(payload)})
		}
		c.d.call(t, "set", map[string]any{"client": c.name, "messages": messages}, &struct{}{})
		c.finish(t, step{resume: entries, runID: "run-of-" + c.thread})
		w.did(t, c, 2, map[string]int{"send_email": 1})
		for _, m := range c.messages {
			if m.str("role") == "tool" && strings.Contains(m.str("content"), "approved") {
				t.Errorf("the payload stays as the tool's result: %v", m)
			}
		}
		c.goesOn(t, nil)
	})
}

// TestAMessageBesideTheAnswers: a request has an answer and a new message. The backend must reply
// to the message too.
func TestAMessageBesideTheAnswers(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "approve", 1)
		s := c.answer(c.answers(accept), yes)
		s.say = "plain and well"
		c.finish(t, s)
		if !c.echoed("plain and well") {
			t.Errorf("the message beside the answer was not answered: %v", c.messages)
		}
		if said, echo := place(c, "plain and well"), place(c, "echo: plain and well"); said > echo {
			t.Errorf("the message stands behind its answer: %v", c.messages)
		}
		w.effects(t, c, map[string]int{"delete": 1})
	})
}

// TestAMessageBesideAnAnswerThatLeadsToAnotherQuestion: the request with the first of two answers
// also has a new message. The run asks the second question, so it does not accept the message. The
// client keeps the message and sends it again with the second answer. Then the backend must reply
// to it.
func TestAMessageBesideAnAnswerThatLeadsToAnotherQuestion(t *testing.T) {
	t.Parallel()
	matrix(t, func(t *testing.T, w world) {
		c := w.paused(t, "sequential", 1)
		s := c.answer(c.answers(accept), yes)
		s.say = "plain and patient"
		a := c.run(t, s).answer(t)
		if len(a.outcome()) != 1 || !strings.Contains(terminal(a), "MESSAGES_NOT_TAKEN") {
			t.Fatalf("after the first answer: %s", terminal(a))
		}
		if place(c, "plain and patient") < 0 {
			t.Fatalf("the client lost its message: %v", c.messages)
		}
		c.finish(t, c.answer(c.answers(accept), yes))
		if !c.echoed("plain and patient") {
			t.Errorf("the message was not answered: %v", c.messages)
		}
		w.effects(t, c, map[string]int{"first": 1, "second": 1})
		c.goesOn(t, nil)
	})
}

// place returns the index of the client's message with content, or -1.
func place(c *client, content string) int {
	return slices.IndexFunc(c.messages, func(m event) bool { return m.str("content") == content })
}
