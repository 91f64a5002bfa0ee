package proxy

import (
	"net/http"
	"strings"
	"testing"

	"holdpoint/store"
)

// TestOldAnswerBesideADecision: an old answer of a chat ended in doubt. Meanwhile the desk decided
// a later question. Now the chat repeats the old answer, and this request sends the desk's decision
// to the backend. The chat must also be told that its old answer was not used. Otherwise the old
// answer would seem to have succeeded.
func TestOldAnswerBesideADecision(t *testing.T) {
	const asksZ = `{"type":"RUN_FINISHED","threadId":"t","runId":"x","outcome":{"type":"interrupt","interrupts":[{"id":"z","reason":"confirmation"}]}}`
	d := newDeskRig(t, func(w http.ResponseWriter, n int) {
		sendStream(w, streamOf([][]string{{started}, {started, asksZ}, {started, finished}}[n-2]...))
	})
	d.decide(d.says("x", saysYes), d.says("y", "1"))
	old := resumeWith(`{"interruptId":"`+d.id("x")+`","status":"resolved","payload":`+saysYes+`}`, `{"interruptId":"`+d.id("y")+`","status":"resolved","payload":1}`)
	d.carry()
	wantTypes(t, d.do(input("t", "r2", "")), inDoubt)
	with := func(run, more string) string {
		return `{"threadId":"t","runId":"` + run + `","messages":[` + oldUser + `,` + newUser + `]` + more + `}`
	}
	if got := d.do(with("r3", "")); !strings.HasSuffix(types(got), "RUN_FINISHED+interrupt") {
		t.Fatal(got)
	}
	d.decide(d.says("z", "1"))
	got := d.do(with("r4", old))
	wantTypes(t, got, "RUN_STARTED RUN_FINISHED")
	list := dataIn(got)
	if code := list[len(list)-1].Get("metadata.holdpoint.refusal.code").Str; code != "RESUME_IN_DOUBT" || d.called() != 4 {
		t.Errorf("refused by %q, %d calls: %s", code, d.called(), got)
	}
	if rec := d.record(); rec.State != store.None || len(rec.Results) != 2 || rec.Results[0].EndKind != store.Finished {
		t.Errorf("the record is %q, %d results", rec.State, len(rec.Results))
	}
}
