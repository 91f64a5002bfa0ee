//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/e2e/scripted"
)

// TestTwoHoldpointsBeforeDotNet: two Holdpoints without settings are in series in front of
// AGUI.Server. The outer Holdpoint gets a stream that has both the host's rawEvent and the question
// of the inner Holdpoint. The client must get one question, an answer must be carried out once, and
// the chat must continue. This must hold with and without declared tools.
func TestTwoHoldpointsBeforeDotNet(t *testing.T) {
	t.Parallel()
	backends := newManyBackends(t)
	inner := ownHoldpoint(t, backends.URL, nil)
	outer := ownHoldpoint(t, inner.address, nil)
	const declared = `"tools":[{"name":"pick_color","description":"","parameters":{"type":"object"}}]`
	for _, line := range []scripted.Line{scripted.LineHead, scripted.LineNew, scripted.LineSDK} {
		for answer, entry := range map[string]string{"yes": yesEntry, "no": noEntry, "cancel": cancelEntry} {
			for _, tools := range []string{onlyTools, declared} {
				t.Run(fmt.Sprint(line, "/", answer, "/", tools == declared), func(t *testing.T) {
					ledger := scripted.NewLedger()
					c := &handChat{t: t, address: outer.address + backends.add(dotnetHost{line, scripted.Plain}, ledger), thread: fresh("thread")}
					if _, told := c.says("delete a.txt", tools); len(c.asked) != 1 {
						t.Fatalf("%d questions: %s", len(c.asked), told)
					}
					if _, told := c.run(tools + "," + entries(c.asked, entry)); strings.Contains(told, `"RUN_ERROR"`) || len(c.asked) > 0 {
						t.Errorf("the answer is told as %s", told)
					}
					if _, told := c.says("plain and later", tools); !strings.Contains(c.text, "and later") {
						t.Errorf("the chat does not go on: %s", told)
					}
					want := 0
					if answer == "yes" {
						want = 1
					}
					if ran := ledger.Total()["delete_file a.txt"]; ran != want {
						t.Errorf("it ran %d times", ran)
					}
				})
			}
		}
	}
}
