//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// TestTwoRunsAskAtOnce: two ordinary runs of one thread overlap, and both ask. The first question
// must stay open, and the other run must end with THREAD_BUSY. The first question is from the real
// backend. The second question is made by the test, as it was recorded from simple_interrupt of
// 0.0.43, because a test cannot control when two real runs of one LangGraph thread overlap.
func TestTwoRunsAskAtOnce(t *testing.T) {
	t.Parallel()
	// channels of the current run; the cases run one after the other
	var arrived, gate chan struct{}
	var threadID, runID string
	asksSomethingElse := func(w http.ResponseWriter, r *http.Request) {
		run := fmt.Sprintf(`"threadId":%q,"runId":%q`, threadID, runID)
		close(arrived)
		<-gate
		sendStream(w, `data: {"type":"RUN_STARTED",`+run+"}\n\n"+
			`data: {"type":"STATE_SNAPSHOT","snapshot":{"messages":[]}}`+"\n\n"+
			`data: {"type":"MESSAGES_SNAPSHOT","messages":[]}`+"\n\n"+
			`data: {"type":"CUSTOM","rawEvent":{"value":{"message":"Another question?"},"id":"fe2461f3648dfb29ea17837d094a2b08"},"name":"on_interrupt","value":"{\"message\": \"Another question?\"}"}`+"\n\n"+
			`data: {"type":"RUN_FINISHED",`+run+"}\n\n")
	}
	for _, b := range shared.backends[:2] {
		t.Run(b.name, func(t *testing.T) {
			f := newFront(t, b, asksSomethingElse)
			h := ownHoldpoint(t, "http://"+f.address, nil)
			race := func(t *testing.T, w world) (late, first *client) {
				late = w.client(t, "approve")
				first = late.another(t)
				arrived, gate, threadID, runID = make(chan struct{}), make(chan struct{}), late.thread, fresh("run")
				f.off(t)
				done := late.start(t, step{say: "go", runID: runID})
				select {
				case <-arrived:
				case <-done:
					t.Fatal("the run ended before it reached the backend")
				}
				f.on(t)
				first.pause(t, 1)
				close(gate)
				if a := (<-done).answer(t); a.code() != "THREAD_BUSY" || a.outcome() != nil || len(a.customs()) != 0 {
					t.Errorf("the second question: %s", terminal(a))
				}
				w.did(t, late, 1, nil)
				return late, first
			}
			for _, version := range []string{newest, pinned, oldest} {
				t.Run("client-"+version, func(t *testing.T) {
					w := world{b: b, h: h, version: version}
					both(t, func(t *testing.T, next func(*client) *client) {
						late, first := race(t, w)
						// Neither client is stuck: the client first answers its question, and
						// afterwards the client late can continue.
						first.finish(t, first.answer(first.answers(accept), yes))
						w.did(t, first, 2, map[string]int{"delete": 1})
						late.messages = first.messages
						next(late).goesOn(t, nil)

						// In a second race nobody answers. The client late gets the open question
						// and denies it.
						late, _ = race(t, w)
						next(late).goesOn(t, no)
						w.effects(t, late, nil)
					})
				})
			}
		})
	}
}
