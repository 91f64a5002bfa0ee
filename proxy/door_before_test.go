package proxy

import (
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/event/door"
	"holdpoint/store"
)

// TestAskedBeforeThereWerePrincipals: a question was asked before the operator configured
// principals, so it has no requester and no owner. The desk decides it, and Holdpoint must send the
// decision once. After that, the thread must still have no owner. The first person who runs the
// thread becomes its owner, and Holdpoint must refuse all others.
func TestAskedBeforeThereWerePrincipals(t *testing.T) {
	before := newDeskRig(t, nil)
	if rec := before.record(); rec.Owner != "" || rec.Pause.Origin.Requester != "" || rec.Pause.Origin.RequesterHash != "" {
		t.Fatalf("asked by %q: %+v", rec.Owner, rec.Pause.Origin)
	}
	now := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		sendStream(w, streamOf(started, strings.ReplaceAll(hello, "m1", "m2"), finished))
	}, func(o *Options) { o.Store, o.OtherDoors = before.store, &OtherDoors{KeepsInput: true} }, gated{}.by(t))
	words := []door.Decision{before.says("x", saysYes), before.says("y", saysNo)}
	if _, err := now.h.Decide(t.Context(), before.key, before.record().Pause.ID, maria, words); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, nothing is left to send
		_ = now.h.Carry(t.Context(), before.key)
	}
	if rec := before.record(); rec.Owner != "" || rec.State != store.None || len(rec.Results) != 1 || now.called() != 1 || before.called() != 1 {
		t.Fatalf("carried: owner %q, %s, %d results, %d calls", rec.Owner, rec.State, len(rec.Results), now.called())
	}
	wantTypes(t, now.as("alice", input("t", "r2", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
	wantTypes(t, now.as("bob", input("t", "r3", "")), "RUN_STARTED RUN_ERROR:THREAD_FORBIDDEN")
	if before.record().Owner == "" || now.called() != 1 {
		t.Errorf("owner %q, %d calls", before.record().Owner, now.called())
	}
}
