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

// A run may end with calls that the client answers itself. This process remembers each such call of
// a thread. If the store outlives the process, the record also notes the calls of tools that the
// request declares. So another replica recognizes the results of these calls, and so does this
// process after a restart.

// maxPassed is the largest number of calls that the process remembers, for all threads together.
// maxOpenCalls is the largest number of calls of one run.
const (
	maxPassed    = 16 << 10
	maxOpenCalls = history.MaxOpenCalls
)

// A passedCall is a hash that identifies a call of a thread.
type passedCall = history.ThreadCall

// A callKey is a hash that identifies a call and its arguments among the threads that may contain
// it.
type callKey = history.CallKey

// noteCall reads an event of the stream. It adds a call that begins to the open calls, and removes
// a call that gets its result. If the request declares the tool of a call, the call is one that the
// client answers itself.
func (c *clientSide) noteCall(ev agui.Event) {
	c.openCalls.Note(ev, &c.judge.in)
	if ev.Type != agui.MessagesSnapshot || len(c.judge.in.Tools) == 0 {
		return
	}
	if reader, ok := c.judge.opts.Dialect.(translate.DecisionReader); ok && reader.ReadsDecisions(c.judge.dialectOfThread()) {
		c.openCalls.NoteSnapshot(ev, c.judge.request.input)
	}
}

// keepOpenCalls remembers the calls that a run left to the client. isSuccess means that the run
// ended without an error and without a question. keepOpenCalls is called after the claim has ended.
func (c *clientSide) keepOpenCalls(isSuccess bool) {
	if len(c.openCalls) == 0 {
		return
	}
	v := c.judge.view()
	left := c.openCalls.OpenNotes(&v, c.transcript.AskedCall, isSuccess)
	c.openCalls = nil
	for _, key := range left.OpenCalls {
		c.judge.memory.leftOpen.Add(key, struct{}{})
	}
	for _, call := range left.LeftCalls {
		c.judge.memory.leftCalls.Add(call, struct{}{})
	}
	if left.OpenNote != nil {
		if err := c.judge.ledger.RememberAt(v.Thread, *left.OpenNote, store.MaxNotes); err != nil {
			c.judge.log.Error(logLeftOpenUnsaved, "calls", len(left.OpenCalls), "err", err)
		}
	}
	for _, one := range left.ReusedCalls {
		if err := c.judge.ledger.Remember(one.Note, store.MaxNotes); err != nil {
			c.judge.log.Error(logReusedCallUnsaved, "call", agui.Shorten(one.Call), "err", err)
		}
	}
	if left.OwnNote != nil {
		if err := c.judge.ledger.RememberAt(v.Thread, *left.OwnNote, store.MaxNotes); err != nil {
			c.judge.log.Error(logOwnCallsUnsaved, "calls", left.Own, "err", err)
		}
	}
}

// noteOwnResults notes in the record which results of calls Holdpoint has made itself and is about
// to send, so that a later version of Holdpoint recognizes them even if its texts differ.
func (c *clientSide) noteOwnResults(emitted []agui.Event) {
	if len(emitted) == 0 || c.judge.opts.StoreInMemory {
		return
	}
	n, ok := history.OwnNote(c.judge.record.Pause.ID, emitted)
	if !ok {
		return
	}
	if err := c.judge.ledger.RememberAt(c.judge.callsKey(), n, store.MaxNotes); err != nil {
		c.judge.log.Warn(logOwnResultsUnsaved, "err", err)
	}
}

// callsKey returns the key of the thread to which the calls in the run's stream belong. That is the
// thread that the client names, even if the run answers a question of another thread.
func (t *thread) callsKey() store.Key {
	if t.ownThread != nil {
		return t.ownThread.key
	}
	return t.ledger.Key
}

// IsLeftToClient implements history.Memory.
func (t *thread) IsLeftToClient(call string, own bool) bool {
	return t.memory.leftCalls.Contains(history.NewThreadCall(t.callsKey(), call, own))
}

// LeftOpen implements history.Memory.
func (t *thread) LeftOpen(key callKey) bool { return t.memory.leftOpen.Contains(key) }

// forgetCalls deletes the notes about those calls that the questions of a pause are about. Such a
// note says that the call was left to the client or left open. The notes must be deleted, because
// some models repeat ids, and the record keeps the calls of a question only for a limited time.
func (c *clientSide) forgetCalls(p *agui.Pause) {
	v := c.judge.view()
	if len(c.openCalls) > 0 || len(c.judge.record.Notes) > 0 || c.judge.memory.leftCalls.Len() > 0 {
		for n := range p.Interrupts {
			for _, call := range history.CallsOf(&p.Interrupts[n]) {
				c.openCalls.Forget(call)
				c.judge.memory.leftCalls.Remove(history.NewThreadCall(v.Thread, call, true))
				c.judge.memory.leftCalls.Remove(history.NewThreadCall(v.Thread, call, false))
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

// forgetNoted removes the hash of a call from those notes of the record whose ids begin with
// prefix.
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
		c.judge.record.Notes[n] = note                            // the loop may remove more calls from this note
	}
}
