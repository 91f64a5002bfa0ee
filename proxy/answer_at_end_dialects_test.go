package proxy_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestOldAnswersAtTheEnd: some backends read the tool messages at the end of a request as answers.
// If Holdpoint removes the last call and its answer, the answer to an earlier question can become
// the last message. In no family of backends may the backend get this earlier answer a second time.
func TestOldAnswersAtTheEnd(t *testing.T) {
	fewer(t, 1)
	eachAsker(func(name string, b dialecttest.Backend) {
		for _, first := range []string{"yes", "no", "cancel"} {
			for _, repeated := range []string{"yes", "no"} {
				for _, end := range []string{"ask", "ask at once"} {
					t.Run(strings.Join([]string{name, first, repeated, end}, "/"), func(t *testing.T) {
						rapid.Check(t, func(t *rapid.T) { newChatter(t, b, dialects.All()).repeatsAnOldAnswer(first, repeated, end) })
					})
				}
			}
		}
	})
}

// repeatsAnOldAnswer answers a first question, and answers it once more while a second question is
// open. The answer to the second question is in doubt, and is then repeated at the end of a
// request.
func (c *chatter) repeatsAnOldAnswer(first, repeated, end string) {
	c.send("", "ask")
	if c.pending == "" {
		return // auto does not know that it asks (Mastra)
	}
	c.answer(c.pending, first, false, "end")
	c.words()
	c.send("", "ask")
	if c.check(); c.pending == "" {
		return
	}
	old := c.asked - 1
	c.decide("no")
	c.carry(end) // the client misses this run, so it gets the next call only after its own messages
	c.words()
	c.send("", "end")
	if c.check(); c.pending == "" {
		return
	}
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
