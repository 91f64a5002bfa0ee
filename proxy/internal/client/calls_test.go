package client

import (
	"fmt"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
)

// What passes takes nothing: the results of calls, of which each is asked whether it needs an id of
// its own.
func TestPassedResultsDoNotAllocate(t *testing.T) {
	const runs = 200
	var told ResultIDs
	shown := transcript.New(1<<20, nil, nil)
	var results []agui.Event
	for n := range runs + 1 {
		results = append(results, agui.NewEvent(fmt.Appendf(nil, `{"type":"TOOL_CALL_RESULT","messageId":"r%d","toolCallId":"c%d","content":"x"}`, n, n)))
	}
	n := 0
	if allocs := testing.AllocsPerRun(runs, func() {
		if ev := told.Distinct(results[n], shown); ev.Edited {
			t.Errorf("edited: %s", ev.JSON)
		}
		n++
	}); allocs != 0 {
		t.Errorf("%v allocations for a result", allocs)
	}
	if ev := told.Distinct(results[0], shown); ev.Get("messageId").Str != "result-c0" {
		t.Errorf("a second result of that id: %s", ev.JSON)
	}
}
