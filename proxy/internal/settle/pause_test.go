package settle

import (
	"testing"

	"holdpoint/internal/agui"
)

// Two runs ask the same in the same words about calls that differ: the client has seen the second
// one's, and a yes to the first one's question would run what he was not shown.
func TestQuestionsAboutOtherCallsAreOthers(t *testing.T) {
	ask := func(arguments string) agui.Interrupt {
		return agui.Interrupt{Native: "n1", Object: []byte(`{"reason":"r"}`), Calls: []agui.AskedCall{{ID: "c1", Name: "rm", Args: arguments}}}
	}
	if digestInterrupts(ask(`{"path":"a"}`)) == digestInterrupts(ask(`{"path":"b"}`)) {
		t.Error("their digests are one")
	}
}
