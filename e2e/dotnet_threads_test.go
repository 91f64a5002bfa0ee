//go:build e2e

package e2e

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"holdpoint/e2e/dotnetclient"
	"holdpoint/e2e/scripted"
)

// TestAnswerOnAnotherThreadAtAnotherReplica: a .NET client uses a new thread for each run. It gets
// a question through a first Holdpoint, and answers through a second one. The second shares the
// store of the first, or replaces the first. An approved call must run once, however often it is
// answered. A denied call must not run.
func TestAnswerOnAnotherThreadAtAnotherReplica(t *testing.T) {
	t.Parallel()
	for _, s := range durableStores() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			base := s.begin(t)
			for name, form := range map[string]struct {
				host     scripted.Line
				wrapping scripted.Wrapping
				env      map[string]string
				client   func(dotnetclient.Connection) dotnetclient.Client
				sample   bool
			}{
				"AGUI.Client": {scripted.LineHead, scripted.Plain, nil, func(c dotnetclient.Connection) dotnetclient.Client {
					return dotnetclient.AGUIClient{Connection: c, Invoking: dotnetclient.MEAI1011}
				}, false},
				"the in-tree sample, native": {scripted.Line0707, scripted.Wrapped, map[string]string{"HOLDPOINT_CLIENT": "native"}, func(c dotnetclient.Connection) dotnetclient.Client {
					return dotnetclient.WrapperA{Client: dotnetclient.InTreeClient{Connection: c, Invoking: dotnetclient.MEAI108, Reasoning: true}}
				}, true},
			} {
				for answer, approve := range map[string]bool{"yes": true, "no": false} {
					ledger := scripted.NewLedger()
					host := httptest.NewServer(form.host.New(ledger, form.wrapping))
					defer host.Close()
					env := map[string]string{}
					for _, list := range []map[string]string{base, form.env} {
						for k, v := range list {
							env[k] = v
						}
					}
					env["HOLDPOINT_NAME"] = name + answer
					first := ownHoldpoint(t, host.URL, env)
					var at atomic.Pointer[string]
					at.Store(&first.address)
					application := &dotnetclient.Application{
						Client:      form.client(dotnetclient.Connection{URL: "http://there/", HTTP: &http.Client{Transport: rerouted{&at}}}),
						Options:     func() *dotnetclient.Options { return &dotnetclient.Options{} },
						ToolAnswers: form.sample, DropsThrown: true,
					}
					questions := application.Say("delete a.txt").Questions
					if len(questions) != 1 {
						t.Fatalf("%s: %d questions", name, len(questions))
					}
					asked := append([]*dotnetclient.Message{}, application.Messages...)
					var second *holdpoint
					if s.shared {
						second = ownHoldpoint(t, host.URL, env)
					} else {
						first.kill()
						second = restart(t, first, host.URL, env)
					}
					// The answer is sent three times.
					for n, h := range []*holdpoint{second, first, second} {
						if n == 1 && !s.shared {
							continue
						}
						at.Store(&h.address)
						application.Messages = append([]*dotnetclient.Message{}, asked...)
						run := application.Answer(questions, func(int) bool { return approve })
						if n == 0 && len(run.Failures) > 0 {
							t.Errorf("%s, %s: %v", name, answer, run.Failures)
						}
					}
					second.kill() // one process at a time can use a store in a file
					if ran := ledger.Total()["delete_file a.txt"]; ran > 1 || ran == 1 != approve {
						t.Errorf("%s, %s: it ran %d times", name, answer, ran)
					}
				}
			}
		})
	}
}
