package proxy

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/event"
)

// TestAgentIsNamed checks that log lines and metrics have the name of the agent. If the agent has
// no name, the log must not have this key.
func TestAgentIsNamed(t *testing.T) {
	for _, name := range []string{"", "billing"} {
		logs, counted := &lockedBuffer{}, make(chan string, 1)
		g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
			sendStream(w, streamOf(started, finished))
		}, func(o *Options) {
			o.Logger, o.Agent = slog.New(slog.NewJSONHandler(logs, nil)), name
			o.RunEnded = func(r *event.Run) { counted <- r.Agent }
		})
		g.do(input("t", "r1", ""))
		if got := <-counted; got != name {
			t.Errorf("counted for %q, want %q", got, name)
		}
		logs.wait(t, "no line of the run", func(text string) bool { return strings.Contains(text, `"run ended"`) })
		for line := range strings.Lines(logs.String()) {
			if has := strings.Contains(line, `"agent":"billing"`); has != (name != "") {
				t.Errorf("agent %q: the log has %s", name, line)
			}
		}
	}
}
