package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/internal/agui"
	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/dialecttest/ask"
	"holdpoint/translate/dialecttest/confirm"
	"holdpoint/translate/kit"
)

// TestOldAnswersAtTheEnd: some backends read the tool messages at the end of a request as answers.
// If Holdpoint removes the last call and its answer, the answer to an earlier question can become
// the last message. In no family of backends may the backend get this earlier answer a second time.
func TestOldAnswersAtTheEnd(t *testing.T) {
	fewer(t, 1)
	check := func(name string, b dialecttest.Backend, list dialects.List) {
		for _, first := range []string{"yes", "no", "cancel"} {
			for _, repeated := range []string{"yes", "no"} {
				for _, end := range []string{"ask", "ask at once"} {
					for history, trims := range map[string]bool{"whole": false, "trimmed": true} {
						t.Run(strings.Join([]string{name, first, repeated, end, history}, "/"), func(t *testing.T) {
							rapid.Check(t, func(t *rapid.T) { newChatter(t, b, list).repeatsAnOldAnswer(first, repeated, end, trims) })
						})
					}
				}
			}
		}
	}
	eachAsker(func(name string, b dialecttest.Backend) { check(name, b, dialects.All()) })
	check(ask.Name, dialecttest.Example(), dialects.With(dialects.All(), ask.Name, ask.New))
	check(confirm.Name, dialecttest.ExampleOfWords(), dialects.With(dialects.All(), confirm.Name, confirm.New))
}

// repeatsAnOldAnswer answers a first question, and answers it once more while a second question is
// open. The answer to the second question is in doubt, and is then repeated at the end of a
// request. If trims is true, the client removes the call of the first question and its results from
// its history, as soon as the question is answered.
func (c *chatter) repeatsAnOldAnswer(first, repeated, end string, trims bool) {
	c.send("", "ask")
	if c.pending == "" {
		return // auto does not know that it asks (Mastra)
	}
	firstCall := c.call
	trim := func() {
		if trims && firstCall != "" {
			c.history = slices.DeleteFunc(c.history, func(m agui.Message) bool {
				return m.ToolCallID == firstCall || slices.Contains(kit.CallIDs(m), firstCall)
			})
		}
	}
	c.answer(c.pending, first, false, "end")
	c.words()
	trim()
	c.send("", "ask")
	if c.check(); c.pending == "" {
		return
	}
	old := c.asked - 1
	c.decide("no")
	c.carry(end) // the client misses this run, so it gets the next call only after its own messages
	c.words()
	trim()
	c.send("", "end")
	if c.check(); c.pending == "" {
		return
	}
	trim()
	c.reply(old, repeated == "yes", false, "end") // the question is open, so this is refused
	c.check()
	if c.pending == "" {
		return
	}
	c.answer(c.pending, "no", false, "cut")
	c.check()
	c.reply(c.asked, false, false, "error")
	c.check()
	for range 2 {
		c.send("", "end")
		c.check()
	}
	c.goesOn()
}
