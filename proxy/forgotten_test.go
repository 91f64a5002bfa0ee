package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestAnswersToWhatWasForgotten: Holdpoint was restarted and has no record of the open question.
// The backend still waits, and would accept each of these answers. Holdpoint must refuse them.
func TestAnswersToWhatWasForgotten(t *testing.T) {
	const (
		suspend = `"interruptEvent":"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c\",\"runId\":\"m\"}"`
		echoed  = `{"command":{"resume":{"approved":true},` + suspend + `}}`
		mastra  = `{"type":"CUSTOM","name":"on_interrupt","value":"{\"type\":\"mastra_suspend\",\"toolCallId\":\"c\",\"runId\":\"m\"}"}`
	)
	for name, props := range map[string]string{
		"LangGraph, command.resume":                 `{"command":{"resume":true}}`,
		"LangGraph, beside an echo of Mastra's":     echoed,
		"LangGraph, beside an echo that is no text": `{"command":{"resume":true,"interruptEvent":{"type":"mastra_suspend"}}}`,
		"Agent Framework, a list":                   `{"resume":[{"interruptId":"n","status":"resolved","payload":{"accepted":true}}]}`,
		"Agent Framework, one item":                 `{"resume":{"id":"n","value":true}}`,
		"Agent Framework, an object":                `{"resume":{"interrupts":[{"id":"n","value":{"accepted":true}}]}}`,
		"Agent Framework, an object of one":         `{"resume":{"interrupt":[{"id":"n","value":{"accepted":true}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := realRig(t, "auto", echo)
			if got := g.do(input("t", "r", `,"forwardedProps":`+props)); g.called() != 0 || !strings.Contains(got, "UNKNOWN_INTERRUPT_ID") {
				t.Errorf("backend called %d times, the client was told\n%s", g.called(), got)
			}
		})
	}

	// Mastra 1.0.3 resumes the suspended call even if an answer names another call. So Holdpoint
	// must accept an answer only if its question is in the record, even on a route that is known to
	// be Mastra's.
	t.Run("Mastra's own route", func(t *testing.T) {
		g := realRig(t, "auto", func(w http.ResponseWriter, _ *http.Request, n int) {
			events := []string{started, finished}
			if n == 1 {
				events = []string{started, mastra, finished}
			}
			sendStream(w, streamOf(events...))
		})
		g.do(input("t0", "m", ""))
		for n, want := range []int{1, 2, 2, 2} {
			thread := []string{"t1", "t0", "t0", "t1"}[n]
			got := g.do(input(thread, fmt.Sprint("r", n), `,"forwardedProps":`+echoed))
			if g.called() != want || thread == "t1" && !strings.Contains(got, "UNKNOWN_INTERRUPT_ID") {
				t.Errorf("request %d: backend called %d times, the client was told\n%s", n+1, g.called(), got)
			}
		}
	})
}
