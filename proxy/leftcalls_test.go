package proxy

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
)

// TestTwoCallsOfOneNoteAsk: one note in the record lists several calls that were left to the
// client. Later, questions are asked about two of them. Both calls must then be removed from the
// note.
func TestTwoCallsOfOneNoteAsk(t *testing.T) {
	g := newRig(t, nil)
	r := loneRun(t.Context(), g.h, "/", &agui.RunInput{ThreadID: "t"})
	if err := r.judge.ledger.Remember(store.Note{ID: history.LeftPrefix + "n", Text: []byte(`["aaaa","bbbb","cccc"]`)}, store.MaxNotes); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.judge.record, err = r.judge.ledger.Load(); err != nil {
		t.Fatal(err)
	}
	r.client.forgetNoted(history.LeftPrefix, "aaaa")
	r.client.forgetNoted(history.LeftPrefix, "bbbb")
	rec, err := r.judge.ledger.Load()
	if err != nil || len(rec.Notes) != 1 {
		t.Fatal(rec.Notes, err)
	}
	if text := string(rec.Notes[0].Text); strings.Contains(text, "aaaa") || strings.Contains(text, "bbbb") || !strings.Contains(text, "cccc") {
		t.Error(text)
	}
}
