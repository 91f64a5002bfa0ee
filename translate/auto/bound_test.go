package auto_test

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/auto"
)

// TestManyHeldCalls checks that only a bounded number of calls is held if they never end. The
// events of the other calls are emitted at once, and every event is emitted exactly once.
func TestManyHeldCalls(t *testing.T) {
	for name, c := range map[string]struct{ n, length, most int }{
		"many":     {500, 10, 64},
		"long":     {20, 1 << 20, 9},
		"one huge": {1, 9 << 20, 0},
	} {
		d := auto.New([]translate.Dialect{&stub{name: "s", when: "never"}}, auto.Options{})
		_, run, err := d.Begin(&translate.Request{Input: parse(t, ""), Transcript: noTranscript{}})
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for n := range c.n {
			start := fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"maybe","rawEvent":"%s"}`, n, strings.Repeat("x", c.length))
			if err := run.Event(agui.NewEvent([]byte(start)), func(agui.Event) { shown++ }); err != nil {
				t.Fatal(err)
			}
		}
		if waits := c.n - shown; waits > c.most || waits == 0 && c.most > 0 {
			t.Errorf("%s: %d of %d wait", name, waits, c.n)
		}
		res, err := run.End(translate.End{Event: agui.NewEvent([]byte(finished))})
		if shown += len(res.HeldEvents); err != nil || shown != c.n {
			t.Errorf("%s: %d of %d came out (%v)", name, shown, c.n, err)
		}
	}
}
