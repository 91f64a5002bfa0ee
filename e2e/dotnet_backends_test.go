//go:build e2e

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"holdpoint/e2e/dotnetclient"
)

// The in-tree client of .NET before backends of other frameworks. These send events at which it
// throws: CUSTOM, steps, RAW, snapshots.

// TestInTreeClientsBeforeOtherBackends asks the in-tree client's chat something that its agent asks
// about. It is told the question as a text, and the next message gives the question up. Nothing
// runs, no client throws, and the chat is answered. AGUI.Client leaves out what these backends
// demand of a request, so they answer it with 422, direct too.
func TestInTreeClientsBeforeOtherBackends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b          *backend
		agent, say string
	}{
		"LangGraph":             {&backend{name: "0.0.47", mode: "default", server: need(t, "langgraph", "0.0.47")}, "approve", "go"},
		"LangGraph, by outcome": {&backend{name: "0.0.47", mode: "outcome", server: need(t, "langgraph", "0.0.47")}, "approve", "go"},
		"pydantic-ai":           {&backend{name: "pydantic-ai", mode: "stateless", server: need(t, "pydanticai", "2.68.0")}, "agent", "delete a.txt"},
		"agno":                  {&backend{name: "agno", mode: "default", server: need(t, "agno", "3.1.10")}, "agui", "delete a.txt"},
	} {
		h := ownHoldpoint(t, c.b.url(), nil)
		for line, reasoning := range map[string]bool{"2026-04": false, "2026-07": true} {
			t.Run(name+"/"+line, func(t *testing.T) {
				t.Parallel()
				thread := fresh("dotnet")
				at := dotnetclient.Connection{URL: h.address + "/" + c.agent, HTTP: http.DefaultClient}
				app := &dotnetclient.Application{
					Client:      dotnetclient.InTreeClient{Connection: at, Invoking: dotnetclient.MEAI108, Reasoning: reasoning},
					Options:     func() *dotnetclient.Options { return &dotnetclient.Options{Thread: thread} },
					DropsThrown: true,
				}
				says := func(words, want string) {
					t.Helper()
					run := app.Say(words)
					if run.Thrown != nil || len(run.Failures) > 0 {
						t.Fatalf("%s: %v %v", words, run.Thrown, run.Failures)
					}
					if !strings.Contains(run.Text, want) {
						t.Fatalf("%s: the chat says %q, want %q", words, run.Text, want)
					}
				}
				says(c.say, "This program cannot answer that.")
				said := "plain hello " + fresh("n")
				says(said, said)
				says(said, said)
				if l := c.b.ledger(t, thread); len(l.Effects) > 0 {
					t.Errorf("ran though nobody approved it: %v", l.Effects)
				}
			})
		}
	}
}
