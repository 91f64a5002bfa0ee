package api

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/storetest"
)

// TestSecretsAreNotShown: a question asks for a secret. The desk must not show the answer, neither
// before the answer is sent to the agent nor after its end.
func TestSecretsAreNotShown(t *testing.T) {
	r := inMemory(t)
	p := pause(1, "refund", `{"amount":1}`)
	p.Interrupts = append(p.Interrupts, agui.Interrupt{ID: "i2", Object: json.RawMessage(`{"id":"i2"}`), Secret: true})
	r.open(1, p)
	given := json.RawMessage(`"k-given"`)
	r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Decide{PauseID: pauseOf(1), Decisions: []agui.Decision{{Question: "i2", Status: agui.Resolved, Payload: given, Digest: "d"}}}))
	for _, path := range []string{"/v1/approvals", "/v1/approvals/" + id(1)} {
		l := r.ask(200, "GET", path)
		a := l
		if path == "/v1/approvals" {
			a = l.Get("approvals.0")
		}
		if strings.Contains(l.Raw, "k-given") || a.Get("questions.1.decision.payloadNote").Str != secretNote {
			t.Errorf("%s shows %s", path, l.Raw)
		}
	}
	r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Claim{PauseID: pauseOf(1), Token: "t", Digest: store.MarshalAnswers([]store.AnswerDigest{{Question: "i2", Digest: "d"}}), Lease: 1e9}))
	r.must(storetest.Do(t.Context(), r.store, keyOf(1), store.Finish{Token: "t", Result: store.Result{EndKind: store.Finished, GivenAnswers: []store.GivenAnswer{{ID: "i2", Status: agui.Resolved, Payload: given}}}}))
	if end := r.ask(200, "GET", "/v1/approvals/"+id(1)); strings.Contains(end.Raw, "k-given") || end.Get("end.questions.1.payloadNote").Str != secretNote {
		t.Errorf("its end is %s", end.Raw)
	}
}
