package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"holdpoint/translate/dialects"
	"holdpoint/translate/dialecttest"
)

// TestLateAnswerIsShownTheEnd: a question was answered in another tab or at the desk. A chat still
// shows the question, and answers too late. In every dialect, this chat must get the current state
// of the thread. Its messages may contain the late answer: CopilotKit sends a tool message beside
// resume, and other clients answer only by a message. The snapshot must not contain this message,
// because the late answer was not used.
func TestLateAnswerIsShownTheEnd(t *testing.T) {
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		for _, elsewhere := range []string{"in another tab", "at the desk"} {
			for how, late := range map[string]lateAnswer{
				"denied":                     {status: "resolved", payload: b.No, message: b.No},
				"approved too":               {status: "resolved", payload: b.Yes, message: b.Yes},
				"cancelled":                  {status: "cancelled", message: `{"status":"cancelled"}`},
				"an answer before that one":  {status: "resolved", payload: b.No, message: b.No, before: true},
				"by a message":               {native: true},
				"the page is loaded instead": {reload: true},
			} {
				t.Run(elsewhere+"/"+how, func(t *testing.T) {
					checkChat(t, b, func(c *chatter) { late.play(c, elsewhere) })
				})
			}
		}
	})
}

// eachBackend runs test for each dialect with each of its backends in dialecttest.
func eachBackend(t *testing.T, test func(t *testing.T, b dialecttest.Backend)) {
	t.Helper()
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			t.Run(b.Name(), func(t *testing.T) { test(t, b) })
		}
	}
}

// checkChat calls play with a chat whose backend is b.
func checkChat(t *testing.T, b dialecttest.Backend, play func(c *chatter)) {
	t.Helper()
	fewer(t, 1)
	rapid.Check(t, func(t *rapid.T) { play(newChatter(t, b, dialects.All())) })
}

// isAsked sends a message after which the backend asks a question.
func (c *chatter) isAsked() {
	c.send("", "ask")
	if c.pending == "" {
		c.t.Fatalf("no question is open: %s", c.got)
	}
}

// A lateAnswer is an answer that a chat gives too late, because the question was approved
// elsewhere.
type lateAnswer struct {
	status, payload string
	message         string // the tool message that CopilotKit adds if the question is about a call
	before          bool   // the history also has such a message for an earlier question
	native          bool   // the answer is a message in the backend's own form
	reload          bool   // the request has no answer
}

func (l lateAnswer) play(c *chatter, elsewhere string) {
	if l.before {
		c.send("", "ask")
		c.beside(l.message)
		c.answer(c.pending, "no", false, "end")
		c.words()
	}
	c.isAsked()
	stale, id := slices.Clone(c.history), c.pending
	if elsewhere == "at the desk" {
		_, p := c.open()
		c.decide("yes")
		if len(c.h.ChatOnlyReasons(p)) > 0 {
			c.send("", "end") // the chat's next request takes the decision along
		} else {
			c.carry("end")
		}
	} else {
		c.answer(id, "yes", false, "end")
	}
	if len(stale) == 0 || len(c.history) == 0 && elsewhere != "at the desk" {
		return // without its messages the chat cannot be recognized
	}
	asked, calls := len(c.seen), fmt.Sprint(c.told)
	c.history = stale
	switch {
	case l.reload && elsewhere != "at the desk":
		return // the thread is idle, so the run is sent to the backend
	case l.reload:
		c.send("", "end")
	case l.native:
		if c.b.Reply == "" {
			return
		}
		c.reply(c.asked, false, false, "end")
	default:
		payload := ""
		if l.payload != "" {
			payload = `,"payload":` + l.payload
		}
		c.beside(l.message)
		c.send(fmt.Sprintf(`,"resume":[{"interruptId":%q,"status":%q%s}]`, id, l.status, payload), "end")
	}
	if c.check(); calls != fmt.Sprint(c.told) || asked != len(c.seen) {
		c.t.Fatalf("the backend was asked: %s", c.seen)
	}
	if text := l.textOf(c.got); !l.reload && text != "" {
		place, noun := map[string]string{"at the desk": "at the desk", "in another tab": "in this chat"}[elsewhere], "denial"
		if l.status == "cancelled" {
			noun = "cancellation"
		}
		if want := "This was approved at 10:00 UTC " + place + ". Your " + noun + " was not used."; text != want {
			c.t.Fatalf("told %q, want %q", text, want)
		}
	} else if l.status != "" && l.payload != c.b.Yes {
		c.t.Fatalf("not told what stands: %s", c.got)
	}
	snapshot := ""
	for _, frame := range strings.Split(c.got, "\n\n") {
		if data := strings.TrimPrefix(frame, "data: "); gjson.Get(data, "type").Str == "MESSAGES_SNAPSHOT" {
			snapshot = data
		}
	}
	if snapshot == "" {
		c.t.Fatalf("the chat was not shown the end: %s\nof %s", c.got, c.last)
	}
	left := 0
	for _, m := range gjson.Get(snapshot, "messages").Array() {
		if m.Get("toolCallId").Str == c.call && c.call != "" {
			left++
		}
	}
	own := l.message != "" && strings.Contains(snapshot, fmt.Sprintf(`"beside-%d"`, c.marks))
	if own && left > 1 {
		c.t.Fatalf("the chat was shown an answer that was not used beside the result: %s", snapshot)
	}
	if asked := strings.Contains(snapshot, fmt.Sprintf(`"id":%q,"type":"function"`, c.call)); asked && left == 0 && l.message != "" {
		c.t.Fatalf("the call is left without a result: %s", snapshot)
	}
}

// beside adds to the history the tool message that CopilotKit sends together with an answer. The
// message is about the call of the newest question.
func (c *chatter) beside(says string) {
	if c.call == "" {
		return
	}
	c.marks++
	c.add(fmt.Sprintf(`{"id":"beside-%d","role":"tool","toolCallId":%q,"content":%q}`, c.marks, c.call, says))
}

// textOf returns the refusal's text for a person, from the RUN_FINISHED of a stream.
func (lateAnswer) textOf(stream string) string {
	for _, frame := range strings.Split(stream, "\n\n") {
		if data := strings.TrimPrefix(frame, "data: "); gjson.Get(data, "type").Str == "RUN_FINISHED" {
			return gjson.Get(data, "metadata.holdpoint.refusal.text").Str
		}
	}
	return ""
}

// TestAnswerBesideResume: CopilotKit sends its answer twice: in resume, and as a tool message for
// the call in question. In every dialect, the answer must count once, and the thread must continue.
// The tool message stays in the client's history, but Holdpoint must not refuse a later request
// because of it.
func TestAnswerBesideResume(t *testing.T) {
	for _, name := range dialects.All().Names()[1:] {
		for _, b := range dialecttest.Of(name) {
			t.Run(b.Name(), func(t *testing.T) {
				fewer(t, 1)
				rapid.Check(t, func(t *rapid.T) {
					c := newChatter(t, b, dialects.All())
					for how, message := range map[string]string{"yes": b.Yes, "no": b.No, "cancel": `{"status":"cancelled"}`} {
						c.send("", "ask")
						n := c.asked
						if c.pending == "" || c.waits != n {
							t.Fatalf("%s: no question is open: %s\nof %s", how, c.got, c.last)
						}
						c.beside(message)
						c.answer(c.pending, how, false, "end")
						if c.check(); c.pending != "" || (c.did[n] == 1) != (how == "yes") {
							t.Fatalf("%s: carried out %d times: %s\nof %s", how, c.did[n], c.got, c.last)
						}
						c.words()
						c.send("", "end")
						if strings.Contains(c.got, "RUN_ERROR") || !strings.Contains(string(c.seen), fmt.Sprintf("words %d.", c.marks)) {
							t.Fatalf("%s: the next message: %s\nof %s", how, c.got, c.last)
						}
						c.words()
					}
				})
			})
		}
	}
}
