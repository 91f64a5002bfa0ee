package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/test/hostile"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// TestAPauseThatIsTooLarge: the backend asks a question that is too large to be shown or answered.
// The run must end with an error that says so, and the client must not get the question. The thread
// must accept further runs.
func TestAPauseThatIsTooLarge(t *testing.T) {
	interrupts := func(n int) string {
		return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[` +
			hostile.Many(n, func(i int) string { return fmt.Sprintf(`{"id":"n%d","reason":"confirm"}`, i) }) + `]}}`
	}
	lots := kit.MaxQuestions + 1
	custom := func(i int) string {
		return fmt.Sprintf(`{"type":"CUSTOM","name":"on_interrupt","rawEvent":{"id":"%032x","value":"?"},"value":"?"}`, i)
	}
	approval := func(i int) string {
		return fmt.Sprintf(`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"a%d","function_call":{"call_id":"c%d","name":"f","arguments":{}}}}`, i, i)
	}
	listed := func(n int) string {
		return `{"type":"RUN_FINISHED","threadId":"t","runId":"r","interrupt":[` + hostile.Many(n, func(i int) string { return fmt.Sprintf(`{"id":"a%d","value":{}}`, i) }) + `]}`
	}
	events := func(n int, one func(int) string, end ...string) string {
		list := []string{started}
		for i := range n {
			list = append(list, one(i))
		}
		return streamOf(append(list, append(end, finished)[0])...)
	}
	for name, c := range map[string]struct {
		dialect, says string
		told          bool
	}{
		"as many as there may be":            {"agui", streamOf(started, interrupts(lots-1)), true},
		"too many in the outcome":            {"agui", streamOf(started, interrupts(lots)), false},
		"too many on_interrupts":             {"langgraph", events(lots, custom), false},
		"too many on_interrupts, auto":       {"auto", events(lots, custom), false},
		"on_interrupts, as many as may be":   {"auto", events(lots-1, custom), true},
		"too many requests for an approval":  {"agent-framework", events(lots, approval, listed(lots)), false},
		"too many pairs of request_approval": {"request-approval", events(lots, func(i int) string { return pairAsked(fmt.Sprintf("c%d", i)) }), false},
		"too large": {"langgraph", events(20, func(i int) string {
			return strings.ReplaceAll(custom(i), `"?"`, `"`+strings.Repeat("?", 30<<10)+`"`)
		}), false},
		"more open than is kept": {"agui", streamOf(started, strings.Join(strings.Split(strings.TrimSuffix(strings.ReplaceAll(events(10_000, func(i int) string {
			return fmt.Sprintf(`{"type":"STEP_STARTED","stepName":"s%d"}`, i)
		}), "data: ", ""), "\n\n"), "\n\n")[1:10_000], "\n\ndata: "), asks), false},
	} {
		t.Run(name, func(t *testing.T) {
			says := c.says
			g := realRig(t, c.dialect, func(w http.ResponseWriter, _ *http.Request, n int) {
				if n > 1 {
					says = streamOf(started, finished)
				}
				sendStream(w, says)
			}, func(o *Options) {
				if name == "too large" {
					o.MaxFrameBytes = 1 << 20 / settle.PauseFrames
				}
				if name == "more open than is kept" {
					o.TranscriptBytes = 64 << 10
				}
			})
			got := g.do(input("t", "r1", ""))
			if paused := strings.HasSuffix(types(got), "RUN_FINISHED+interrupt"); paused != c.told {
				t.Fatalf("%.300s", types(got))
			}
			if c.told {
				return
			}
			if !strings.HasSuffix(types(got), "RUN_ERROR:PAUSE_TOO_LARGE") {
				t.Errorf("%s", types(got)[max(0, len(types(got))-100):])
			}
			if rec, _ := g.store.Load(t.Context(), recordKey("/", "t"), ""); rec.State != store.None {
				t.Errorf("the thread is %q", rec.State)
			}
			wantTypes(t, g.do(input("t", "r2", "")), "RUN_STARTED RUN_FINISHED")
		})
	}
}
