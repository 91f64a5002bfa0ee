package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestResultsInTheQuestionsWordsUnderOneID: two calls of a history have the same id, and the result
// of each looks like a yes to the question. The backend must get both results.
func TestResultsInTheQuestionsWordsUnderOneID(t *testing.T) {
	const asked = `{"id":"n1","reason":"tool_call","toolCallId":"c","responseSchema":{"type":"object","properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}}`
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		sendStream(w, streamOf([][]string{{started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[` + asked + `]}}`}, {started, finished}, {started, finished}}[n-1]...))
	})
	g.do(withMessages(person))
	g.do(strings.TrimSuffix(withMessages(person), "}") + resumeWith(`{"interruptId":"n1~id1","status":"resolved","payload":{"confirmed":true}}`) + "}")
	second := strings.Replace(call("book", "{}"), `"a1"`, `"a2"`, 1)
	first := `{"id":"t0","role":"tool","toolCallId":"c","content":"{\"confirmed\":true,\"booking\":7}"}`
	g.do(withMessages(person, call("book", "{}"), first, second, strings.NewReplacer("t0", "t1", "7", "8").Replace(first), newUser))
	if g.called() != 3 {
		t.Fatal(g.logs)
	}
	if sent := gjson.GetBytes(g.calls[2], "messages").Raw; strings.Count(sent, "booking") != 2 {
		t.Errorf("sent %s", sent)
	}
}
