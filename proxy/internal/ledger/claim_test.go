package ledger

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

// open opens a pause with one question, and returns it.
func open(t *testing.T, l *Ledger, id string) *agui.Pause {
	t.Helper()
	p := pause(id)
	if err := l.Open(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// pause returns a pause with one question.
func pause(id string) *agui.Pause {
	return &agui.Pause{ID: id, Digest: "asked " + id, Interrupts: []agui.Interrupt{{
		ID: "question of " + id, Object: []byte(`{"id":"question of ` + id + `","reason":"tool_call"}`),
	}}}
}

// TestLargeAnswerIsNotKept: of a large answer the result keeps the digest only, and of several that
// are large together.
func TestLargeAnswerIsNotKept(t *testing.T) {
	for size, kept := range map[int]bool{maxGivenBytes: true, maxGivenBytes + 1: false} {
		payload := []byte(`"` + strings.Repeat("x", size-2) + `"`)
		list := given(&agui.Pause{}, []agui.Answer{{ID: "i", Status: agui.Resolved, Payload: payload}}, make([]agui.Reading, 1))
		if got := list[0]; (got.Payload != nil) != kept || got.Digest == "" {
			t.Errorf("%d bytes: kept %t, digest %q", size, got.Payload != nil, got.Digest)
		}
	}
	half := []byte(`"` + strings.Repeat("x", maxGivenBytes/2) + `"`)
	list := given(&agui.Pause{}, []agui.Answer{{ID: "i", Status: agui.Resolved, Payload: half}, {ID: "j", Status: agui.Resolved, Payload: half}, {ID: "k", Payload: []byte("1")}}, make([]agui.Reading, 3))
	if list[0].Payload == nil || list[1].Payload != nil || list[1].Digest == "" || list[2].Payload == nil {
		t.Errorf("of three answers are kept: %t, %t, %t", list[0].Payload != nil, list[1].Payload != nil, list[2].Payload != nil)
	}
}
