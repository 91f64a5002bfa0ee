//go:build e2e

package e2e

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"holdpoint/e2e/scripted"
)

// TestAgentWithinAWorkflow: the host asks two questions about one call: the first under the agent's
// id, the second under the workflow's id. Without Holdpoint, the call runs only if the second
// question is answered and the first is not. Holdpoint must show one question with its call, and an
// approved call must run once.
func TestAgentWithinAWorkflow(t *testing.T) {
	t.Parallel()
	ledger := scripted.NewLedger()
	host := httptest.NewServer(scripted.LineHead.AgentInWorkflow(ledger))
	t.Cleanup(host.Close)
	asks := func(t *testing.T, address string) *handChat {
		t.Helper()
		c := &handChat{t: t, address: address + "/", thread: fresh("thread"), version: "1.0"}
		if status, told := c.says("delete a.txt", onlyTools); status != 200 || strings.Contains(told, "RUN_ERROR") {
			t.Fatalf("asked: %d %s", status, told)
		}
		c.messages = nil
		return c
	}
	answered := func(t *testing.T, c *handChat, asked []string, rest string) {
		t.Helper()
		if status, told := c.run(onlyTools + "," + entries(asked, rest)); status != 200 || strings.Contains(told, "RUN_ERROR") {
			t.Fatalf("answered: %d %s", status, told)
		}
	}
	ran := func(t *testing.T, c *handChat, want string) {
		t.Helper()
		if got := fmt.Sprint(ledger.Executed(c.thread)); got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if complaints := ledger.Complaints(c.thread); len(complaints) > 0 {
			t.Errorf("%q", complaints)
		}
	}
	const once, never = "map[delete a.txt:1]", "map[]"
	direct := func(c *handChat, approved bool) string {
		return fmt.Sprintf(`"status":"resolved","payload":{"approved":%v,"toolCall":{"callId":%q,"name":"delete_file","arguments":{"path":"a.txt"}}}`, approved, c.calls[0])
	}
	for name, test := range map[string]struct {
		first    int
		approved bool
		want     string
	}{"the second, yes": {1, true, once}, "the second, no": {1, false, never}, "both, yes": {0, true, never}} {
		t.Run("direct/"+name, func(t *testing.T) {
			c := asks(t, host.URL)
			if len(c.asked) != 2 || len(c.calls) != 2 || !strings.HasSuffix(c.asked[1], ":"+c.asked[0]) {
				t.Fatalf("asked %q about %q", c.asked, c.calls)
			}
			answered(t, c, c.asked[test.first:], direct(c, test.approved))
			ran(t, c, test.want)
		})
	}
	for _, dialect := range []string{"auto", "agent-framework"} {
		h := ownHoldpoint(t, host.URL, map[string]string{"HOLDPOINT_DIALECT": dialect})
		for name, test := range map[string]struct{ answer, want string }{"yes": {yesEntry, once}, "no": {noEntry, never}, "cancel": {cancelEntry, never}} {
			for _, whole := range []bool{false, true} {
				t.Run(fmt.Sprint(dialect, "/", name, "/the whole conversation ", whole), func(t *testing.T) {
					c := &handChat{t: t, address: h.address + "/", thread: fresh("thread"), version: "1.0"}
					_, told := c.says("delete a.txt", onlyTools)
					if len(c.asked) != 1 || len(c.calls) != 1 || !strings.Contains(told, fmt.Sprintf(`"toolCallId":%q,"responseSchema"`, c.calls[0])) {
						t.Fatalf("asked %q about %q: %s", c.asked, c.calls, told)
					}
					if !whole {
						c.messages = nil
					}
					asked := c.asked
					for range 2 { // the second time, the answer gets the result of the first time
						answered(t, c, asked, test.answer)
						ran(t, c, test.want)
					}
					c.messages = nil
					if c.says("plain later", onlyTools); c.text != "echo: plain later" {
						t.Errorf("the next message is told %q", c.text)
					}
					if c.says("delete b.txt", onlyTools); len(c.asked) != 1 {
						t.Errorf("asked %q", c.asked)
					}
				})
			}
		}
	}
	t.Run("native, the second alone", func(t *testing.T) {
		h := ownHoldpoint(t, host.URL, map[string]string{"HOLDPOINT_CLIENT": "native"})
		c := asks(t, h.address)
		if len(c.asked) != 2 {
			t.Fatalf("asked %q", c.asked)
		}
		answered(t, c, c.asked[1:], direct(c, true))
		ran(t, c, once)
	})
}
