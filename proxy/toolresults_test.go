package proxy

import "testing"

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
