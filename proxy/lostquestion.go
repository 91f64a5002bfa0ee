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

// A backend may still wait for the answer to a question that Holdpoint has lost: the record is gone
// after a restart, or the outcome of the answer is not known. This file helps the thread to
// continue then.

// maxNamed bounds the threads for which the process remembers questions that a client named and the
// record does not have. maxNamedIDs bounds those questions for each thread.
const (
	maxNamed    = 4096
	maxNamedIDs = 8
)

// noteNamed remembers the interrupts that the request answers and the record does not have. If the
// backend later refuses a run because it waits for an answer, it may wait for one of these.
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
	t.memory.namedQuestions.Add(t.ledger.Key, ids)
	if isNew {
		t.noteNamedInRecord(ids)
	}
	if calls := history.CallsOfLostQuestions(&view, ids); len(calls) > 0 {
		t.memory.namedQuestions.Add(t.lostKey(), ids)
		for _, call := range calls {
			t.memory.namedQuestions.Add(t.lostKey(call), ids)
		}
	}
}

// namedNote is the id of the note in a record that has the questions which clients of its thread
// named.
const namedNote = "named"

// noteNamedInRecord saves the questions in the record, for other replicas and for this process
// after a restart.
func (t *thread) noteNamedInRecord(ids []string) {
	text := agui.MustMarshal(ids)
	if t.opts.StoreInMemory || len(text) > store.MaxNoteBytes {
		return
	}
	if err := t.ledger.Remember(store.Note{ID: namedNote, Text: text}, store.MaxNotes); err != nil {
		t.log.Warn(logNamedUnsaved, "err", err)
	}
}

// namedBefore returns the questions that clients of the thread named and the record does not have,
// as remembered by this process or by the record.
func (t *thread) namedBefore() []string {
	named, _ := t.memory.namedQuestions.Get(t.ledger.Key)
	for _, note := range t.record.Notes {
		var noted []string
		if note.ID != namedNote || json.Unmarshal(note.Text, &noted) != nil {
			continue
		}
		for _, id := range noted {
			if !slices.Contains(named, id) {
				named = append(slices.Clip(named), id) // a copy, because the list belongs to the process's memory
			}
		}
	}
	return named[:min(len(named), maxNamedIDs)]
}

// lostKey returns the key under which the process remembers that a client named a lost question
// about a call, or about any call if none is given. The key depends on the path and the principal,
// but not on the thread, because some clients of .NET use another thread between an answer and the
// next message. Without a principal it depends on the first user message instead, so that nobody
// can name a call of other chats.
func (t *thread) lostKey(call ...string) store.Key {
	of := t.ledger.Owner
	if of == "" {
		of = history.Beginning(t.request.input.Messages)
	}
	return t.indexKey("lost", append([]string{of}, call...)...)
}

// hasLostQuestion reports whether a client has named a question of this chat that the record does
// not have, and whose id shows that its backend keeps nothing between two runs. The question
// belongs to this chat if it was named on its thread or by a text of its messages, or if it is
// about a call of its messages.
func (t *thread) hasLostQuestion() bool {
	byText, before := t.namedByText(), t.namedBefore()
	if len(byText) == 0 && len(before) == 0 && t.memory.namedQuestions.Len() == 0 {
		return false
	}
	view := t.view()
	if len(history.CallsOfLostQuestions(&view, byText)) > 0 || len(history.CallsOfLostQuestions(&view, before)) > 0 {
		return true
	}
	lost := func(key store.Key) bool {
		named, _ := t.memory.namedQuestions.Get(key)
		return len(history.CallsOfLostQuestions(&view, named)) > 0
	}
	return lost(t.lostKey()) && history.HoldsCall(&view, func(id string) bool { return lost(t.lostKey(id)) })
}

// freesOf returns a function that reports whether the dialect sends a cancel for an ended pause to
// the backend.
func freesOf(d translate.Dialect) func(*agui.Pause) bool {
	freer, ok := d.(translate.Freer)
	return func(p *agui.Pause) bool { return ok && freer.Frees(p) }
}

// locksOf returns a function that reports whether a new message would lock the thread after the
// given ended pause for good.
func locksOf(d translate.Dialect) func(*agui.Pause) bool {
	locker, ok := d.(translate.Locker)
	return func(p *agui.Pause) bool { return ok && locker.Locks(p) }
}

// namedByClients returns a pause made of the questions that clients of the thread named and the
// record does not have. It is nil if there are none, or if it is not known how to deny them to
// their backend.
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
	// maxAsked bounds the pauses that this process remembers to have saved.
	maxAsked = 16 << 10
	// manyLost is the number of questions saved by other processes and lost by the agent at which
	// Holdpoint warns that the agents share no memory.
	manyLost = 3
)

// noteLost records that the backend did not know a question any more. If that happens repeatedly
// with questions that another process has saved, it logs the likely cause: each replica has an
// agent of its own, or the agent was restarted, and the agents do not share their threads.
func (m *processMemory) noteLost(pauseID string, log *slog.Logger) {
	if m.savedPauses.Contains(pauseID) {
		return
	}
	if m.lostOfOthers.Add(1) == manyLost {
		log.Warn(logKeepsLosing,
			"lost", manyLost, "doc", "docs/kubernetes.md")
	}
}
