package proxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
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

// An openCall is a call of the stream without a result so far.
type openCall struct {
	id  string
	own bool // the request declares its tool
}

// noteCall notes a call of the stream, and its result. A call of a tool that the request declares
// is the client's own.
func (r *run) noteCall(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		if name := ev.Get("toolCallName").Str; name != "" {
			r.addOpenCall(openCall{ev.Get("toolCallId").Str, r.in.Declares(name)})
		}
	case agui.CallResult:
		if len(r.openCalls) > 0 {
			id := ev.Get("toolCallId").Str
			r.openCalls = slices.DeleteFunc(r.openCalls, func(c openCall) bool { return c.id == id })
		}
	case agui.MessagesSnapshot:
		if len(r.in.Tools) > 0 {
			r.noteSnapshot(ev)
		}
	}
}

func (r *run) addOpenCall(c openCall) {
	if len(r.openCalls) == maxOpenCalls {
		r.openCalls = slices.Delete(r.openCalls, 0, 1)
	}
	r.openCalls = append(r.openCalls, c)
}

// noteSnapshot notes the calls of the client's tools in the message that ends a snapshot: some
// backends tell a call there only. A call that the request has brought is not noted, because the
// backend may only repeat what the client made up.
func (r *run) noteSnapshot(ev agui.Event) {
	if reader, ok := r.h.opts.Dialect.(translate.DecisionReader); !ok || !reader.ReadsDecisions(r.spoken()) {
		return
	}
	var last gjson.Result
	agui.View(ev.JSON).Get("messages").ForEach(func(_, m gjson.Result) bool { last = m; return true })
	if last.Get("role").Str != "assistant" {
		return
	}
	var claims *kit.Claims // nil until it is needed
	for _, c := range last.Get("toolCalls").Array() {
		id, name := c.Get("id").Str, c.Get("function.name").Str
		if !r.in.Declares(name) || slices.ContainsFunc(r.openCalls, func(o openCall) bool { return o.id == id }) {
			continue
		}
		if claims == nil {
			claims = kit.ClaimsOf(*r.request.input)
		}
		if _, shown := claims.Own(id); !shown {
			r.addOpenCall(openCall{strings.Clone(id), true})
		}
	}
}

// keepOpenCalls remembers the calls that a run left to the client. plainly reports that the run
// ended well and asked nothing: then a call that the request does not declare is the client's to
// answer, too. It is called once the claim has ended.
func (r *run) keepOpenCalls(plainly bool) {
	r.noteReused()
	var own []openCall
	for _, c := range r.openCalls {
		if c.own || plainly {
			r.h.passed.Add(history.NewThreadCall(r.callsKey(), c.id, c.own), struct{}{})
		}
		if c.own {
			own = append(own, c)
		}
	}
	r.openCalls = nil
	r.noteLeft(own)
}

// noteLeft notes in the record which calls of the client's own tools a run has left to it, where a
// backend could take the answer for a decision.
func (r *run) noteLeft(own []openCall) {
	reader, ok := r.h.opts.Dialect.(translate.DecisionReader)
	if len(own) == 0 || !ok || r.h.opts.StoreInMemory || !reader.ReadsDecisions(r.spoken()) {
		return
	}
	hashes := make([]string, len(own))
	for n, c := range own {
		hashes[n] = history.LeftHash(r.callsKey(), c.id)
	}
	if err := r.noteHashes(history.LeftPrefix, hashes); err != nil {
		r.log.Error("calls of the client's own tools are not noted by the store: after a restart, and at another replica, its answers to them may be refused", "calls", len(own), "err", err)
	}
}

// noteHashes notes calls in the record, by their hashes. Equal ones are one note.
func (r *run) noteHashes(prefix string, hashes []string) error {
	text := agui.MustMarshal(hashes)
	sum := sha256.Sum256(text)
	return r.ledger.RememberAt(r.callsKey(), store.Note{ID: prefix + hex.EncodeToString(sum[:16]), Text: text}, store.MaxNotes)
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

// forgetLeft takes back that the calls of a pause's questions were left to the client. Ids of some
// models repeat, and the record knows the calls of a question for a time only.
func (r *run) forgetLeft(p *agui.Pause) {
	if len(r.openCalls) == 0 && len(r.record.Notes) == 0 && r.h.passed.Len() == 0 {
		return
	}
	for n := range p.Interrupts {
		for _, call := range history.CallsOf(&p.Interrupts[n]) {
			r.openCalls = slices.DeleteFunc(r.openCalls, func(c openCall) bool { return c.id == call })
			r.h.passed.Remove(history.NewThreadCall(r.callsKey(), call, true))
			r.h.passed.Remove(history.NewThreadCall(r.callsKey(), call, false))
			if len(r.record.Notes) > 0 {
				r.forgetNoted(history.LeftPrefix, history.LeftHash(r.callsKey(), call))
			}
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

// noteReused notes in the record which of the calls that the stream leaves to the client have the
// id of one that asked. It is called once the claim has ended. If the store cannot be asked, such a
// call is held.
func (r *run) noteReused() {
	for _, c := range r.openCalls {
		p, _ := history.AskedBy(&r.record, c.id)
		if !c.own || p == nil {
			continue
		}
		if err := r.ledger.Remember(store.Note{ID: history.ReusedNote(p.ID, c.id), Text: []byte(`{}`)}, store.MaxNotes); err != nil {
			r.log.Error("a call that began again is not noted by the store: the client's answer to it may be refused", "call", agui.Cut(c.id), "err", err)
		}
	}
}
