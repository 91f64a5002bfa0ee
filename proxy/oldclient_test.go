package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestOldClientRepeatsANewOnesAnswer: a client of AG-UI 1.0 sends an answer and gets the end of the
// run. Then a client that declares no version sends the same answer, and gets the recorded end. It
// must not get events and members that it cannot read.
func TestOldClientRepeatsANewOnesAnswer(t *testing.T) {
	for _, outcome := range []string{`{"type":"success","pendingToolCallIds":["c"]}`, `{"type":"cancelled"}`} {
		asks := `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"x","reason":"confirmation"}]}}`
		ends := `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":` + outcome + `}`
		g := newTurnRig(t, "agui", [][]string{{started, asks}, {started, ends}})
		body := func(version, resume string) string {
			return fmt.Sprintf(`{%s"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"go"}]%s}`, version, resume)
		}
		const current = `"protocolVersion":"1.0",`
		told := g.do(body(current, ""))
		id := gjson.Get(told[strings.Index(told, `{"type":"RUN_FINISHED"`):], "outcome.interrupts.0.id").Str
		resume := fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":"resolved","payload":true}]`, id)
		if got := g.do(body(current, resume)); !strings.Contains(got, outcome) {
			t.Fatalf("a new client is told %s", got)
		}
		if got := g.do(body(current, resume)); !strings.Contains(got, outcome) {
			t.Errorf("a new client is told again %s", got)
		}
		if got := g.do(body("", resume)); strings.Contains(got, "pendingToolCallIds") || strings.Contains(got, "cancelled") || !strings.Contains(got, "RUN_FINISHED") {
			t.Errorf("an old client is told again %s", got)
		}
		if g.called() != 2 {
			t.Errorf("the backend was called %d times", g.called())
		}
	}
}
