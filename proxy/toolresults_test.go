package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestResultThatLooksLikeADecision: a tool of an Agent Framework server returns {"accepted":true},
// and the run ends without a text. The next message of the chat must bring the model the result.
// Otherwise the model would believe that the tool has not run, and would call it again.
func TestResultThatLooksLikeADecision(t *testing.T) {
	for name, end := range map[string]string{"finished": finished, "failed": `{"type":"RUN_ERROR","message":"x"}`} {
		t.Run(name, func(t *testing.T) {
			g := newFamilyRig(t, callFamilies()["Agent Framework"], true, func(n int) []string {
				if n == 1 {
					return []string{
						started, startDelete, endDelete,
						`{"type":"TOOL_CALL_RESULT","messageId":"m1","toolCallId":"c1","content":"{\"accepted\":true}","role":"tool"}`, end,
					}
				}
				return []string{started, finished}
			})
			g.do(talk("t", ""))
			g.do(talk("t", "", callsDelete, decided(`{"accepted":true}`), noWords))
			body := g.last()
			if !arrived(body, `[{"accepted":true}]`) || len(brokenPairs(body)) > 0 {
				t.Errorf("the backend got\n%s", body)
			}
		})
	}
}

// TestResultInTheTurnOfTheQuestion: in the turn that asks, the backend itself sends the result of
// another call, and the result looks like a decision. The question can be answered. The same text
// is still a decision of nobody if the backend did not send it as the result of that call.
func TestResultInTheTurnOfTheQuestion(t *testing.T) {
	for family, f := range callFamilies() {
		for _, named := range []bool{true, false} {
			for _, says := range append(f.says, f.no) {
				t.Run(fmt.Sprintf("%s, named %v, %s", family, named, says), func(t *testing.T) {
					g := newFamilyRig(t, f, named, func(n int) []string {
						if n > 1 {
							return f.asksOnce(n)
						}
						return slices.Concat([]string{started}, f.asks[:1], []string{
							`{"type":"TOOL_CALL_START","toolCallId":"c0","toolCallName":"submit","parentMessageId":"a1"}`, `{"type":"TOOL_CALL_END","toolCallId":"c0"}`,
							fmt.Sprintf(`{"type":"TOOL_CALL_RESULT","messageId":"m0","toolCallId":"c0","content":%q,"role":"tool"}`, says),
						}, f.asks[1:])
					})
					asked := g.do(talk("t", ""))
					if !strings.Contains(asked, `"interrupts"`) {
						t.Fatal(asked)
					}
					both := fmt.Sprintf(`{"id":"a1","role":"assistant","toolCalls":[{"id":"c0","type":"function","function":{"name":"submit","arguments":"{}"}},{"id":"c1","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, f.tool)
					for _, other := range []string{
						fmt.Sprintf(`{"id":"m0","role":"tool","toolCallId":"c7","content":%q}`, f.says[0]),
						fmt.Sprintf(`{"id":"m0","role":"tool","toolCallId":"c0","content":%q}`, f.says[0]+" "),
						fmt.Sprintf(`{"id":"m0","role":"tool","toolCallId":"c0","content":%q},{"id":"m9","role":"tool","toolCallId":"c7","content":%q}`, says, f.says[0]),
					} {
						if told := g.do(talk("t", resumeOf(asked, f.yes), both, other)); g.called() != 1 || !strings.Contains(told, "RUN_ERROR") {
							t.Fatalf("with %s: the backend got\n%s", other, g.last())
						}
					}
					result := fmt.Sprintf(`{"id":"m5","role":"tool","toolCallId":"c0","content":%q}`, says)
					if told := g.do(talk("t", resumeOf(asked, f.no), both, result)); g.called() != 2 || strings.Contains(told, "RUN_ERROR") {
						t.Errorf("%d requests, the client was told\n%s", g.called(), told)
					}
				})
			}
		}
	}
}

// TestResultUnderAnotherID: in the turn that asks, the backend sends the result of another call.
// The client of the .NET SDK sends this result with the id of the call as the message's id. Such a
// message is not new: it must neither end the question nor go to the backend a second time.
func TestResultUnderAnotherID(t *testing.T) {
	for family, f := range callFamilies() {
		for _, id := range []string{`"m0"`, `"c0"`, `""`} {
			for _, content := range []string{"done", `{\"n\": 1.0}`} {
				t.Run(fmt.Sprintf("%s, %s, %s", family, id, content), func(t *testing.T) {
					g := newFamilyRig(t, f, true, func(n int) []string {
						if n > 1 {
							return f.asksOnce(n)
						}
						return slices.Concat([]string{started}, f.asks[:1], []string{
							`{"type":"TOOL_CALL_START","toolCallId":"c0","toolCallName":"submit","parentMessageId":"a1"}`, `{"type":"TOOL_CALL_END","toolCallId":"c0"}`,
							fmt.Sprintf(`{"type":"TOOL_CALL_RESULT","messageId":"m0","toolCallId":"c0","content":"%s","role":"tool"}`, content),
						}, f.asks[1:])
					})
					asked := g.do(talk("t", ""))
					turn := []string{
						fmt.Sprintf(`{"id":"a1","role":"assistant","toolCalls":[{"id":"c0","type":"function","function":{"name":"submit","arguments":"{}"}},{"id":"c1","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, f.tool),
						fmt.Sprintf(`{"id":%s,"role":"tool","toolCallId":"c0","content":"%s"}`, id, strings.ReplaceAll(content, " ", "")),
					}
					if again := g.do(talk("t", "", turn...)); g.called() != 1 || !strings.Contains(again, `"interrupts"`) {
						t.Fatalf("the page is loaded again, %d requests, the client was told\n%s", g.called(), again)
					}
					told := g.do(talk("t", resumeOf(asked, f.no), turn...))
					if g.called() != 2 || strings.Contains(told, "RUN_ERROR") {
						t.Errorf("%d requests, the last one is\n%s\nThe client was told\n%s", g.called(), g.last(), told)
					}
					for _, body := range g.calls[1:] {
						if broken := brokenPairs(body); len(broken) > 0 && strings.Contains(string(body), `"toolCalls"`) {
							t.Errorf("the backend got %q of\n%s", broken, body)
						}
					}
				})
			}
		}
	}
}

// TestFurtherResultUnderARepeatedID: a model repeats ids of calls. The run with the answer makes
// a call of the client, and an earlier call had the same id. The client's result of the second call
// is new, whatever its text is. It must reach the backend, even if the request repeats the answer.
func TestFurtherResultUnderARepeatedID(t *testing.T) {
	const called = `{"id":%q,"role":"assistant","toolCalls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}]}`
	for family, f := range callFamilies() {
		if f.dialect == "adk" {
			continue // it says nothing of an approved call, so the answer is in doubt
		}
		for _, content := range []string{"shown", "other"} {
			t.Run(family+", "+content, func(t *testing.T) {
				g := newFamilyRig(t, f, true, func(n int) []string {
					if n != 2 {
						return f.asksOnce(n)
					}
					return []string{
						started, `{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"c1","content":"deleted","role":"tool"}`,
						`{"type":"TOOL_CALL_START","toolCallId":"s1","toolCallName":"show","parentMessageId":"b2"}`, `{"type":"TOOL_CALL_END","toolCallId":"s1"}`, finished,
					}
				})
				messages := []string{fmt.Sprintf(called, "b1", "s1", "show"), `{"id":"m0","role":"tool","toolCallId":"s1","content":"shown"}`, `{"id":"u2","role":"user","content":"again"}`}
				asked := g.do(talk("t", declares("show"), messages...))
				messages = append(messages, fmt.Sprintf(called, "a1", "c1", f.tool))
				more := declares("show") + resumeOf(asked, f.yes)
				g.do(talk("t", more, messages...))
				messages = append(messages, `{"id":"x1","role":"tool","toolCallId":"c1","content":"deleted"}`, fmt.Sprintf(called, "b2", "s1", "show"), fmt.Sprintf(`{"id":"m9","role":"tool","toolCallId":"s1","content":%q}`, content))
				if told := g.do(talk("t", more, messages...)); g.called() != 3 || !gotMessage(g.last(), "m9") {
					t.Errorf("%d requests, the last one is\n%s\nThe client was told\n%s", g.called(), g.last(), told)
				}
			})
		}
	}
}
