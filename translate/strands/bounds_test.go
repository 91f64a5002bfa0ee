package strands

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// heldBy plays the given number of frames to a run. It returns how many bytes more than before are
// in use.
func heldBy(t *testing.T, frames int, frame func(n int) string) uint64 {
	t.Helper()
	in := input(t, "")
	_, run, err := newDialect(t, Server{}).Begin(&translate.Request{Input: in, ClientMessages: in.Messages, Transcript: &dialecttest.Log{}})
	if err != nil {
		t.Fatal(err)
	}
	d := run.(translate.Decoder)
	d.Framing(stream)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range frames {
		if err := d.Decode(translate.Piece{Data: []byte(frame(n))}, func(agui.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(run)
	return max(after.HeapAlloc, before.HeapAlloc) - before.HeapAlloc
}

// TestWhatIsKeptIsBounded: each frame is large. A run may keep small parts of it, such as an id, a
// question or the name of a node, but these must not keep the memory of the whole frame in use.
func TestWhatIsKeptIsBounded(t *testing.T) {
	pad := strings.Repeat("x", 1<<20)
	for name, frame := range map[string]func(n int) string{
		"questions": func(n int) string {
			return fmt.Sprintf(`{"tool_interrupt_event":{"tool_use":{"toolUseId":"c%d","name":"t"},"interrupts":[{"id":"q%d","name":"n"}]},"pad":%q}`, n, n, pad)
		},
		"questions that are told more of": func(n int) string {
			if n < 20 {
				return fmt.Sprintf(`{"type":"multiagent_node_interrupt","node_id":"a","interrupts":[{"id":"q%d","name":"n"}]}`, n)
			}
			return fmt.Sprintf(`{"tool_interrupt_event":{"tool_use":{"toolUseId":"c","name":"t","input":{"a":%q}},"interrupts":[{"id":"q%d","name":"n"}]}}`, pad, n-20)
		},
		"nodes": func(n int) string {
			return fmt.Sprintf(`{"type":"multiagent_node_stream","node_id":"%d%s","event":{"event":{"contentBlockStop":{}}}}`, n, pad)
		},
		"open calls": func(n int) string {
			return fmt.Sprintf(`{"type":"multiagent_node_stream","node_id":"%d","event":{"event":{"contentBlockStart":{"start":{"toolUse":{"toolUseId":"c","name":"t"}}}}},"pad":%q}`, n, pad)
		},
		"steps": func(n int) string {
			return fmt.Sprintf(`{"type":"multiagent_node_start","node_id":"%d","pad":%q}`, n, pad)
		},
	} {
		if held := heldBy(t, 40, frame); held > maxQuestionBytes+8<<20 {
			t.Errorf("%s: %d MiB are kept of 40", name, held>>20)
		}
	}
}
