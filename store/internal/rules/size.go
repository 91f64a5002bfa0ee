package rules

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// These sizes are added to the bytes that come from backends and clients: restBytes for each record
// or result, and itemBytes for each element of a list.
const (
	restBytes = 256
	itemBytes = 32
)

// Bytes returns the estimated size of a record with its snapshots, in bytes.
func Bytes(rec *store.Record) int {
	n := restBytes + BytesOfOutbox(rec.Outbox)
	if rec.Pause != nil {
		n += BytesOfWaiting(rec.Pause, rec.Doubt) + rec.Pause.SnapshotBytes
	}
	for _, r := range rec.Results {
		n += BytesOfResult(r)
	}
	for _, one := range rec.Notes {
		n += 2*itemBytes + len(one.ID) + len(one.Text)
	}
	return n
}

// BytesOfOutbox returns the estimated size of the notices to send, in bytes. It is 0 if o is nil.
func BytesOfOutbox(o *store.Outbox) (n int) {
	if o == nil {
		return 0
	}
	for _, notice := range o.Notices {
		n += 2*itemBytes + len(notice.ID) + len(notice.Body)
	}
	return n
}

// BytesOfResult returns the estimated size of a result with its snapshots, in bytes.
func BytesOfResult(r *store.Result) int {
	n := restBytes + len(r.Finish) + r.SnapshotBytes + bytesOfSeen(r.SeenMessages) + len(r.By)
	for _, id := range r.IDs {
		n += len(id) + itemBytes
	}
	for _, g := range r.GivenAnswers {
		n += 2*itemBytes + len(g.ID) + len(g.Payload) + len(g.Digest)
	}
	if r.Pause != nil {
		n += bytesOfPause(r.Pause)
	}
	return n
}

// BytesOfWaiting returns the estimated size of a pause and its doubt in a record, in bytes. The
// snapshots of the pause are not counted.
func BytesOfWaiting(p *agui.Pause, inDoubt *store.Result) int {
	n := 4*restBytes + bytesOfPause(p) // includes the record itself, and its entries in the lists
	if inDoubt != nil {
		n += BytesOfResult(inDoubt)
	}
	return n
}

func bytesOfPause(p *agui.Pause) int {
	n := 2*restBytes + len(p.Private) + len(p.NativeFinish) + len(p.Finish) + bytesOfSeen(p.SeenMessages)
	for _, i := range p.Interrupts {
		n += restBytes/2 + len(i.ID) + len(i.Native) + len(i.Object) + len(i.Private) + len(i.Question)
		for _, c := range i.Calls {
			n += 2*itemBytes + len(c.ID) + len(c.Name) + len(c.Args)
		}
	}
	if o := p.Origin; o != nil {
		n += restBytes/2 + len(o.Path) + len(o.Thread) + len(o.Run) + len(o.Requester) + len(o.Agent) + len(o.Tenant) + len(o.RequesterHash) + len(o.Trace)
	}
	if g := p.Continuation; g != nil {
		n += restBytes/2 + len(g.Input) + len(g.Query)
	}
	for _, d := range p.Decisions {
		n += restBytes/2 + len(d.Question) + len(d.Payload) + len(d.Digest) + len(d.QuestionDigest) + len(d.Door) + len(d.By) + len(d.Comment)
	}
	for _, ev := range p.Native {
		n += len(ev) + itemBytes
	}
	return n
}

func bytesOfSeen(list []agui.SeenMessage) (n int) {
	for _, m := range list {
		n += len(m.ID) + len(m.Digest) + itemBytes
	}
	return n
}
