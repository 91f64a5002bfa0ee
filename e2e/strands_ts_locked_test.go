//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestWordsBesideAnOldAnswerOnALockedThread: the TypeScript adapter waits on a thread, but
// Holdpoint has lost the question, and a message would lock the thread. The client sends a message
// together with its answer to an older question of another thread. Holdpoint must cancel the
// waiting question first. Then the message must be answered, and nothing may run.
func TestWordsBesideAnOldAnswerOnALockedThread(t *testing.T) {
	t.Parallel()
	if shared.strands == nil {
		return // E2E_FRAMEWORKS leaves these tests out
	}
	s := shared.strands.server
	env := map[string]string{"HOLDPOINT_DIALECT": "aws-strands"}
	before, after := ownHoldpoint(t, s.base(), env), ownHoldpoint(t, s.base(), env)
	const rest = `"tools":[],"context":[],"state":{},"forwardedProps":{}`
	chat := func(h *holdpoint) *handChat {
		return &handChat{t: t, address: h.address + "/agui/hook", thread: fresh("thread")}
	}
	asks := func(c *handChat) []string {
		t.Helper()
		if _, told := c.says("delete a.txt @"+c.thread, rest); len(c.asked) != 1 {
			t.Fatalf("it asks nothing: %s", told)
		}
		return c.asked
	}
	older := chat(after)
	answer := rest + "," + entries(asks(older), yesEntry)
	if _, told := older.run(answer); strings.Contains(told, `"RUN_ERROR"`) {
		t.Fatalf("the older answer: %s", told)
	}
	c := chat(before)
	asked := asks(c)
	c.address = after.address + "/agui/hook"
	if _, told := c.post(rest + "," + entries(asked, yesEntry)); !strings.Contains(told, "UNKNOWN_INTERRUPT_ID") {
		t.Fatalf("the lost question is known: %s", told)
	}
	if _, told := c.says("hello @"+c.thread, answer); strings.Contains(told, `"RUN_ERROR"`) || c.text == "" {
		t.Errorf("the words are not answered: %s", told)
	}
	if _, told := c.says("hello again @"+c.thread, rest); strings.Contains(told, `"RUN_ERROR"`) || c.text == "" {
		t.Errorf("the chat does not go on: %s", told)
	}
	b := &backend{name: "agui/hook", mode: "agui/hook", server: s}
	if l := b.ledger(t, c.thread); len(l.Effects) > 0 {
		t.Errorf("it ran: %v", l.Effects)
	}
}
