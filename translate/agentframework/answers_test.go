package agentframework

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialecttest"
)

// answersOf returns the answers that the dialect reads in a request, as "id status payload". more
// contains further members of the request.
func answersOf(t *testing.T, p agui.Pause, more string, messages ...string) (string, agui.Code) {
	t.Helper()
	body := `{"threadId":"t1","runId":"r2","messages":[` + strings.Join(messages, ",") + `]`
	if more != "" {
		body += "," + more
	}
	answers, err := dialecttest.Answers(newDialect(t), dialecttest.Input(t, body+"}"), p)
	var list []string
	for _, a := range answers {
		list = append(list, strings.Trim(a.ID+" "+string(a.Status)+" "+string(a.Payload), " "))
	}
	return strings.Join(list, "; "), dialecttest.Code(err)
}

func TestWordsOfAnApproval(t *testing.T) {
	dotnet := `{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
	for _, c := range []struct{ name, schema, payload, want string }{
		{"approved, for one that knows it", dotnet, `{"approved":true}`, `{"approved":true}`},
		{"accepted, for one that does not", dotnet, `{"accepted":false,"x":1}`, `{"approved":false,"x":1}`},
		{"accepted, for 1.0.0rc8", schemaOld, `{"accepted":true}`, `{"accepted":true}`},
		{"approved, for 1.0.0rc8", schemaOld, `{"approved":true,"path":"z"}`, `{"accepted":true,"path":"z"}`},
		{"both, and they agree", schemaOld, `{"approved":true,"accepted":true}`, `{"accepted":true}`},
		{"both are known", schemaNew, `{"accepted":true}`, `{"accepted":true}`},
		{"a bare yes", schemaNew, `true`, `{"approved":true}`},
		{"a bare no, for 1.0.0rc8", schemaOld, `false`, `{"accepted":false}`},
		{"neither is known", `{"type":"boolean"}`, `true`, `true`},
		{"no schema", ``, `{"accepted":true}`, `{"accepted":true}`},
		{"a word", schemaOld, `"yes"`, `"yes"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			object := json.RawMessage(`{"reason":"tool_call"}`)
			if c.schema != "" {
				object = agui.SetKey(object, "responseSchema", json.RawMessage(c.schema))
			}
			p := dialecttest.WithIDs(agui.Pause{Dialect: Name, Interrupts: []agui.Interrupt{{Native: "a", Object: object, Private: json.RawMessage(`{"kind":"approval","id":"a","call":"a"}`)}}})
			if got, code := answersOf(t, p, entries(p, c.payload)); got != "a~r1 resolved "+c.want || code != "" {
				t.Errorf("%s %s, want %s", got, code, c.want)
			}
		})
	}
	// The keys approved and accepted contradict each other, and different versions read different
	// keys. So this payload is not an answer.
	p, l := pausedBy(t, asking(withOutcome(schemaOld, "a"), "", "a")...)
	for _, payload := range []string{`{"approved":true,"accepted":false}`, `{"accepted":true,"approved":false}`, `{"accepted":true,"accepted":false}`, `{"accepted":"yes"}`, `{}`, `null`, `[true]`} {
		if _, _, err := resumeWith(t, newDialect(t), p, l, input(t, entries(p, payload))); dialecttest.Code(err) != agui.InvalidPayload {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

func TestOwnFormsOfAnAnswer(t *testing.T) {
	plain, _ := pausedBy(t, asking(withList("a"), "", "a")...)
	two, _ := pausedBy(t, asking(withOutcome(schemaNew, "af-a", "af-b"), "af-", "a", "b")...)
	predicted, _ := pausedBy(t, events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), []string{withConfirm("c", "w")})...)
	flow, _ := pausedBy(t, append(append([]string{started}, requests("q", "dict", `{}`)...), `{"type":"RUN_FINISHED","interrupt":[{"id":"q","value":{}}]}`)...)
	words, _ := pausedBy(t, append(append([]string{started}, requests("q", "str", `{}`)...), `{"type":"RUN_FINISHED","interrupt":[{"id":"q","value":{}}]}`)...)
	history := []string{user, said("a", "b")}
	for _, c := range []struct {
		name     string
		pause    agui.Pause
		more     string
		messages []string
		want     string
	}{
		{"a tool message on the call", plain, "", append(history, toolMessage("x", "a", `{"accepted":true}`)), `a~r1 resolved {"approved":true}`},
		{"on the published id", plain, "", append(history, toolMessage("x", "a~r1", `{"accepted":false}`)), `a~r1 resolved {"approved":false}`},
		{"on the confirm_changes call, with its steps", plain, "", append(history, toolMessage("x", "confirm-a", `{"accepted":true,"steps":[{"description":"d","status":"enabled"}]}`)), `a~r1 resolved {"approved":true}`},
		{"on a plan, which keeps its steps", predicted, "", append(history, toolMessage("x", "c", `{"accepted":true,"steps":[1]}`)), `c~r1 resolved {"approved":true,"steps":[1]}`},
		{"its content in parts of JSON is none", plain, "", append(history, toolMessage("x", "a", `{"accepted":true} and more`)), ``},
		{"a result of a tool", plain, "", append(history, toolMessage("x", "a", `{"approved":true,"amount":7}`)), ``},
		{"a result that says accepted too", plain, "", append(history, toolMessage("x", "a", `{"accepted":true,"amount":7}`)), ``},
		{"before the assistant's last words", plain, "", []string{user, said("a"), toolMessage("x", "a", `{"accepted":true}`), said("a")}, ``},
		{"on the confirm_changes call, wherever", plain, "", []string{user, toolMessage("x", "confirm-a", `{"accepted":true}`), said("a")}, `a~r1 resolved {"approved":true}`},
		{"function_approvals", two, "", append(history, `{"id":"x","role":"user","content":"","function_approvals":[{"id":"af-a","call_id":"a","approved":true},{"id":"?","call_id":"b","approved":false},{"id":"z","approved":true}]}`), `af-a~r1 resolved {"approved":true}; af-b~r2 resolved {"approved":false}`},
		{"a resume object", two, `"resume":{"interrupts":[{"id":"af-a","value":{"accepted":true}},{"interruptId":"af-b~r2","status":"cancelled"}]}`, history, `af-a~r1 resolved {"accepted":true}; af-b~r2 cancelled`},
		{"with the other key", flow, `"resume":{"interrupt":[{"id":"q","response":{"x":1}}]}`, nil, `q~r1 resolved {"x":1}`},
		{"one item", flow, `"resume":{"id":"q","payload":{"x":1}}`, nil, `q~r1 resolved {"x":1}`},
		{"forwardedProps.resume", plain, `"forwardedProps":{"resume":[{"id":"a","value":true}]}`, history, `a~r1 resolved {"approved":true}`},
		{"forwardedProps.resume that is something else", plain, `"forwardedProps":{"resume":true}`, history, ``},
		{"a list in command.resume", plain, `"forwardedProps":{"command":{"resume":[{"id":"a","value":{"accepted":false}}]}}`, history, `a~r1 resolved {"approved":false}`},
		{"a value in command.resume", plain, `"forwardedProps":{"command":{"resume":{"approved":true}}}`, history, `a~r1 resolved {"approved":true}`},
		{"a workflow's call", flow, "", append(history, toolMessage("x", "q", `{"x":1}`)), `q~r1 resolved {"x":1}`},
		{"a workflow's call, which wants a text", words, "", append(history, toolMessage("x", "q", `17`)), `q~r1 resolved "17"`},
		{"what nobody asked", plain, "", append(history, toolMessage("x", "z", `{"accepted":true}`)), `z resolved`},
		{"a yes, and then a no", plain, "", append(history, toolMessage("x", "a", `{"accepted":true}`), toolMessage("y", "a", `{"accepted":false}`)), `a~r1 resolved {"approved":false}`},
		{"a no, and then a yes", plain, "", append(history, toolMessage("x", "a", `{"accepted":false}`), toolMessage("y", "a", `{"accepted":true}`)), `a~r1 resolved {"approved":true}`},
		{"a yes in another form before a no", plain, "", append(history, `{"id":"x","role":"user","content":"","function_approvals":[{"id":"a","call_id":"a","approved":true}]}`, toolMessage("y", "a", `{"accepted":false}`)), `a~r1 resolved {"approved":false}`},
		{"CopilotKit's, beside the entry", plain, entries(plain, yes), append(history, toolMessage("x", "a", `{"accepted":true}`)), `a~r1 resolved {"approved":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, code := answersOf(t, c.pause, c.more, c.messages...); got != c.want || code != "" {
				t.Errorf("%s %s, want %s", got, code, c.want)
			}
		})
	}
	t.Run("two that do not agree", func(t *testing.T) {
		if _, code := answersOf(t, plain, entries(plain, yes), append(history, toolMessage("x", "a", `{"accepted":false}`))...); code != agui.ResumeConflict {
			t.Errorf("%s", code)
		}
	})
	t.Run("of an ended pause", func(t *testing.T) {
		in := dialecttest.Input(t, `{"threadId":"t1","runId":"r2","messages":[`+strings.Join([]string{user, said("a"), toolMessage("x", "a", `{"accepted":true}`), said("b"), toolMessage("y", "z", `done`), `{"id":"u2","role":"user","content":"more"}`}, ",")+`]}`)
		found := 0
		for reply := range newDialect(t).Replies(in, Name) {
			past := reply.TooLate
			reply.TooLate = false // proxy does so for an ended pause
			if a, ok := newDialect(t).AnswerIn(in.Messages[reply.At], reply, plain.Interrupts[0]); ok && reply.Key == "a" {
				if found++; !past || string(a.Payload) != `{"approved":true}` {
					t.Errorf("past %v, %s", past, a.Payload)
				}
			}
		}
		if found != 1 {
			t.Errorf("%d answers", found)
		}
	})
	t.Run("a message that was there when it was asked", func(t *testing.T) {
		p := plain
		p.SeenMessages = []agui.SeenMessage{{ID: "x"}}
		if got, _ := answersOf(t, p, "", user, said("a"), toolMessage("x", "a", `{"accepted":true}`), said("a")); got != "" {
			t.Errorf("%s", got)
		}
	})
}

func TestAnswersToNothing(t *testing.T) {
	stray := []string{user, said("z"), toolMessage("x", "z", `{"accepted":true}`)}
	for _, c := range []struct {
		name     string
		pause    agui.Pause
		more     string
		messages []string
		want     string
	}{
		{"of a route that speaks it", agui.Pause{Dialect: Name}, "", stray, `z resolved`},
		{"with words behind", agui.Pause{Dialect: Name}, "", append(stray, user), ``},
		{"with an answer behind", agui.Pause{Dialect: Name}, "", append(stray, said()), ``},
		{"of a tool of the client", agui.Pause{Dialect: Name}, `"tools":[{"name":"rm","description":"","parameters":{}}]`, stray, ``},
		{"of another route", agui.Pause{Dialect: "langgraph"}, "", stray, ``},
		{"of a route that nobody knows", agui.Pause{}, "", stray, ``},
		{"an object of ours", agui.Pause{}, `"resume":{"interrupts":[{"id":"a","value":true}]}`, nil, `a resolved true`},
		{"an object of others", agui.Pause{}, `"resume":{"id":"a","value":true}`, nil, ``},
		{"a list in the properties", agui.Pause{}, `"forwardedProps":{"resume":[{"id":"a"}]}`, nil, `a resolved`},
		{"an object in the properties", agui.Pause{}, `"forwardedProps":{"resume":{"interrupts":[{"id":"a","value":true}]}}`, nil, `a resolved true`},
		{"other things in the properties", agui.Pause{}, `"forwardedProps":{"resume":"my life","config":{"id":"a"}}`, nil, ``},
		{"a list in the properties, of another route", agui.Pause{Dialect: "langgraph"}, `"forwardedProps":{"resume":[{"id":"a"}]}`, nil, `a resolved`},
		{"the same, of a route that speaks it", agui.Pause{Dialect: Name}, `"forwardedProps":{"resume":[{"id":"a"}]}`, nil, `a resolved`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, code := answersOf(t, c.pause, c.more, c.messages...); got != c.want || code != "" {
				t.Errorf("%s %s, want %s", got, code, c.want)
			}
		})
	}
}

// TestTwoAnswersThatDifferAreNone: if a request has two different answers to a question, neither
// may be used, because one of them may be the no.
func TestTwoAnswersThatDifferAreNone(t *testing.T) {
	p, _ := pausedBy(t, asking(withOutcome(schemaOld, "a"), "", "a")...)
	id := p.Interrupts[0].ID
	for first, conflicts := range map[string]bool{"false": true, "true": false} {
		for form, props := range map[string]string{
			"command and props": `{"command":{"resume":{"` + id + `":{"accepted":` + first + `}}},"resume":{"interrupts":[{"id":"` + id + `","value":{"accepted":true}}]}}`,
			"two items":         `{"resume":{"interrupts":[{"id":"` + id + `","value":{"accepted":` + first + `}},{"id":"` + id + `","value":{"accepted":true}}]}}`,
		} {
			list, err := newDialect(t).Answers(input(t, `"forwardedProps":`+props), p)
			if (err != nil) != conflicts || conflicts == (len(list) > 0) {
				t.Errorf("%s, first %s: %v, %v", form, first, list, err)
			}
		}
	}
}
