package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/e2e/dotnetclient"
	"holdpoint/translate/dialecttest"
)

// sentWhole are the dialects whose backends are sent the whole conversation with an answer,
// whatever their clients send.
var sentWhole = []string{"langgraph", "aws-strands", "request-approval", "agent-framework"}

// restoring are the dialects that send the conversation with an answer if its client sends
// messages: []. asSent are their backends that keep it and are sent what the client sends.
var (
	restoring = append([]string{"tool-call", "draft", "phrases"}, sentWhole...)
	asSent    = []string{"agent-framework 1.7.0", "draft by object", "langgraph"}
)

// TestClientOfNewMessagesOnly: a backend that keeps the conversation is not sent it again with an
// answer, if the client is known to send its new messages only. A client that sends its
// conversation and answers with messages: [] is not taken for one, nor is one that has sent a
// single message: its backend may keep nothing.
func TestClientOfNewMessagesOnly(t *testing.T) {
	const first, second, beside = "words 1.", "words 2.", "words 3."
	says := func(c *chatter, end string) { // a new message, and nothing else
		c.history = nil
		c.words()
		c.send("", end)
	}
	asks := func(c *chatter) {
		c.history = nil
		c.marks = 0
		says(c, "end")
		says(c, "ask")
	}
	answers := func(c *chatter, words bool) {
		c.history, c.bodies = nil, nil
		c.answer(c.pending, "yes", words, "end")
	}
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		whole := slices.Contains(sentWhole, b.Dialect)
		for _, test := range []struct {
			name  string
			play  func(c *chatter)
			newly bool // the client is known to send its new messages only
			says  string
		}{
			{"an answer", func(c *chatter) { asks(c); answers(c, false) }, true, ""},
			{"words beside the answer", func(c *chatter) { asks(c); answers(c, true) }, true, beside},
			{"a restart before the answer", func(c *chatter) { asks(c); c.restart(); answers(c, false) }, true, ""},
			{"asked before the restart", func(c *chatter) {
				c.marks = 0
				says(c, "ask")
				answers(c, false)
				c.restart()
				says(c, "ask")
				answers(c, false)
			}, true, ""},
			{"decided at the desk", func(c *chatter) { asks(c); c.decide("yes"); c.bodies = nil; c.carry("end") }, true, ""},
			{"one message", func(c *chatter) { c.send("", "ask"); answers(c, false) }, false, ""},
			{"the whole conversation", func(c *chatter) { c.send("", "end"); c.words(); c.send("", "ask"); answers(c, false) }, false, ""},
			{"the same message again", func(c *chatter) {
				before := slices.Clone(c.history)
				c.send("", "end")
				c.history = before
				c.send("", "ask")
				answers(c, false)
			}, false, ""},
			{"the same message edited", func(c *chatter) {
				c.send("", "end")
				c.history = nil
				c.add(`{"id":"u1","role":"user","content":"words 1. and more"}`)
				c.send("", "ask")
				answers(c, false)
			}, false, ""},
			{"after a run that failed", func(c *chatter) { c.send("", "error"); says(c, "ask"); answers(c, false) }, false, ""},
		} {
			t.Run(test.name, func(t *testing.T) {
				checkChat(t, b, func(c *chatter) {
					test.play(c)
					if c.violation != "" || len(c.bodies) == 0 {
						c.t.Fatalf("%s; the backend got %d requests", c.violation, len(c.bodies))
					}
					sent := ""
					for _, body := range c.bodies {
						sent += string(body)
					}
					again := strings.Contains(sent, first) || strings.Contains(sent, second)
					if test.newly && again && !whole {
						c.t.Errorf("the backend was sent the conversation again: %s", sent)
					}
					if restores := slices.Contains(restoring, b.Dialect) && !slices.Contains(asSent, b.Name()); !test.newly && restores && !again {
						c.t.Errorf("the backend was not sent the conversation: %s", sent)
					}
					if !strings.Contains(sent, test.says) {
						c.t.Errorf("%q was not sent: %s", test.says, sent)
					}
				})
			})
		}
	})
}

// TestDotNetProgramOfNewMessagesOnly has a program around the SDK's client for .NET send its new
// messages only. Its first answer has no message, and one of a program that sends its conversation
// would have the person's.
func TestDotNetProgramOfNewMessagesOnly(t *testing.T) {
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		for name, newly := range map[string]bool{"new messages": true, "the conversation": false} {
			t.Run(name, func(t *testing.T) {
				inDotNetChat(t, b, true, func(c *chatter, app *dotnetclient.Application) {
					c.end = "ask"
					asked := app.Say("delete")
					if newly {
						app.Messages = nil
					}
					c.dotNetAnswer(t, app, asked, true)
					answer := string(c.seen)
					if newly {
						app.Messages = nil
					}
					c.end = "end"
					if went := app.Say("go on"); went.Thrown != nil || len(went.Failures) > 0 {
						t.Errorf("thrown %v, failures %v", went.Thrown, went.Failures)
					}
					if again := strings.Contains(answer, `"content":"delete"`); newly && again && !slices.Contains(sentWhole, b.Dialect) {
						t.Errorf("the backend was sent the conversation again: %s", answer)
					}
					keepsNothing := newly && b.Name() == "draft by call" // it looks for the call in the messages
					if c.did[1] != 1 && !keepsNothing || c.violation != "" {
						t.Errorf("the backend did it %d times. %s", c.did[1], c.violation)
					}
				})
			})
		}
	})
}
