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

// A run may end with calls that the client is to answer. This process remembers each such call of a
// thread. If the record outlives the process, it notes the calls of the client's own tools too, so
// that another replica, or this one after a restart, recognizes their results.

// maxPassed bounds the calls that the process remembers, of all threads together. maxOpenCalls
// bounds the calls of one run.
const (
	maxPassed    = 16 << 10
	maxOpenCalls = history.MaxOpenCalls
)

// A passedCall identifies a call of a thread, by a hash.
type passedCall = history.ThreadCall

// A callKey identifies a call with its arguments among the threads that may contain it, by a hash.
type callKey = history.CallKey

// noteCall adds a call of the stream to the open calls, or removes it at its result. A call is the
// client's own if the request declares its tool.
func (c *clientSide) noteCall(ev agui.Event) {
	c.openCalls.Note(ev, &c.judge.in)
	if ev.Type != agui.MessagesSnapshot || len(c.judge.in.Tools) == 0 {
		return
	}
	if reader, ok := c.judge.opts.Dialect.(translate.DecisionReader); ok && reader.ReadsDecisions(c.judge.spoken()) {
		c.openCalls.NoteSnapshot(ev, c.judge.request.input)
	}
}

// keepOpenCalls remembers the calls that a run left to the client. plainly reports that the run
// ended without an error and asked nothing. It is called after the claim has ended.
func (c *clientSide) keepOpenCalls(plainly bool) {
	if len(c.openCalls) == 0 {
		return
	}
	v := c.judge.view()
	left := c.openCalls.Left(&v, c.transcript.AskedCall, plainly)
	c.openCalls = nil
	for _, key := range left.Open {
		c.judge.memory.leftOpen.Add(key, struct{}{})
	}
	for _, call := range left.Passed {
		c.judge.memory.passed.Add(call, struct{}{})
	}
	if left.OpenNote != nil {
		if err := c.judge.ledger.RememberAt(v.Thread, *left.OpenNote, store.MaxNotes); err != nil {
			c.judge.log.Error(logLeftOpenUnsaved, "calls", len(left.Open), "err", err)
		}
	}
	for _, one := range left.Reused {
		if err := c.judge.ledger.Remember(one.Note, store.MaxNotes); err != nil {
			c.judge.log.Error(logReusedCallUnsaved, "call", agui.Cut(one.Call), "err", err)
		}
	}
	if left.OwnNote != nil {
		if err := c.judge.ledger.RememberAt(v.Thread, *left.OwnNote, store.MaxNotes); err != nil {
			c.judge.log.Error(logOwnCallsUnsaved, "calls", left.Own, "err", err)
		}
	}
}

// noteOwnResults notes in the record the results that Holdpoint is about to send in its own words,
// so that a later version with other words still recognizes them.
func (c *clientSide) noteOwnResults(told []agui.Event) {
	if len(told) == 0 || c.judge.opts.StoreInMemory {
		return
	}
	n, ok := history.OwnNote(c.judge.record.Pause.ID, told)
	if !ok {
		return
	}
	if err := c.judge.ledger.RememberAt(c.judge.callsKey(), n, store.MaxNotes); err != nil {
		c.judge.log.Warn(logOwnResultsUnsaved, "err", err)
	}
}

// callsKey returns the key of the thread that the calls of the run's stream belong to: the thread
// that the client names, even if the run continues a question of another thread.
func (t *thread) callsKey() store.Key {
	if t.ownThread != nil {
		return t.ownThread.key
	}
	return t.ledger.Key
}

// Passed implements history.Memory.
func (t *thread) Passed(call string, own bool) bool {
	return t.memory.passed.Contains(history.NewThreadCall(t.callsKey(), call, own))
}

// LeftOpen implements history.Memory.
func (t *thread) LeftOpen(key callKey) bool { return t.memory.leftOpen.Contains(key) }

// forgetCalls deletes the notes about the calls of a pause's questions, which say that such a call
// was left to the client or left open. It is needed because some models repeat ids, and the record
// has the calls of a question for a limited time only.
func (c *clientSide) forgetCalls(p *agui.Pause) {
	v := c.judge.view()
	if len(c.openCalls) > 0 || len(c.judge.record.Notes) > 0 || c.judge.memory.passed.Len() > 0 {
		for n := range p.Interrupts {
			for _, call := range history.CallsOf(&p.Interrupts[n]) {
				c.openCalls.Forget(call)
				c.judge.memory.passed.Remove(history.NewThreadCall(v.Thread, call, true))
				c.judge.memory.passed.Remove(history.NewThreadCall(v.Thread, call, false))
				if len(c.judge.record.Notes) > 0 {
					c.forgetNoted(history.LeftPrefix, history.LeftHash(v.Thread, call))
				}
			}
		}
	}
	if _, ok := c.judge.opts.Dialect.(translate.Continuer); !ok {
		return
	}
	for n := range p.Interrupts {
		for _, key := range history.CallKeys(v.Scope, p.Interrupts[n].Calls) {
			c.judge.memory.leftOpen.Remove(key)
			c.forgetNoted(history.OpenPrefix, key.Text())
		}
	}
}

// forgetNoted removes the hash of a call from the record's notes whose ids begin with prefix.
func (c *clientSide) forgetNoted(prefix, hash string) {
	for n, note := range c.judge.record.Notes {
		if !strings.HasPrefix(note.ID, prefix) || !bytes.Contains(note.Text, []byte(hash)) {
			continue
		}
		note.Text = bytes.ReplaceAll(note.Text, []byte(hash), nil)
		if err := c.judge.ledger.Remember(note, store.MaxNotes); err != nil {
			c.judge.log.Error(logAskedCallNoted, "err", err)
			continue
		}
		c.judge.record.Notes = slices.Clone(c.judge.record.Notes) // the slice may belong to the store
		c.judge.record.Notes[n] = note                            // more calls of this note may be removed
	}
}
