package proxy_test

import (
	"strings"
	"testing"

	"holdpoint/translate/dialecttest"
)

// TestAChatThatWasAwayIsToldFirst: the desk decides a question, and then the chat sends its next
// message. In every dialect, the events that the chat has missed must precede all other events of
// its run. Otherwise the missed messages would follow the new message in the client's history.
func TestAChatThatWasAwayIsToldFirst(t *testing.T) {
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		checkChat(t, b, func(c *chatter) {
			c.isAsked()
			if _, p := c.open(); len(c.h.ChatOnlyReasons(p)) > 0 {
				return // the decision is sent to the backend by the chat's next request
			}
			c.decide("yes")
			c.carry("end")
			if len(c.history) == 0 {
				// a snapshot has deleted all messages by which Holdpoint could recognize the chat
				return
			}
			c.words()
			c.send("", "end")
			var kinds []string
			for _, frame := range strings.Split(c.got, "\n\n") {
				_, rest, _ := strings.Cut(frame, `"type":"`)
				kind, _, _ := strings.Cut(rest, `"`)
				if kind != "STATE_SNAPSHOT" {
					kinds = append(kinds, kind)
				}
			}
			if len(kinds) < 3 || kinds[0] != "RUN_STARTED" || kinds[1] != "MESSAGES_SNAPSHOT" || kinds[2] != "MESSAGES_SNAPSHOT" {
				c.t.Fatalf("the chat was told %q", kinds)
			}
		})
	})
}
