package client

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// TestSubagentsOfOneNativeID: a backend gives two questions the same id, and the ends of two
// subagents name it. In the events that the client gets, each end must name each published id once.
func TestSubagentsOfOneNativeID(t *testing.T) {
	var s Subagents
	for _, ev := range []string{
		`{"type":"SUBAGENT_FINISHED","subagentRunId":"s1","outcome":{"type":"suspended","interruptIds":["int"]}}`,
		`{"type":"SUBAGENT_FINISHED","subagentRunId":"s2","outcome":{"type":"suspended","interruptIds":["int","other"]}}`,
	} {
		if !s.Hold(agui.NewEvent([]byte(ev))) {
			t.Fatal("it passes")
		}
	}
	if !s.BeginsAgain(agui.NewEvent([]byte(`{"type":"SUBAGENT_STARTED","subagentRunId":"s2","name":"x"}`))) ||
		s.BeginsAgain(agui.NewEvent([]byte(`{"type":"SUBAGENT_STARTED","subagentRunId":"s3","name":"x"}`))) {
		t.Error("a subagent that begins again is not known as one")
	}
	got := s.Take(&agui.Pause{Interrupts: []agui.Interrupt{{ID: "int~a", Native: "int"}, {ID: "int~b", Native: "int"}}})
	want := []string{`["int~a"]`, `["int~b","other"]`}
	for n, ev := range got {
		if ids := agui.View(ev.JSON).Get("outcome.interruptIds").Raw; ids != want[n] {
			t.Errorf("%s, want %s", ids, want[n])
		}
	}
	if len(got) != 2 || s.Take(nil) != nil {
		t.Error("not two, or twice")
	}
}

// TestWaitingSubagentsAreBounded: Holdpoint holds the ends of subagents back until it knows the
// published ids. It may hold back only a bounded number of bytes. It must send further ends with
// the backend's ids.
func TestWaitingSubagentsAreBounded(t *testing.T) {
	var s Subagents
	large := agui.NewEvent([]byte(`{"type":"SUBAGENT_FINISHED","subagentRunId":"s1","result":"` + strings.Repeat("x", maxWaitingSubagents) + `","outcome":{"interruptIds":[]}}`))
	if !s.Hold(large) || s.Hold(large) {
		t.Error("the first does not wait, or the second does")
	}
	if s.Hold(agui.NewEvent([]byte(`{"type":"STEP_FINISHED"}`))) {
		t.Error("another event waits")
	}
	var none Subagents
	if none.Hold(agui.NewEvent([]byte(`{"type":"SUBAGENT_FINISHED","subagentRunId":"s1"}`))) {
		t.Error("the end of a subagent that asks nothing waits")
	}
}
