package contract

import (
	"encoding/json"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// TestStanding: an answer is refused because another answer already counts. The refusal must
// contain what the record has of the answer that counts.
func TestStanding(t *testing.T) {
	at, earlier := time.Date(2026, 11, 27, 11, 4, 0, 0, time.UTC), time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	asked := func() *agui.Pause {
		return &agui.Pause{ID: "p", Interrupts: []agui.Interrupt{{ID: "a", Object: json.RawMessage(`{"id":"a"}`)}}}
	}
	decided := asked()
	decided.Decisions = []agui.Decision{{Question: "a", Status: agui.Resolved, Verdict: "approved", Digest: "x", Door: "desk", By: "Maria", At: earlier}}
	result := func(how store.EndKind, p *agui.Pause) *store.Result {
		return &store.Result{
			PauseID: "p", IDs: []string{"a"}, EndKind: how, Pause: p, At: at, Digest: "x",
			GivenAnswers: []store.GivenAnswer{{ID: "a", Status: agui.Resolved, Verdict: "approved"}}, Finish: json.RawMessage(`{"type":"RUN_FINISHED"}`),
		}
	}
	failed := result(store.Finished, asked())
	failed.Finish = json.RawMessage(`{"type":"RUN_ERROR","message":"kaput"}`)
	forgotten := &store.Result{PauseID: "p", IDs: []string{"a"}, EndKind: store.Finished, At: at, Tombstone: true, Failed: true}
	freed := &store.Result{PauseID: "p", IDs: []string{"a"}, EndKind: store.Withdrawn, Pause: asked(), At: at, Door: "desk", By: "ops"}
	for name, c := range map[string]struct {
		record store.Record
		want   Standing
	}{
		"answered in the chat":    {store.Record{Results: []*store.Result{result(store.Finished, asked())}}, Standing{At: at, Answers: []StandingAnswer{{ID: "a", Status: agui.Resolved, Verdict: "approved", At: at, Door: "chat"}}}},
		"decided at the desk":     {store.Record{Results: []*store.Result{result(store.Finished, decided)}}, Standing{At: at, Answers: []StandingAnswer{{ID: "a", Status: agui.Resolved, Verdict: "approved", At: earlier, Door: "desk", By: "Maria"}}}},
		"and the run failed":      {store.Record{Results: []*store.Result{failed}}, Standing{At: at, Failed: true, Answers: []StandingAnswer{{ID: "a", Status: agui.Resolved, Verdict: "approved", At: at, Door: "chat"}}}},
		"nobody knows any more":   {store.Record{Results: []*store.Result{forgotten}}, Standing{At: at, Failed: true}},
		"freed at the desk":       {store.Record{Results: []*store.Result{freed}}, Standing{State: ClosedUnanswered, At: at, Door: "desk", By: "ops"}},
		"nobody came":             {store.Record{Results: []*store.Result{{PauseID: "p", IDs: []string{"a"}, EndKind: store.Retired, Pause: asked(), At: at}}}, Standing{State: ClosedByTime, At: at}},
		"on its way":              {store.Record{State: store.Claimed, Pause: asked(), Digest: "x"}, Standing{State: BeingCarried}},
		"decided, and on its way": {store.Record{State: store.Claimed, Pause: decided, Digest: "x"}, Standing{State: BeingCarried, Answers: []StandingAnswer{{ID: "a", Status: agui.Resolved, Verdict: "approved", At: earlier, Door: "desk", By: "Maria"}}}},
		"decided, and waits":      {store.Record{State: store.Open, Pause: decided}, Standing{State: DecidedElsewhere, Answers: []StandingAnswer{{ID: "a", Status: agui.Resolved, Verdict: "approved", At: earlier, Door: "desk", By: "Maria"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Judge(&Case{
				Record: c.record, Answers: []agui.Answer{{ID: "a", Status: agui.Resolved, Payload: json.RawMessage(`{"approved":false}`)}},
				Valid: func(_, _ json.RawMessage) error { return nil },
			})
			if r.Do != Refuse || r.Standing == nil {
				t.Fatalf("ruled %+v", r)
			}
			got, err1 := json.Marshal(r.Standing)
			want, err2 := json.Marshal(c.want)
			if err1 != nil || err2 != nil || string(got) != string(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	for name, how := range map[string]store.EndKind{"in doubt": store.Doubtful, "lost": store.Lost} {
		r := Judge(&Case{
			Record:  store.Record{Results: []*store.Result{result(how, asked())}},
			Answers: []agui.Answer{{ID: "a", Status: agui.Resolved, Payload: json.RawMessage(`{"approved":false}`)}},
		})
		if r.Do != Refuse || r.Standing != nil {
			t.Errorf("%s: its code says it, and %+v stands", name, r.Standing)
		}
	}
}
