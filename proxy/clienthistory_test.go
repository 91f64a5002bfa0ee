package proxy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// TestHistoryWithManyResults: putting calls in front of their results is linear in the results.
func TestHistoryWithManyResults(t *testing.T) {
	g := newRig(t, nil)
	took := func(results int) time.Duration {
		var messages, calls strings.Builder
		messages.WriteString(`{"threadId":"t","runId":"r","messages":[` + oldUser)
		for n := range results {
			fmt.Fprintf(&messages, `,{"role":"tool","toolCallId":"c%d"}`, n)
		}
		messages.WriteString(`,{"id":"w","role":"user","content":"x"}`)
		for n := range 32 {
			fmt.Fprintf(&messages, `,{"role":"tool","toolCallId":"known%d"}`, n)
			fmt.Fprintf(&calls, `,{"id":"known%d","type":"function","function":{"name":"f","arguments":"{}"}}`, n)
		}
		in, _, err := agui.ParseInput([]byte(messages.String() + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		r := loneRun(t.Context(), g.h, "/", &in)
		r.record = store.Record{Pause: &agui.Pause{
			Messages: json.RawMessage(`[` + oldUser + `,{"id":"a","role":"assistant","toolCalls":[` + calls.String()[1:] + `]}]`),
			Seen:     []agui.SeenMessage{agui.See(in.Messages[0])},
		}}
		begun := time.Now()
		list := r.withKnownCalls(in.Messages)
		spent := time.Since(begun)
		if len(list) != len(in.Messages)+1 {
			t.Fatalf("%d messages became %d", len(in.Messages), len(list))
		}
		return spent
	}
	few, many := took(2_000), took(16_000)
	if ratio := float64(many) / float64(max(few, 5*time.Millisecond)); many > 200*time.Millisecond && ratio > 24 {
		t.Errorf("%v for 2,000 and %v for 16,000 results", few, many)
	}
}
