//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// native is the setting for cards of CopilotKit that read event.value.
var native = map[string]string{"HOLDPOINT_CLIENT": "native"}

// byValue makes Holdpoint translate a card's yes and no into the values that the agent expects.
var byValue = map[string]string{"HOLDPOINT_ANSWERS": valueRule}

// cardScenes are scenes with the cards (React components that show a question) of CopilotKit pages.
// There are cards that read event.value, the card of CopilotKit's type documentation, and the card
// of docs/copilotkit.md. The first kind is played without Holdpoint, with Holdpoint without
// settings, and with HOLDPOINT_CLIENT=native.
var cardScenes = []chatScene{
	{name: "the reference card, direct", kind: copilotKit, graph: "text", card: "reference", direct: true,
		counts: map[string]int{"greet": 1}, play: answersItsName},
	{name: "the reference card, native", kind: copilotKit, graph: "text", card: "reference", env: native,
		counts: map[string]int{"greet": 1}, play: answersItsName},
	{name: "the reference card, zero settings", kind: copilotKit, graph: "text", card: "reference", dead: true,
		play: func(t *testing.T, _ *set, c *chat) {
			c.say(t, "go")
			v := c.sees(t, "a card that shows an object", map[string]any{"thrown": "React error #31"})
			if v.Chat != "" || v.Card != "" {
				t.Errorf("the page is not white: %s", v)
			}
		}},
	{name: "a card of action_requests, direct", kind: copilotKit, graph: "hitl", card: "requests", direct: true,
		counts: map[string]int{"send_email": 1, "delete_file": 1}, play: reviews("approve", "deleted notes.txt")},
	{name: "a card of action_requests, native", kind: copilotKit, graph: "hitl", card: "requests", env: native,
		counts: map[string]int{"send_email": 1, "delete_file": 1}, play: reviews("approve", "deleted notes.txt")},
	{name: "a card of action_requests, native, denied", kind: copilotKit, graph: "hitl", card: "requests", env: native,
		play: reviews("deny", "User rejected the tool call")},
	{name: "a card of action_requests, native, loaded again", kind: copilotKit, graph: "hitl", card: "requests", env: native,
		counts: map[string]int{"send_email": 1, "delete_file": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "delete_file")
			c.do(t, "reload", nil)
			c.asks(t, "a reloaded page", "delete_file")
			c.click(t, "approve")
			c.shows(t, "the approval", "deleted notes.txt")
		}},
	{name: "a card of action_requests, zero settings", kind: copilotKit, graph: "hitl", card: "requests", dead: true,
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			v := c.sees(t, "a card without content", map[string]any{"runs": 1})
			if v.Card != "" || !strings.Contains(v.Chat, "ApproveReject") {
				t.Errorf("the card is not empty: %s", v)
			}
			c.click(t, "approve")
			if v := c.look(t); v.Runs != 1 || len(v.Pending) != 2 {
				t.Errorf("its button did something: %s", v)
			}
		}},
	{name: "the documented card, one question", kind: copilotKit, graph: "percallone", card: "documented",
		counts: map[string]int{"delete_file": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Deleting needs an OK")
			c.click(t, "approve")
			c.shows(t, "the approval", "deleted notes.txt")
		}},
	{name: "the documented card, two questions", kind: copilotKit, graph: "hitl", card: "documented", dead: true,
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "send_email")
			for _, button := range []string{"approve", "approve", "cancel"} {
				c.click(t, button)
			}
			if v := c.look(t); v.Runs != 1 || v.State != "idle" || len(v.Pending) != 2 {
				t.Errorf("it has sent something: %s", v)
			}
		}},
	{name: "the copied card, one question", kind: copilotKit, graph: "percallone", card: "copied",
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "Deleting needs an OK")
			c.do(t, "explain", map[string]any{"text": "not today", "of": 0})
			c.press(t, "Deny", 0)
			c.shows(t, "the denial, with its reason", "not today")
		}},
	{name: "the copied card, two questions", kind: copilotKit, graph: "hitl", card: "copied",
		counts: map[string]int{"delete_file": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "go")
			c.asks(t, "a pause", "send_email")
			c.press(t, "Approve", 1)
			c.sees(t, "one of two", map[string]any{"said": "Approved. It is sent when every question has an answer."})
			s.ran(t, c, "one of two", nil)
			c.do(t, "explain", map[string]any{"text": "not today", "of": 0})
			c.press(t, "Deny", 0)
			c.shows(t, "both", "not today | deleted notes.txt")
		}},
	{name: "the copied card, an agent's own values, approved", kind: copilotKit, graph: "values", card: "copied", env: byValue,
		counts: map[string]int{"delete_file": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "delete a.txt")
			c.asks(t, "a pause", "The agent asks to call the tool delete_file.")
			c.do(t, "reload", nil)
			c.asks(t, "a reloaded page", "The agent asks to call the tool delete_file.")
			s.ran(t, c, "before the answer", nil)
			c.press(t, "Approve", 0)
			c.shows(t, "the agent's own yes", `The answer was {"go": true, "args": {"path": "a.txt"}}`)
		}},
	{name: "the copied card, an agent's own values, denied and cancelled", kind: copilotKit, graph: "values", card: "copied", env: byValue,
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "delete a.txt, delete b.txt")
			c.asks(t, "a pause", "The agent asks to call the tool delete_file.")
			c.do(t, "explain", map[string]any{"text": "not today", "of": 0})
			c.press(t, "Deny", 0)
			c.press(t, "Cancel", 1)
			c.shows(t, "the denial, with its reason", `The answer was {"go": false, "why": "not today"}`)
			c.shows(t, "the cancel", `The answer was {"go": false, "why": ""}`)
		}},
	{name: "the copied card, an agent's own values, no setting", kind: copilotKit, graph: "values", card: "copied",
		play: func(t *testing.T, s *set, c *chat) {
			c.say(t, "delete a.txt")
			c.asks(t, "a pause", "langgraph:interrupt")
			c.press(t, "Approve", 0)
			c.shows(t, "a yes that is none to this agent", `The answer was {"approved": true}`)
		}},
	{name: "the copied card, and Holdpoint is down", kind: copilotKit, graph: "percallone", card: "copied",
		counts: map[string]int{"delete_file": 1},
		play: func(t *testing.T, s *set, c *chat) {
			env := map[string]string{"HOLDPOINT_STORE": "bolt://" + t.TempDir() + "/state.db"}
			s.h.kill()
			s.h = restart(t, s.h, s.up, env)
			c.say(t, "go")
			c.asks(t, "a pause", "Deleting needs an OK")
			s.h.kill()
			c.press(t, "Approve", 0)
			c.sees(t, "nobody got the answer", map[string]any{"refusal": "That did not arrive."})
			s.h = restart(t, s.h, s.up, env)
			c.do(t, "reload", nil)
			c.asks(t, "the page is loaded again", "Deleting needs an OK")
			s.ran(t, c, "before it is answered again", nil)
			c.press(t, "Approve", 0)
			c.shows(t, "the same answer again", "deleted notes.txt")
		}},
}

// answersItsName answers the question of the graph "text", which asks for a name.
func answersItsName(t *testing.T, _ *set, c *chat) {
	c.say(t, "go")
	c.asks(t, "a pause", "What is your name?")
	c.do(t, "type", map[string]any{"text": "Bob"})
	c.click(t, "answer")
	c.shows(t, "the answer", `The answer was "Bob"`)
}

// reviews returns a scene that presses a button on a card for LangChain's human-in-the-loop
// middleware. Then the chat must show want.
func reviews(button, want string) func(t *testing.T, s *set, c *chat) {
	return func(t *testing.T, s *set, c *chat) {
		c.say(t, "go")
		c.asks(t, "a pause", "delete_file")
		s.ran(t, c, "before the answer", nil)
		c.click(t, button)
		c.shows(t, "the answer", want)
	}
}
