package proxy

import (
	"encoding/json"
	"log/slog"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
)

// A backend may wait on for the answer to a question that Holdpoint has lost: the record is gone
// after a restart, or nobody knows what became of the answer. The ways on are here.

// maxNamed bounds the threads whose clients named questions that the record does not know, and
// maxNamedIDs the questions of one.
const (
	maxNamed    = 4096
	maxNamedIDs = 8
)

// noteNamed remembers the interrupts that a request answers and that the record does not know. If
// the backend then refuses a run because it waits, they may be what it waits for.
func (t *thread) noteNamed() {
	if t.record.Pause != nil || t.stranger || len(t.answers.list) == 0 {
		return
	}
	view := t.view()
	ids := history.UnknownQuestions(&view, t.answers.list)
	if len(ids) == 0 {
		return
	}
	before, isNew := t.namedBefore(), false
	for _, id := range ids {
		isNew = isNew || !slices.Contains(before, id)
	}
	for _, id := range before {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	ids = ids[:min(len(ids), maxNamedIDs)]
	t.memory.named.Add(t.ledger.Key, ids)
	if isNew {
		t.noteNamedInRecord(ids)
	}
	if calls := history.CallsOfLostQuestions(&view, ids); len(calls) > 0 {
		t.memory.named.Add(t.lostKey(), ids)
		for _, call := range calls {
			t.memory.named.Add(t.lostKey(call), ids)
		}
	}
}

// namedNote is the id of the note of a record that has the questions which clients of its thread
// named.
const namedNote = "named"

// noteNamedInRecord notes the questions for other replicas, and for this one when it is started
// anew.
func (t *thread) noteNamedInRecord(ids []string) {
	text := agui.MustMarshal(ids)
	if t.opts.StoreInMemory || len(text) > store.MaxNoteBytes {
		return
	}
	if err := t.ledger.Remember(store.Note{ID: namedNote, Text: text}, store.MaxNotes); err != nil {
		t.log.Warn(logNamedUnsaved, "err", err)
	}
}

// namedBefore returns the questions that clients of the thread named and that the record does not
// know, as this process or the record has noted them.
func (t *thread) namedBefore() []string {
	named, _ := t.memory.named.Get(t.ledger.Key)
	for _, note := range t.record.Notes {
		var noted []string
		if note.ID != namedNote || json.Unmarshal(note.Text, &noted) != nil {
			continue
		}
		for _, id := range noted {
			if !slices.Contains(named, id) {
				named = append(slices.Clip(named), id) // the process's own list stays as it is
			}
		}
	}
	return named[:min(len(named), maxNamedIDs)]
}

// lostKey returns the key of the note that somebody has named a lost question about a call, or
// about any call. The note holds for the path and the principal. The thread does not count, because
// some clients of .NET take another one between an answer and the next message. Without a principal
// the note holds for conversations that begin with the same message of a user, so that nobody can
// name a call of other chats.
func (t *thread) lostKey(call ...string) store.Key {
	of := t.ledger.Owner
	if of == "" {
		of = history.Beginning(t.request.input.Messages)
	}
	return t.indexKey("lost", append([]string{of}, call...)...)
}

// hasLostQuestion reports whether a client has named a question of this chat that the record does
// not know, and under whose id only a backend asks that keeps nothing between two runs. The
// question is of this chat if it was named on its thread, or by a text of its messages, or if it is
// about a call of its messages.
func (t *thread) hasLostQuestion() bool {
	byText, before := t.namedByText(), t.namedBefore()
	if len(byText) == 0 && len(before) == 0 && t.memory.named.Len() == 0 {
		return false
	}
	view := t.view()
	if len(history.CallsOfLostQuestions(&view, byText)) > 0 || len(history.CallsOfLostQuestions(&view, before)) > 0 {
		return true
	}
	lost := func(key store.Key) bool {
		named, _ := t.memory.named.Get(key)
		return len(history.CallsOfLostQuestions(&view, named)) > 0
	}
	return lost(t.lostKey()) && history.HoldsCall(&view, func(id string) bool { return lost(t.lostKey(id)) })
}

// freesOf returns a function that reports whether the dialect lets a cancel of an ended pause
// through.
func freesOf(d translate.Dialect) func(*agui.Pause) bool {
	freer, ok := d.(translate.Freer)
	return func(p *agui.Pause) bool { return ok && freer.Frees(p) }
}

// locksOf returns a function that reports whether a message would lock the thread of an ended pause
// for good.
func locksOf(d translate.Dialect) func(*agui.Pause) bool {
	locker, ok := d.(translate.Locker)
	return func(p *agui.Pause) bool { return ok && locker.Locks(p) }
}

// namedByClients returns a pause of the questions that clients of the thread named and that the
// record does not know. It is nil if there are none, or if nobody knows how their backend is told
// no.
func (t *thread) namedByClients() *agui.Pause {
	if t.record.Pause != nil || t.stranger {
		return nil
	}
	named := t.namedBefore()
	if len(named) == 0 {
		return nil
	}
	view := t.view()
	return history.Revive(&view, named)
}

const (
	// maxAsked bounds the pauses that this process knows it has kept.
	maxAsked = 16 << 10
	// manyLost is how many lost questions of other processes are no accident.
	manyLost = 3
)

// noteLost notes that the backend did not know a question any more. It logs what is likely wrong if
// that keeps happening to questions that another process has kept: replicas have an agent each, or
// the agent was restarted, and no agent knows what another one has asked.
func (m *processMemory) noteLost(pauseID string, log *slog.Logger) {
	if m.asked.Contains(pauseID) {
		return
	}
	if m.lostOfOthers.Add(1) == manyLost {
		log.Warn(logKeepsLosing,
			"lost", manyLost, "doc", "docs/kubernetes.md")
	}
}
