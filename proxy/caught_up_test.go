package proxy_test

import (
	"strings"
	"testing"

	"holdpoint/translate/dialecttest"
)

// TestAChatThatWasAwayIsToldFirst: a question was decided elsewhere, and the chat sends its next
// message. In every dialect, the chat gets what it has missed before all other events of its run.
// Otherwise the missed messages would follow its new message.
func TestAChatThatWasAwayIsToldFirst(t *testing.T) {
	eachBackend(t, func(t *testing.T, b dialecttest.Backend) {
		checkChat(t, b, func(c *chatter) {
			c.isAsked()
			if _, p := c.open(); len(c.h.ChatOnlyReasons(p)) > 0 {
				return // the chat itself carries the decision
			}
			c.decide("yes")
			c.carry("end")
			if len(c.history) == 0 {
				return // its snapshot has deleted all by which the chat could be known
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
