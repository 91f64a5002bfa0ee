//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestBackendThatKeepsTheConversation: an application around pydantic-ai keeps its conversations,
// and hands them on as message_history. Its clients send their new messages only. With an answer it
// gets no message of the conversation again: its model would be shown those twice.
func TestBackendThatKeepsTheConversation(t *testing.T) {
	t.Parallel()
	eachToolCall(t, "kept", func(t *testing.T, w world) {
		for name, test := range map[string]struct {
			first []string // what is said before the question
			asked bool     // and answered
			words string   // beside the answer
		}{
			"after an answered message":  {first: []string{"plain hello"}},
			"words beside the answer":    {first: []string{"plain hello"}, words: "plain more"},
			"after an answered question": {first: []string{"plain hello", "delete b.txt"}, asked: true},
		} {
			t.Run(name, func(t *testing.T) {
				c := &handChat{t: t, address: w.h.address + "/agent", thread: fresh("thread"), version: "1.0"}
				tools := `"tools":[],"state":{},"context":[],"forwardedProps":{}`
				says := func(words string) {
					c.messages = nil
					if status, told := c.says(words, tools); status != 200 || strings.Contains(told, "RUN_ERROR") {
						t.Fatalf("%q gets %d %s", words, status, told)
					}
				}
				answer := func(words string) {
					asked := c.asked
					if c.messages = nil; len(asked) != 1 {
						t.Fatalf("asked %q", asked)
					}
					send := c.run
					if words != "" {
						send = func(members string) (int, string) { return c.says(words, members) }
					}
					if status, told := send(entries(asked, yesEntry) + "," + tools); status != 200 || strings.Contains(told, "RUN_ERROR") {
						t.Fatalf("the yes gets %d %s", status, told)
					}
				}
				prompts, want := 0, []string{deleteA}
				for _, words := range test.first {
					says(words)
					prompts++
				}
				if test.asked {
					answer("")
					want = append(want, `delete_file {"path":"b.txt"}`)
				}
				says("delete a.txt")
				answer(test.words)
				if prompts++; test.words != "" {
					prompts++
				}
				seen := w.b.ledger(t, c.thread).Seen
				if last := seen[len(seen)-1]; last.Prompts != prompts {
					t.Errorf("the model was shown %d messages of the person, want %d", last.Prompts, prompts)
				}
				says("plain again")
				seen = w.b.ledger(t, c.thread).Seen
				if last := seen[len(seen)-1]; last.Prompts != prompts+1 {
					t.Errorf("the next message: the model was shown %d messages of the person, want %d", last.Prompts, prompts+1)
				}
				w.ran(t, &client{thread: c.thread}, want...)
			})
		}
	})
}
