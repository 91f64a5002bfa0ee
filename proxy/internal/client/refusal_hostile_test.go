package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// TestManyQuestionsAreExplainedInOneGo: Holdpoint adds a refusal to each of many questions. The
// work must grow linearly with the number of questions.
func TestManyQuestionsAreExplainedInOneGo(t *testing.T) {
	var list []string
	for n := range 400 {
		list = append(list, fmt.Sprintf(`{"id":"n%d","reason":"r","message":%q}`, n, strings.Repeat("x", 1000)))
	}
	finish := agui.NewEvent([]byte(`{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[` + strings.Join(list, ",") + `]}}`))
	var got agui.Event
	work := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			got = ExplainedQuestions(finish, &Refusal{Code: "X"})
		}
	})
	if bytes := work.AllocedBytesPerOp(); bytes > 10*int64(len(finish.JSON)) {
		t.Errorf("%d bytes for an event of %d", bytes, len(finish.JSON))
	}
	if n := len(gjson.GetBytes(got.JSON, `outcome.interrupts.#(metadata.holdpoint.refusal.code=="X")#`).Array()); n != 400 || gjson.GetBytes(got.JSON, "outcome.type").Str != "interrupt" {
		t.Errorf("%d are explained", n)
	}
}
