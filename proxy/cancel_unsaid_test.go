package proxy

import (
	"strings"
	"testing"
)

// TestCancelThatNoWordSays: a run of ADK ends with questions that all require a value, and the
// client cancels all of them. ADK has no form for this cancel. So Holdpoint must give the pause up
// and send no answer. If the request also has a new message, the backend must get this message.
func TestCancelThatNoWordSays(t *testing.T) {
	f := callFamilies()["ADK"]
	f.asks = []string{
		`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"adk_request_input"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"message\":\"Which?\"}"}`, endDelete,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"c1","reason":"input_required"}]}}`,
	}
	for _, more := range [][]string{nil, {noWords}} {
		g := newFamilyRig(t, f, true, f.asksOnce)
		told := g.do(talk("t", resumeOf(g.do(talk("t", "")), ""), more...))
		if wants := len(more); g.called() != 1+wants || strings.Contains(told, "RUN_ERROR") || wants > 0 && !arrivedAlone(g.last()) {
			t.Errorf("%d calls of the backend, the last with %s; the client was told %s", g.called(), g.last(), told)
		}
		before := g.called()
		if told = g.do(talk("t", "", noWords)); g.called() != before+1 || !strings.Contains(told, `"delta":"ok"`) {
			t.Errorf("the next message is not answered: %s", told)
		}
	}
}

// arrivedAlone reports whether a request to the backend has the new user message and no answer.
func arrivedAlone(body []byte) bool {
	return gotMessage(body, "u8") && !strings.Contains(string(body), `"resume"`)
}
