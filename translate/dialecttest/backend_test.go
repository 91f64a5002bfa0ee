package dialecttest_test

import (
	"testing"

	"holdpoint/translate/dialecttest"
)

// TestReplied checks that ReplyMessage puts the yes or the no into both forms of a Reply: one with
// {yes}, and one with two words.
func TestReplied(t *testing.T) {
	for reply, want := range map[string][2]string{
		`{"id":"r-{n}","content":"{\"approved\":{yes}}"}`: {`{"id":"r-3","content":"{\"approved\":true}"}`, `{"id":"r-3","content":"{\"approved\":false}"}`},
		`{"id":"r-{n}","content":"{ACCEPT|REJECT}"}`:      {`{"id":"r-3","content":"ACCEPT"}`, `{"id":"r-3","content":"REJECT"}`},
	} {
		b := dialecttest.Backend{Reply: reply}
		if yes, no := b.ReplyMessage(3, true), b.ReplyMessage(3, false); yes != want[0] || no != want[1] {
			t.Errorf("%s: %s and %s", reply, yes, no)
		}
	}
}
