package proxy

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// pandoChunk returns the event that announces a call with a question.
func pandoChunk(call string) string { return pandoAsks(call)[0] }

// TestAnAnsweredCallIsAnnouncedAgain: a backend may announce a call a second time after its answer.
// By that time Holdpoint has sent the answer to the client as the result of the call, so it must
// not ask about the call again.
func TestAnAnsweredCallIsAnnouncedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		stream []string
		want   []string // calls that the client must be asked about
	}{
		"and has its result": {[]string{started, pandoChunk("c1"), `{"type":"TOOL_CALL_RESULT","messageId":"x1","toolCallId":"c1","content":"done"}`, finished}, nil},
		"and another asks":   {append([]string{started, pandoChunk("c1")}, pandoAsks("c2")...), []string{"c2"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, n int) {
				if n == 1 {
					sendStream(w, streamOf(append([]string{started}, pandoAsks("c1")...)...))
					return
				}
				sendStream(w, streamOf(c.stream...))
			})
			g.do(withMessages(oldUser))
			got := g.do(strings.TrimSuffix(withMessages(oldUser, pandoCall("c1")), "}") + resumeWith(`{"interruptId":"c1~id1","status":"resolved","payload":{"approved":true}}`) + "}")
			if strings.Contains(got, `"TOOL_CALL_CHUNK","toolCallId":"c1"`) {
				t.Errorf("the call is told again:\n%s", got)
			}
			var asked []string
			for _, line := range strings.Split(got, "\n") {
				for _, i := range gjson.Get(strings.TrimPrefix(line, "data: "), "outcome.interrupts").Array() {
					asked = append(asked, i.Get("toolCallId").Str)
				}
			}
			if strings.Join(asked, " ") != strings.Join(c.want, " ") {
				t.Errorf("asked about %v, want %v\n%s", asked, c.want, got)
			}
		})
	}
}
