package proxy

import (
	"bytes"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
)

// A stream may leave a call to the client to answer. This process notes each such call of a thread.
// The record notes those of the client's own tools too, if it outlives the process: then another
// replica knows them, and a restart does not lose them.

// maxPassed bounds the calls that are remembered, of all threads. maxOpenCalls bounds those of one
// run.
const (
	maxPassed    = 16 << 10
	maxOpenCalls = history.MaxOpenCalls
)

// A passedCall is a hash of a thread's key and the id of a call.
type passedCall = history.ThreadCall

// A callKey is a hash of a call and of whose threads may hold it.
type callKey = history.CallKey

// noteCall notes a call of the stream, and its result. A call of a tool that the request declares
// is the client's own.
func (r *run) noteCall(ev agui.Event) {
	r.openCalls.Note(ev, &r.in)
	if ev.Type != agui.MessagesSnapshot || len(r.in.Tools) == 0 {
		return
	}
	if reader, ok := r.h.opts.Dialect.(translate.DecisionReader); ok && reader.ReadsDecisions(r.spoken()) {
		r.openCalls.NoteSnapshot(ev, r.request.input)
	}
}

// keepOpenCalls remembers the calls that a run left to the client. plainly reports that the run
// ended well and asked nothing. It is called once the claim has ended.
func (r *run) keepOpenCalls(plainly bool) {
	if len(r.openCalls) == 0 {
		return
	}
	v := r.view()
	left := r.openCalls.Left(&v, r.transcript.AskedCall, plainly)
	r.openCalls = nil
	for _, key := range left.Open {
		r.h.leftOpen.Add(key, struct{}{})
	}
	for _, call := range left.Passed {
		r.h.passed.Add(call, struct{}{})
	}
	if left.OpenNote != nil {
		if err := r.ledger.RememberAt(v.Thread, *left.OpenNote, store.MaxNotes); err != nil {
			r.log.Error("calls that the run left open are not noted by the store: after a restart they are not handed on", "calls", len(left.Open), "err", err)
		}
	}
	for _, c := range left.Reused {
		if err := r.ledger.Remember(c.Note, store.MaxNotes); err != nil {
			r.log.Error("a call that began again is not noted by the store: the client's answer to it may be refused", "call", agui.Cut(c.Call), "err", err)
		}
	}
	if left.OwnNote != nil {
		if err := r.ledger.RememberAt(v.Thread, *left.OwnNote, store.MaxNotes); err != nil {
			r.log.Error("calls of the client's own tools are not noted by the store: after a restart, and at another replica, its answers to them may be refused", "calls", left.Own, "err", err)
		}
	}
}

// callsKey names the record whose thread the calls of the run's stream are left to: the thread that
// the client names, whatever thread's question the run goes on with.
func (r *run) callsKey() store.Key {
	if r.ownThread != nil {
		return r.ownThread.key
	}
	return r.ledger.Key
}

// Passed implements history.Memory.
func (r *run) Passed(call string, own bool) bool {
	return r.h.passed.Contains(history.NewThreadCall(r.callsKey(), call, own))
}

// LeftOpen implements history.Memory.
func (r *run) LeftOpen(key callKey) bool { return r.h.leftOpen.Contains(key) }

// forgetCalls takes back that the calls of a pause's questions were left to the client, or left
// open. Ids of some models repeat, and the record knows the calls of a question for a time only.
func (r *run) forgetCalls(p *agui.Pause) {
	v := r.view()
	if len(r.openCalls) > 0 || len(r.record.Notes) > 0 || r.h.passed.Len() > 0 {
		for n := range p.Interrupts {
			for _, call := range history.CallsOf(&p.Interrupts[n]) {
				r.openCalls.Forget(call)
				r.h.passed.Remove(history.NewThreadCall(v.Thread, call, true))
				r.h.passed.Remove(history.NewThreadCall(v.Thread, call, false))
				if len(r.record.Notes) > 0 {
					r.forgetNoted(history.LeftPrefix, history.LeftHash(v.Thread, call))
				}
			}
		}
	}
	if _, ok := r.h.opts.Dialect.(translate.Continuer); !ok {
		return
	}
	for n := range p.Interrupts {
		for _, key := range history.CallKeys(v.Scope, p.Interrupts[n].Calls) {
			r.h.leftOpen.Remove(key)
			r.forgetNoted(history.OpenPrefix, key.Text())
		}
	}
}

// forgetNoted takes a call out of the record's notes whose ids begin with prefix.
func (r *run) forgetNoted(prefix, hash string) {
	for n, note := range r.record.Notes {
		if !strings.HasPrefix(note.ID, prefix) || !bytes.Contains(note.Text, []byte(hash)) {
			continue
		}
		note.Text = bytes.ReplaceAll(note.Text, []byte(hash), nil)
		if err := r.ledger.Remember(note, store.MaxNotes); err != nil {
			r.log.Error("a call that asks now stays noted by the store as one that a run left to the client", "err", err)
			continue
		}
		r.record.Notes = slices.Clone(r.record.Notes) // it may be the store's own
		r.record.Notes[n] = note                      // another call of the note may ask, too
	}
}
