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
// ended well and asked nothing. It is called once the claim has ended.
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

// noteOwnResults notes the results that Holdpoint is about to tell in its own words, so that they
// are known again whatever the words of a later version are.
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

// callsKey names the record whose thread the calls of the run's stream are left to: the thread that
// the client names, whatever thread's question the run goes on with.
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

// forgetCalls takes back that the calls of a pause's questions were left to the client, or left
// open. Ids of some models repeat, and the record knows the calls of a question for a time only.
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

// forgetNoted takes a call out of the record's notes whose ids begin with prefix.
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
		c.judge.record.Notes = slices.Clone(c.judge.record.Notes) // it may be the store's own
		c.judge.record.Notes[n] = note                            // another call of the note may ask, too
	}
}
