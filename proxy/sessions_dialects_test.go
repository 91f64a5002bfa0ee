package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/translate/dialecttest"
)

// getTheConversation lists the dialects whose backends get the conversation with each answer, even
// if HOLDPOINT_SESSIONS is set. These backends keep no conversation, or recognize messages by their
// ids.
var getTheConversation = []string{"langgraph", "aws-strands", "request-approval", "agent-framework"}

// TestBackendWithoutSessions: HOLDPOINT_SESSIONS is not set, and the client sends an answer with
// "messages":[]. The backend must get the answer together with the recorded conversation.
func TestBackendWithoutSessions(t *testing.T) {
	// the backends that need no conversation
	asSent := []string{"agent-framework 1.7.0", "draft by object", "langgraph"}
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

// TestBackendWithSessions: if HOLDPOINT_SESSIONS is set, the backend keeps the conversation. So
// Holdpoint sends it an answer without the recorded messages, even if the client repeats some of
// them. Holdpoint sends the client's new messages.
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

// TestClientOfNewMessagesOnly: HOLDPOINT_SESSIONS is not set. A client sends a tool result as its
// answer, and no other message. This shows that the backend keeps the conversation. So Holdpoint
// sends this answer without the conversation, and also the thread's next answer with "messages":[].
// If the client's answer contains the conversation, or if the client has shown nothing, Holdpoint
// sends the answer with the conversation.
func TestClientOfNewMessagesOnly(t *testing.T) {
	const words = `"role":"user"`
	families := 0
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		if b.Reply == "" || !strings.Contains(b.ReplyMessage(1, true), `"role":"tool"`) {
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
				return // this backend never gets the conversation with an answer
			}
			asks()
			c.history, c.bodies = nil, nil
			c.reply(c.question[c.pending], true, false, "end")
			lone := sent(c)
			if lone == "" || strings.Contains(lone, words) {
				return // the dialect refuses such an answer, or its backend needs the conversation
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

// TestPlainRunsShowNewMessagesOnly: HOLDPOINT_SESSIONS is not set, and the client answers by the
// resume array with "messages":[]. If the client's earlier runs contained only new messages,
// Holdpoint sends the answer without the conversation. If no earlier run shows this, or if a new
// chat may have begun on an old thread, Holdpoint sends the answer with the conversation.
func TestPlainRunsShowNewMessagesOnly(t *testing.T) {
	const words = `"content":"words `
	runs := func(c *chatter, end string) { // sends a new message and nothing else
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
		itself bool // the answer's request contains messages
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
		// The scenes apply only to families that get the recorded conversation with an answer if
		// HOLDPOINT_SESSIONS is not set, and do not get it if HOLDPOINT_SESSIONS is set.
		usual := sent(t, func(c *chatter) { runs(c, "ask"); answers(c) })
		session := sent(t, func(c *chatter) { c.sessions = true; c.restart(); runs(c, "ask"); answers(c) })
		if !strings.Contains(usual, words) || strings.Contains(session, words) {
			return
		}
		// this dialect knows that its backend keeps no conversation, so the client's earlier runs
		// do not matter
		keepsNothing := b.Name() == "agent-framework AGUI.Server"
		if !keepsNothing {
			families++
		}
		for name, scene := range scenes {
			t.Run(name, func(t *testing.T) {
				if keepsNothing && scene.itself {
					return // it gets the messages of the answer's request
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
