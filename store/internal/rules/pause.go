package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// openPause makes p the open pause of a record without a pause. It does not save the snapshots of
// p; for these see PauseSnapshots.
func openPause(rec *store.Record, now time.Time, p agui.Pause) {
	opened := clonePause(&p)
	opened.Opened = now
	opened.Messages, opened.State, opened.SnapshotBytes = nil, nil, len(p.Messages)+len(p.State)
	opened.Contested, opened.Decisions = false, nil
	rec.State, rec.Pause = store.Open, opened
}

// Strip removes the snapshots from the record's pause. It returns false if the pause has no
// snapshots.
func Strip(rec *store.Record) bool {
	if rec.Pause == nil || rec.Pause.SnapshotBytes == 0 {
		return false
	}
	p := *rec.Pause
	p.SnapshotBytes, p.LacksSnapshots = 0, true
	rec.Pause = &p
	return true
}

// end ends the record's pause, with r as its result. r becomes the newest result of the record.
func end(rec *store.Record, now time.Time, r store.Result) {
	r = stamp(rec, now, r)
	r.Pause = clonePause(rec.Pause)
	r.Pause.SnapshotBytes, r.Pause.Contested, r.Pause.Continuation = 0, false, nil
	forgetSecrets(r.Pause)
	rec.Results = bound(append([]*store.Result{&r}, rec.Results...))
	rec.State, rec.Pause = store.None, nil
	rec.Token, rec.Digest, rec.Lease, rec.Doubt = "", "", time.Time{}, nil
}

// forgetSecrets removes secrets from an ended pause. For each question that asks for a secret, it
// removes the private data of the dialect and the payload of a decision. It changes the pause in
// place.
func forgetSecrets(p *agui.Pause) {
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		if !i.Secret {
			continue
		}
		i.Private = nil
		for at := range p.Decisions {
			if d := &p.Decisions[at]; d.Question == i.ID {
				d.Payload = nil
			}
		}
	}
}

// giveWay ends a pause in doubt. No client is told of the doubt after that.
func giveWay(rec *store.Record, now time.Time) {
	r := store.Result{EndKind: store.Doubtful, SeenMessages: rec.Pause.SeenMessages}
	if rec.Doubt != nil {
		r = *rec.Doubt
	}
	end(rec, now, r)
}

// stamp returns a copy of r with the fields that the store sets. If r has snapshots, they replace
// those of an earlier result in doubt.
func stamp(rec *store.Record, now time.Time, r store.Result) store.Result {
	r = cloneResult(r)
	if n := len(r.Messages) + len(r.State); n > 0 {
		r.SnapshotBytes = n
	}
	r.Messages, r.State = nil, nil
	r.PauseID, r.Digest, r.At = rec.Pause.ID, rec.Digest, now
	r.Pause, r.Tombstone = nil, false
	r.IDs = make([]string, len(rec.Pause.Interrupts))
	for i := range rec.Pause.Interrupts {
		r.IDs[i] = rec.Pause.Interrupts[i].ID
	}
	return r
}

func clonePause(p *agui.Pause) *agui.Pause {
	if p == nil {
		return nil
	}
	c := *p
	c.Interrupts = slices.Clone(p.Interrupts)
	for n := range c.Interrupts {
		c.Interrupts[n].Calls = slices.Clone(c.Interrupts[n].Calls)
	}
	c.Native = slices.Clone(p.Native)
	c.SeenMessages = slices.Clone(p.SeenMessages)
	c.Decisions = slices.Clone(p.Decisions)
	return &c
}

func cloneResult(r store.Result) store.Result {
	r.IDs = slices.Clone(r.IDs)
	r.SeenMessages = slices.Clone(r.SeenMessages)
	r.GivenAnswers = slices.Clone(r.GivenAnswers)
	r.Pause = clonePause(r.Pause)
	return r
}

// makeReceipt returns a digest of a step Finish. By this digest a repeated Finish is recognized
// even if the result has become a tombstone. Of the next pause, only the id is in the digest,
// because the id is random.
func makeReceipt(f store.Finish) string {
	h, r := sha256.New(), &f.Result
	writeSized(h, []byte(f.Token))
	writeSized(h, []byte(r.EndKind))
	if r.ByArray {
		writeSized(h, []byte{1})
	} else {
		writeSized(h, nil)
	}
	if r.EndUnseen {
		writeSized(h, []byte("unseen"))
	}
	writeSized(h, r.Finish)
	writeSized(h, r.Messages)
	writeSized(h, r.State)
	for _, m := range r.SeenMessages {
		writeSized(h, []byte(m.ID))
		writeSized(h, []byte(m.Digest))
	}
	if f.Next != nil {
		writeSized(h, []byte(f.Next.ID))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// writeSized writes b to h, after its length. Because of the lengths, different sequences of parts
// have different bytes.
func writeSized(h hash.Hash, b []byte) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
}
