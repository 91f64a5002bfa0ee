package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/translate/dialecttest"
)

// getTheConversation are the dialects whose backends get the conversation with an answer whatever
// HOLDPOINT_SESSIONS says: they keep nothing, or recognize messages by their ids.
var getTheConversation = []string{"langgraph", "aws-strands", "request-approval", "agent-framework"}

// TestBackendWithoutSessions: without HOLDPOINT_SESSIONS, a backend gets the recorded conversation
// with an answer that comes with messages: [].
func TestBackendWithoutSessions(t *testing.T) {
	asSent := []string{"agent-framework 1.7.0", "draft by object", "langgraph"} // these keep what they need
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		if !slices.Contains([]string{"tool-call", "draft", "phrases", "aws-strands", "request-approval", "agent-framework"}, b.Dialect) || slices.Contains(asSent, b.Name()) {
			return
		}
		checkChat(t, b, func(c *chatter) {
			c.send("", "ask")
			c.history, c.bodies = nil, nil
			c.answer(c.pending, "yes", false, "end")
			if len(c.bodies) == 0 || !strings.Contains(string(c.bodies[0]), "words 1.") {
				c.t.Errorf("the backend was not sent the conversation: %s", c.bodies)
			}
		})
	})
}

// TestBackendWithSessions: HOLDPOINT_SESSIONS says that the backend keeps the conversation. It gets
// an answer without the recorded messages, whichever of them the client sends. New messages are
// sent.
func TestBackendWithSessions(t *testing.T) {
	const first, second, beside = "words 1.", "words 2.", "words 3."
	says := func(c *chatter, end string) {
		c.history = nil
		c.words()
		c.send("", end)
	}
	asks := func(c *chatter) {
		c.history, c.marks, c.sessions = nil, 0, true
		c.restart()
		says(c, "end")
		says(c, "ask")
	}
	answers := func(c *chatter, words bool) {
		c.bodies = nil
		c.answer(c.pending, "yes", words, "end")
	}
	alone := func(c *chatter, words bool) {
		c.history = nil
		answers(c, words)
	}
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		for name, test := range map[string]struct {
			play   func(c *chatter)
			beside bool
		}{
			"an answer":               {func(c *chatter) { asks(c); alone(c, false) }, false},
			"words beside the answer": {func(c *chatter) { asks(c); alone(c, true) }, true},
			"after a restart":         {func(c *chatter) { asks(c); c.restart(); alone(c, false) }, false},
			"with the conversation":   {func(c *chatter) { asks(c); answers(c, false) }, false},
			"with it and words":       {func(c *chatter) { asks(c); answers(c, true) }, true},
			"decided at the desk":     {func(c *chatter) { asks(c); c.decide("yes"); c.bodies = nil; c.carry("end") }, false},
		} {
			t.Run(name, func(t *testing.T) {
				checkChat(t, b, func(c *chatter) {
					test.play(c)
					if c.violation != "" || len(c.bodies) == 0 {
						c.t.Fatalf("%s; the backend got %d requests", c.violation, len(c.bodies))
					}
					sent := ""
					for _, body := range c.bodies {
						sent += string(body)
					}
					if again := strings.Contains(sent, first) || strings.Contains(sent, second); again && !slices.Contains(getTheConversation, b.Dialect) {
						c.t.Errorf("the backend was sent the conversation again: %s", sent)
					}
					if test.beside && !strings.Contains(sent, beside) {
						c.t.Errorf("%q was not sent: %s", beside, sent)
					}
				})
			})
		}
	})
}

// TestClientOfNewMessagesOnly: nobody says that the backend keeps the conversation. A client that
// answers by a result alone shows it, so that answer and the thread's next one that brings nothing
// go without the conversation. An answer with the conversation goes with it, and so does one of a
// client that has shown nothing.
func TestClientOfNewMessagesOnly(t *testing.T) {
	const words = `"role":"user"`
	families := 0
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		if b.Reply == "" || !strings.Contains(b.Replied(1, true), `"role":"tool"`) {
			return
		}
		sent := func(c *chatter) string {
			all := ""
			for _, body := range c.bodies {
				all += string(body)
			}
			return all
		}
		checkChat(t, b, func(c *chatter) {
			asks := func() {
				c.history, c.bodies = nil, nil
				c.words()
				c.send("", "ask")
			}
			asks()
			c.bodies = nil
			c.answer(c.pending, "yes", false, "end")
			if !strings.Contains(sent(c), words) {
				return // its backend never gets the conversation with an answer
			}
			asks()
			c.history, c.bodies = nil, nil
			c.reply(c.question[c.pending], true, false, "end")
			lone := sent(c)
			if lone == "" || strings.Contains(lone, words) {
				return // the dialect takes no such answer, or its backend needs the conversation
			}
			families++
			asks()
			c.history, c.bodies = nil, nil
			c.answer(c.pending, "yes", false, "end")
			if got := sent(c); strings.Contains(got, words) {
				c.t.Errorf("an answer that brings nothing: the backend was sent %s", got)
			}
			asks()
			c.bodies = nil
			c.answer(c.pending, "yes", false, "end")
			if got := sent(c); !strings.Contains(got, words) {
				c.t.Errorf("an answer with the conversation: the backend was sent %s", got)
			}
		})
	})
	t.Logf("%d chats", families)
	if families == 0 {
		t.Error("no family goes without the conversation")
	}
}

// TestPlainRunsShowNewMessagesOnly: nobody says that the backend keeps the conversation, and the
// client answers by the resume array with messages: []. If its runs before brought new messages
// only, the answer goes without the conversation. If nothing shows that, or if the chat may have
// begun anew on an old thread, the answer goes with it.
func TestPlainRunsShowNewMessagesOnly(t *testing.T) {
	const words = `"content":"words `
	runs := func(c *chatter, end string) { // brings a new message, and nothing else
		c.history = nil
		c.words()
		c.send("", end)
	}
	answers := func(c *chatter) {
		c.history, c.bodies = nil, nil
		c.answer(c.pending, "yes", false, "end")
	}
	said := func(c *chatter, text string) { c.add(`{"id":"a1","role":"assistant","content":"` + text + `"}`) }
	without, with := true, false
	scenes := map[string]struct {
		play   func(c *chatter)
		want   bool
		itself bool // the answer brings messages
	}{
		"words, then a question":   {func(c *chatter) { runs(c, "end"); runs(c, "ask"); answers(c) }, without, false},
		"a restart before the yes": {func(c *chatter) { runs(c, "end"); runs(c, "ask"); c.restart(); answers(c) }, without, false},
		"asked twice":              {func(c *chatter) { runs(c, "ask"); answers(c); runs(c, "ask"); answers(c) }, without, false},
		"asked thrice, and restart": {func(c *chatter) {
			runs(c, "ask")
			answers(c)
			runs(c, "ask")
			answers(c)
			c.restart()
			runs(c, "ask")
			answers(c)
		}, without, false},
		"an answer asks again": {func(c *chatter) {
			runs(c, "end")
			runs(c, "ask")
			c.history = nil
			c.answer(c.pending, "yes", false, "ask")
			answers(c)
		}, without, false},
		"a page, after two runs":     {func(c *chatter) { c.page = true; runs(c, "end"); runs(c, "end"); runs(c, "ask"); answers(c) }, without, false},
		"a page, after one run":      {func(c *chatter) { c.page = true; runs(c, "end"); runs(c, "ask"); answers(c) }, with, false},
		"the first run asks":         {func(c *chatter) { runs(c, "ask"); answers(c) }, with, false},
		"a restart before the words": {func(c *chatter) { runs(c, "end"); c.restart(); runs(c, "ask"); answers(c) }, with, false},
		"after a run that failed":    {func(c *chatter) { runs(c, "error"); runs(c, "ask"); answers(c) }, with, false},
		"after a run that was cut":   {func(c *chatter) { runs(c, "cut"); runs(c, "ask"); answers(c) }, with, false},
		"the whole conversation":     {func(c *chatter) { c.send("", "end"); c.words(); c.send("", "ask"); answers(c) }, with, false},
		"the same message again":     {func(c *chatter) { c.send("", "end"); c.send("", "ask"); answers(c) }, with, false},
		"the same message edited": {func(c *chatter) {
			runs(c, "end")
			c.history = nil
			c.add(`{"id":"u2","role":"user","content":"words 2. and more"}`)
			c.send("", "ask")
			answers(c)
		}, with, false},
		"the same message under another id": {func(c *chatter) {
			runs(c, "end")
			c.history = nil
			c.add(`{"id":"u9","role":"user","content":"words 2."}`)
			c.send("", "ask")
			answers(c)
		}, with, false},
		"a chat that begins anew after its conversation": {func(c *chatter) {
			runs(c, "end")
			said(c, "hello")
			c.words()
			c.send("", "end")
			runs(c, "ask")
			answers(c)
		}, with, false},
		"a chat that began anew goes on": {func(c *chatter) {
			runs(c, "end")
			runs(c, "end")
			c.words()
			c.send("", "ask")
			answers(c)
		}, with, false},
		"an answer with the conversation": {func(c *chatter) {
			runs(c, "end")
			runs(c, "ask")
			c.bodies = nil
			c.answer(c.pending, "yes", false, "end")
		}, with, true},
		"an answer with a message of the assistant": {func(c *chatter) {
			runs(c, "end")
			runs(c, "ask")
			c.history, c.bodies = nil, nil
			said(c, "hello")
			c.answer(c.pending, "yes", false, "end")
		}, with, true},
		"a question after an answer with the conversation": {func(c *chatter) {
			runs(c, "end")
			runs(c, "ask")
			c.answer(c.pending, "yes", false, "end")
			runs(c, "ask")
			answers(c)
		}, with, false},
		"decided at the desk": {func(c *chatter) {
			runs(c, "end")
			runs(c, "ask")
			c.decide("yes")
			c.bodies = nil
			c.carry("end")
		}, with, false},
	}
	families := 0
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		sent := func(t *testing.T, play func(c *chatter)) (all string) {
			checkChat(t, b, func(c *chatter) {
				all = ""
				c.history, c.marks = nil, 0
				c.words()
				play(c)
				if c.violation != "" || len(c.bodies) == 0 {
					c.t.Fatalf("%s; the backend got %d requests", c.violation, len(c.bodies))
				}
				for _, body := range c.bodies {
					all += string(body)
				}
			})
			return all
		}
		// These are the families where the record's conversation goes with an answer, and does not if
		// the operator says that the backend keeps it.
		usual := sent(t, func(c *chatter) { runs(c, "ask"); answers(c) })
		session := sent(t, func(c *chatter) { c.sessions = true; c.restart(); runs(c, "ask"); answers(c) })
		if !strings.Contains(usual, words) || strings.Contains(session, words) {
			return
		}
		keepsNothing := b.Name() == "agent-framework AGUI.Server" // it is known to, so no sign counts
		if !keepsNothing {
			families++
		}
		for name, scene := range scenes {
			t.Run(name, func(t *testing.T) {
				if keepsNothing && scene.itself {
					return // it gets what the answer brings
				}
				got, want := sent(t, scene.play), scene.want && !keepsNothing
				if strings.Contains(got, words) == want {
					t.Errorf("want it without the conversation: %v; the backend was sent %s", want, got)
				}
			})
		}
	})
	t.Logf("%d chats", families)
	if families == 0 {
		t.Error("no family goes without the conversation")
	}
}
