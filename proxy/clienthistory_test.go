package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/translate/dialects"
)

// TestHistoryThatDotNetHostsRead: a .NET host must get no reasoning and no activities, and must get
// each result directly after its call. This must hold for each way in which Holdpoint can recognize
// a .NET host. All other backends must get the messages unchanged.
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
		before string // a request that is sent first, or ""
		// ids of the messages that the backend must get, by dialect; a dialect that is not listed
		// gets all messages unchanged
		want map[string]string
	}{
		"nothing is known":          {want: map[string]string{"request-approval": mended}},
		"a lost question was named": {before: lost, want: map[string]string{"request-approval": mended, "agent-framework": mended}},
		"the path is known":         {turns: [][]string{frontgate(true)}, before: talk("t2", ""), want: map[string]string{"request-approval": mended, "agent-framework": mended, "auto": mended}},
	} {
		for _, dialect := range dialects.All().Names() {
			if slices.Contains([]string{"langgraph-server", "phrases", "strands", "superagent"}, dialect) {
				continue // these need settings, or do not send such messages
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
