package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/test/hostile"
)

// doubling returns a schema with many levels. Each level refers to the next level twice.
func doubling(levels int, keyword, leaf string) string {
	return `{"$ref":"#/$defs/0","$defs":{` + hostile.Many(levels, func(i int) string {
		return fmt.Sprintf(`"%d":{"%s":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`,"%d":%s}}`, levels, leaf)
}

// TestWhatCannotBeJudgedIsRefused: the client sends a payload that Holdpoint cannot validate.
// Holdpoint must refuse it, and the question stays open. After that, Holdpoint must accept a
// correct answer. If the schema allows no answer, it must accept a cancel.
func TestWhatCannotBeJudgedIsRefused(t *testing.T) {
	for _, tt := range []struct{ name, schema, payload, right string }{
		{"a number that the library dies of", `{"type":"object","properties":{"amount":{"type":"number","minimum":1}}}`, `{"amount":1e9999999}`, `{"amount":7}`},
		{"numbers that take it minutes", `{"items":{"type":"integer"}}`, `[` + hostile.Many(2000, hostile.Same("1e999999")) + `]`, `[1]`},
		{"a schema that takes it gigabytes", doubling(24, "anyOf", `{"type":"string"}`), `1`, ""},
		{"a recursion on which the payload decides", `{"anyOf":[{"items":{"$ref":"#"},"maxItems":0},{"items":{"$ref":"#"},"maxItems":0},{"type":"string"}]}`,
			strings.Repeat("[", 60) + strings.Repeat("]", 60), `"x"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"n1","reason":"confirmation","responseSchema":`+tt.schema+`}]}}`))
					return
				}
				sendStream(w, streamOf(started, finished))
			})
			entry := func(payload string) string {
				return `{"interruptId":"n1~id1","status":"resolved","payload":` + payload + `}`
			}
			g.do(input("t", "r1", ""))
			got := g.do(input("t", "r2", resumeWith(entry(tt.payload))))
			wantTypes(t, got, "RUN_STARTED RUN_FINISHED+interrupt RUN_ERROR:INVALID_PAYLOAD")
			if !strings.Contains(got, `payload for interrupt \"n1~id1\" cannot be checked against its responseSchema: `) {
				t.Error(lastData(got))
			}
			if g.called() != 1 {
				t.Fatal("it reached the backend")
			}
			last := no("n1~id1")
			if tt.right != "" {
				last = entry(tt.right)
			}
			wantTypes(t, g.do(input("t", "r3", resumeWith(last))), "RUN_STARTED RUN_FINISHED")
			if g.called() != 2 {
				t.Error("the right answer did not reach the backend")
			}
		})
	}
}
