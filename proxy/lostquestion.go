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

// A backend may still wait for the answer to a question that Holdpoint has lost. Either the record
// was lost in a restart, or it is not known what became of the answer. The functions in this file
// help the thread to continue in this case.

// maxNamed is the largest number of threads for which the process remembers lost questions: a
// client named them, and the record does not have them. maxNamedIDs is the largest number of such
// questions of one thread.
const (
	maxNamed    = 4096
	maxNamedIDs = 8
)

// noteNamed remembers the interrupts that the request answers if the record does not have them. If
// the backend later refuses a run because it waits for an answer, it may be waiting for the answer
// to one of these interrupts.
func (t *thread) noteNamed() {
	if t.record.Pause != nil || t.otherPrincipal || len(t.answers.list) == 0 {
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

// namedNote is the id of a note in the record of a thread. The note has the ids of lost questions
// that clients of the thread named.
const namedNote = "named"

// noteNamedInRecord saves the ids of lost questions in the record. So other replicas know them, and
// so does this process after a restart.
func (t *thread) noteNamedInRecord(ids []string) {
	text := agui.MustMarshal(ids)
	if t.opts.StoreInMemory || len(text) > store.MaxNoteBytes {
		return
	}
	if err := t.ledger.Remember(store.Note{ID: namedNote, Text: text}, store.MaxNotes); err != nil {
		t.log.Warn(logNamedUnsaved, "err", err)
	}
}

// namedBefore returns the ids of lost questions that clients of the thread named earlier. Some are
// remembered by this process, and some are noted in the record.
func (t *thread) namedBefore() []string {
	named, _ := t.memory.namedQuestions.Get(t.ledger.Key)
	for _, note := range t.record.Notes {
		var noted []string
		if note.ID != namedNote || json.Unmarshal(note.Text, &noted) != nil {
			continue
		}
		for _, id := range noted {
			if !slices.Contains(named, id) {
				// a copy, because the list belongs to namedQuestions
				named = append(slices.Clip(named), id)
			}
		}
	}
	return named[:min(len(named), maxNamedIDs)]
}

// lostKey returns a key of namedQuestions for lost questions about the given call, or about any
// call if call is empty. The key depends on the path and the principal. It does not depend on the
// thread, because some clients of .NET send their next message on another thread than their answer.
// Without a principal it depends on the first user message instead. So a client cannot name calls
// of another person's chat.
func (t *thread) lostKey(call ...string) store.Key {
	of := t.ledger.Owner
	if of == "" {
		of = history.Beginning(t.request.input.Messages)
	}
	return t.indexKey("lost", append([]string{of}, call...)...)
}

// hasLostQuestion reports whether a client has named a lost question of this chat, and the
// question's id shows that its backend keeps no state between two runs. The question belongs to
// this chat in three cases: it was named on the chat's thread, a message of the chat shows it as a
// text, or it is about a call in the messages of the chat.
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

// freesOf returns a function that reports whether the dialect can cancel the question of an ended
// pause at the backend, which may still wait for its answer.
func freesOf(d translate.Dialect) func(*agui.Pause) bool {
	freer, ok := d.(translate.Freer)
	return func(p *agui.Pause) bool { return ok && freer.Frees(p) }
}

// locksOf returns a function that reports whether a new message after the given ended pause would
// lock the thread at the backend for good.
func locksOf(d translate.Dialect) func(*agui.Pause) bool {
	locker, ok := d.(translate.Locker)
	return func(p *agui.Pause) bool { return ok && locker.Locks(p) }
}

// namedByClients returns a pause that consists of the lost questions which clients of the thread
// named. It returns nil if there are no such questions, or if it is not known how to deny them to
// their backend.
func (t *thread) namedByClients() *agui.Pause {
	if t.record.Pause != nil || t.otherPrincipal {
		return nil
	}
	named := t.namedBefore()
	if len(named) == 0 {
		return nil
	}
	view := t.view()
	return history.RevivedPause(&view, named)
}

const (
	// maxAsked is the largest number of saved pauses whose ids this process remembers.
	maxAsked = 16 << 10
	// manyLost is the number of lost questions at which Holdpoint logs a warning that the agents
	// share no memory. Only questions that another process saved and that the agent does not know
	// are counted.
	manyLost = 3
)

// noteLost records that the backend no longer knows a question. If this happens repeatedly with
// questions that another process has saved, it logs the likely cause: each replica has its own
// agent, or the agent was restarted, and the agents do not share their threads.
func (m *processMemory) noteLost(pauseID string, log *slog.Logger) {
	if m.savedPauses.Contains(pauseID) {
		return
	}
	if m.lostOfOthers.Add(1) == manyLost {
		log.Warn(logKeepsLosing,
			"lost", manyLost, "doc", "docs/kubernetes.md")
	}
}
