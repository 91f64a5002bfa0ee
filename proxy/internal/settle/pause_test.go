package settle

import (
	"testing"

	"holdpoint/internal/agui"
)

// TestQuestionsAboutOtherCallsAreOthers: two questions have the same text, but they are about
// different calls. Their digests must differ. Otherwise a yes to the first question would run the
// call of the second, which the person did not see.
func TestQuestionsAboutOtherCallsAreOthers(t *testing.T) {
	ask := func(arguments string) agui.Interrupt {
		return agui.Interrupt{Native: "n1", Object: []byte(`{"reason":"r"}`), Calls: []agui.AskedCall{{ID: "c1", Name: "rm", Args: arguments}}}
	}
	if digestInterrupts(ask(`{"path":"a"}`)) == digestInterrupts(ask(`{"path":"b"}`)) {
		t.Error("their digests are one")
	}
}
