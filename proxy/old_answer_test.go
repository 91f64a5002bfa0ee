package proxy_test

import (
	"testing"

	"pgregory.net/rapid"

	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestAnOldAnswerIsNotReadAgain: the desk has decided a question, and the next request of the chat
// takes the decision to the backend. The chat's messages are old: they end with the answer to an
// earlier question. So no message separates this old answer from the new one, and a backend that
// reads the last messages must not get both.
func TestAnOldAnswerIsNotReadAgain(t *testing.T) {
	for name, steps := range map[string]func(c *chatter){
		"the record has left the old answer out": func(c *chatter) {
			c.send("", "ask")
			c.answer(c.pending, "yes", false, "end")
			c.reply(1, false, true, "end") // the repeated answer stays at the end
			c.words()
			c.send("", "ask")
		},
		"the chat has missed what was said since": func(c *chatter) {
			c.send("", "ask")
			c.reply(1, false, false, "end")
			c.words()
			c.send("", "ask")
			c.decide("yes")
			c.carry("end")
			c.again("error")
			c.check()
			c.words()
			c.send("", "ask")
		},
		"the record could not keep the question": func(c *chatter) {
			c.send("", "ask")
			c.decide("yes")
			c.answer(c.pending, "yes", true, "cut")
			c.carry("cut")
			c.reply(1, true, true, "end")
			c.send("", "ask")
			c.reply(2, false, true, "ask")
			c.answer(c.pending, "no", false, "ask")
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, b := range repliedTo() {
				t.Run(b.Name(), func(t *testing.T) {
					fewer(t, 1)
					rapid.Check(t, func(t *rapid.T) {
						c := newChatter(t, b, dialects.All())
						steps(c)
						n := c.waits
						if n == 0 {
							t.Fatalf("no question is open: %s", c.got)
						}
						c.decide("yes")
						c.again("ask")
						if c.check(); c.did[n] > 1 {
							t.Fatalf("question %d was carried out %d times: %s", n, c.did[n], c.seen)
						}
					})
				})
			}
		})
	}
}

// repliedTo returns the backends whose questions a client can answer by a message.
func repliedTo() []dialecttest.Backend {
	var list []dialecttest.Backend
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			if b.Reply != "" {
				list = append(list, b)
			}
		}
	}
	return list
}
