package proxy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate/dialects"
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

// TestHistoryThatDotNetHostsRead: reasoning and activities do not go to a .NET host, and a result
// goes directly behind its call, in each way in which Holdpoint knows the host. Any other backend
// gets the messages as they came.
func TestHistoryThatDotNetHostsRead(t *testing.T) {
	const came, mended = `u1 a7 r1 v1 u8 t1 a8`, `u1 a7 t1 u8 a8`
	messages := []string{
		turnOf(openCallA), `{"id":"r1","role":"reasoning","content":"Hm."}`, `{"id":"v1","role":"activity","activityType":"x","content":{}}`,
		noWords, `{"id":"t1","role":"tool","toolCallId":"g1","content":"gone"}`, isFine,
	}
	byID := map[string]string{}
	for _, m := range append(messages, oldUser) {
		byID[gjson.Get(m, "id").Str] = m
	}
	lost := talk("t", `,"resume":[{"interruptId":"ficc_g1~AAAAAAAAAAAA","status":"cancelled"}]`, turnOf(openCallA))
	for name, c := range map[string]struct {
		turns  [][]string
		before string            // a request before, "" for none
		want   map[string]string // by the dialect; any other gets the messages as they came
	}{
		"nothing is known":          {want: map[string]string{"request-approval": mended}},
		"a lost question was named": {before: lost, want: map[string]string{"request-approval": mended, "agent-framework": mended}},
		"the path is known":         {turns: [][]string{frontgate(true)}, before: talk("t2", ""), want: map[string]string{"request-approval": mended, "agent-framework": mended, "auto": mended}},
	} {
		for _, dialect := range dialects.All().Names() {
			if slices.Contains([]string{"langgraph-server", "phrases", "strands", "superagent"}, dialect) {
				continue // they need settings, or send no such messages
			}
			t.Run(fmt.Sprint(name, "/", dialect), func(t *testing.T) {
				g := newTurnRig(t, dialect, c.turns)
				if c.before != "" {
					g.do(c.before)
				}
				g.do(talk("t", "", messages...))
				var want []string
				for id := range strings.FieldsSeq(cmp.Or(c.want[dialect], came)) {
					want = append(want, byID[id])
				}
				if got := gjson.GetBytes(g.last(), "messages").Raw; got != "["+strings.Join(want, ",")+"]" {
					t.Errorf("the backend gets %s, want %s", got, want)
				}
			})
		}
	}
}
