package proxy

import (
	"net/http"
	"strings"
	"testing"
)

// TestACallUnderAnOldIDAsks: some models repeat the ids of calls. A new call has the same id as an
// earlier call, whose question was answered. The new call must cause a new question.
func TestACallUnderAnOldIDAsks(t *testing.T) {
	g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, n int) {
		switch n {
		case 1, 3:
			sendStream(w, streamOf(append([]string{started}, pandoAsks("c1")...)...))
		default:
			sendStream(w, streamOf(started, finished))
		}
	})
	g.do(withMessages(oldUser))
	g.do(strings.TrimSuffix(withMessages(oldUser, pandoCall("c1")), "}") + resumeWith(`{"interruptId":"c1~id1","status":"resolved","payload":{"approved":true}}`) + "}")
	got := g.do(withMessages(oldUser, pandoCall("c1"), pandoSays("c1~id1", "c1", `{"approved":true}`), newUser))
	if !strings.Contains(got, `"interrupt"`) {
		t.Errorf("nothing is asked:\n%s", got)
	}
}
