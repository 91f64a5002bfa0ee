//go:build e2e

package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// behindScenes are scenes in which a page answers a question that was already answered elsewhere.
// The reason of the question is tool_call. The page must get the result of the call, and a notice
// that says which answer counts.
var behindScenes = []chatScene{
	{name: "behind another tab, and denies", graph: "percallone", counts: map[string]int{"delete_file": 1},
		play: behindATab("deny", `^This was approved at \d\d:\d\d UTC in this chat\. Your denial was not used\.$`)},
	{name: "behind another tab, and approves", graph: "percallone", counts: map[string]int{"delete_file": 1},
		play: behindATab("approve", "^$")},
	{name: "behind another tab, two questions", graph: "hitl", counts: map[string]int{"send_email": 1, "delete_file": 1},
		play: behindATab("deny", `^These were approved at \d\d:\d\d UTC in this chat\. Your denial was not used\.$`)},
	{name: "behind another tab, native", kind: copilotKit, graph: "hitl", card: "requests", env: native,
		counts: map[string]int{"send_email": 1, "delete_file": 1}, play: behindATab("deny", "^$")},
	{name: "behind the desk, and denies", graph: "percallone", desk: true, counts: map[string]int{"delete_file": 1},
		play: behindTheDesk("deny", `^This was approved at \d\d:\d\d UTC at the desk\. Your denial was not used\.$`)},
	{name: "behind the desk, and approves", graph: "percallone", desk: true, counts: map[string]int{"delete_file": 1},
		play: behindTheDesk("approve", "^$")},
	{name: "behind the desk, and says something", kind: copilotKit, graph: "percallone", desk: true, counts: map[string]int{"delete_file": 1},
		play: func(t *testing.T, s *set, c *chat) {
			c.decidedAtTheDesk(t, s)
			c.do(t, "reload", nil) // CopilotKit's runtime handles it, and no request reaches Holdpoint
			c.asks(t, "a reloaded page", "Deleting needs an OK")
			c.click(t, "cancel")
			c.shows(t, "the first click", "deleted notes.txt")
		}},
}

// behindATab returns a scene with two tabs. The first tab approves. Then the second tab presses the
// given button, and must get the given notice.
func behindATab(button, notice string) func(t *testing.T, s *set, c *chat) {
	return func(t *testing.T, s *set, c *chat) {
		c.say(t, "go")
		c.sees(t, "a pause", map[string]any{"runs": 1})
		stale := c
		if c.kind == assistantUI { // another tab of it does not have the thread, so this tab is the late one
			approvesElsewhere(t, c)
		} else {
			stale = c.secondTab(t)
			stale.sees(t, "another tab", map[string]any{"runs": 1})
			c.click(t, "approve")
			c.shows(t, "the approval", "deleted notes.txt")
		}
		stale.late(t, button, notice)
	}
}

// approvesElsewhere approves all open questions of the page through another client.
func approvesElsewhere(t *testing.T, c *chat) {
	t.Helper()
	other := newClient(t, shared.through, newest, c.address, c.thread, nil)
	var list []entry
	for _, id := range c.look(t).Pending {
		list = append(list, resolved(id, yes))
	}
	other.finish(t, step{resume: list})
}

// behindTheDesk returns a scene in which the desk approves while the page is open. Then the page
// presses the given button, and must get the given notice.
func behindTheDesk(button, notice string) func(t *testing.T, s *set, c *chat) {
	return func(t *testing.T, s *set, c *chat) {
		c.decidedAtTheDesk(t, s)
		c.late(t, button, notice)
	}
}

// decidedAtTheDesk makes the page ask a question and the desk approve it. It returns when the agent
// has got the answer and its run has ended.
func (c *chat) decidedAtTheDesk(t *testing.T, s *set) {
	t.Helper()
	c.say(t, "go")
	c.asks(t, "a pause", "Deleting needs an OK")
	a := s.d.waiting(t, c.thread)
	s.d.decide(t, a, 0, "approve", nil)
	s.d.ended(t, a)
}

// late presses the given button on a question that was already answered elsewhere. The chat must
// show the result, even after a reload. The page's notice, which says which answer counts, must
// match the pattern notice.
func (c *chat) late(t *testing.T, button, notice string) {
	t.Helper()
	before := c.look(t).Runs
	c.click(t, button)
	c.ran(t, "a late answer", before)
	c.asks(t, "a late answer", "")
	v := c.shows(t, "a late answer", "deleted notes.txt")
	if !regexp.MustCompile(notice).MatchString(v.Notice) {
		t.Errorf("the notice is %q, want %s", v.Notice, notice)
	}
	if strings.Contains(v.Chat, `{"approved"`) {
		t.Errorf("the chat shows an answer: %s", v.Chat)
	}
	if c.kind == copilotKit { // the other page loses its history at a reload
		c.do(t, "reload", nil)
		c.shows(t, "a reloaded page", "deleted notes.txt")
	}
}
