// Package rules has the steps of a store.Store on one record, as pure functions. All kinds of
// stores use them.
//
// The package has no storage and no lock, and no limits for several records. A store reads a
// record, ends what has expired in it (Settle), applies one step, and writes the record back in the
// same transaction or compare-and-set.
//
// If a step returns an error, it has changed nothing. A step never changes the values to which a
// record's slices and pointers refer, but replaces them. So a shallow copy of a Record is a
// snapshot of it. A step copies the values that it gets from its caller.
package rules

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// These errors mean that a caller has made a mistake.
var (
	errNoPauseID = errors.New("store: a pause must have an id")
	errNoToken   = errors.New("store: a claim must have a token and a digest")
	errNoHow     = errors.New("store: a result must say how the pause ended")
	errDoubtNext = errors.New("store: a result in doubt cannot have a next pause")
)

// TakeOwnership makes owner the owner of a record that has no owner. It returns false if the record
// already has an owner, or if owner is "".
func TakeOwnership(rec *store.Record, owner string) bool {
	if owner == "" || rec.Owner != "" {
		return false
	}
	rec.Owner = owner
	return true
}

// ask applies the step store.Ask. It does not check for ErrFull and ErrShare.
func ask(rec *store.Record, now time.Time, owner string, p agui.Pause) error {
	switch {
	case p.ID == "":
		return errNoPauseID
	case rec.Owner != "" && rec.Owner != owner:
		return store.ErrOwner
	case rec.State == store.Open && rec.Pause.ID == p.ID:
		return nil
	case rec.State == store.Open, rec.State == store.Claimed && !IsLapsed(rec, now):
		return fmt.Errorf("%w: %q is %s", store.ErrExists, rec.Pause.ID, rec.State)
	case knowsPause(rec, p.ID):
		return fmt.Errorf(textIDUsed, store.ErrExists, p.ID)
	}
	if rec.Pause != nil {
		giveWay(rec, now)
	}
	TakeOwnership(rec, owner)
	openPause(rec, now, p)
	return nil
}

// claim applies the step store.Claim.
func claim(rec *store.Record, now time.Time, c store.Claim) error {
	if c.Token == "" || c.Digest == "" {
		return errNoToken
	}
	if c.PauseID == "" {
		return errNoPauseID
	}
	if rec.Pause != nil && rec.Pause.ID == c.PauseID {
		same := rec.State == store.Claimed && rec.Token == c.Token && rec.Digest == c.Digest
		switch {
		case rec.State == store.Open && !containsDecisions(c.Digest, rec.Pause):
			return fmt.Errorf(textOtherDecisions, store.ErrStale, c.PauseID)
		case rec.State == store.Open, same:
			rec.State = store.Claimed
			rec.Token, rec.Digest, rec.Lease = c.Token, c.Digest, now.Add(c.Lease)
			return nil
		case IsInDoubt(rec, now):
			return fmt.Errorf(textInDoubt, store.ErrConflict, c.PauseID)
		}
		return judge(c.PauseID, c.Digest, rec.Digest)
	}
	for _, r := range rec.Results {
		switch {
		case r.PauseID != c.PauseID:
		case r.Tombstone:
			return fmt.Errorf(textTombstone, store.ErrNotFound, c.PauseID)
		default:
			return judge(c.PauseID, c.Digest, r.Digest)
		}
	}
	return fmt.Errorf("%w: %q", store.ErrNotFound, c.PauseID)
}

// judge returns store.ErrReplay if the answers of a claim are those with which the pause was
// answered, and otherwise store.ErrConflict. digest is that of the claim. had is that of the pause,
// "" if the pause ended without an answer.
func judge(pauseID, digest, had string) error {
	if store.SameAnswers(digest, had) {
		return fmt.Errorf("%w: %q", store.ErrReplay, pauseID)
	}
	return fmt.Errorf("%w: %q", store.ErrConflict, pauseID)
}

// renew applies the step store.Renew.
func renew(rec *store.Record, now time.Time, token string, lease time.Duration) error {
	if !isClaimedBy(rec, token) {
		return store.ErrStale
	}
	rec.Lease = now.Add(lease)
	return nil
}

// finish applies the step store.Finish. receipt is the result of makeReceipt for the same step.
func finish(rec *store.Record, now time.Time, f store.Finish, receipt string) error {
	r, next := f.Result, f.Next
	switch {
	case r.EndKind == "":
		return errNoHow
	case next != nil && r.EndKind == store.Doubtful:
		return errDoubtNext
	case next != nil && next.ID == "":
		return errNoPauseID
	case wasFinished(rec, receipt):
		return nil
	case !isClaimedBy(rec, f.Token):
		return store.ErrStale
	case next != nil && knowsPause(rec, next.ID):
		return fmt.Errorf(textNextIDUsed, next.ID)
	}
	r.Receipt, r.Next, r.SnapshotBytes = receipt, "", 0
	if r.EndKind == store.Doubtful {
		r = stamp(rec, now, r)
		rec.State, rec.Lease, rec.Doubt = store.InDoubt, now, &r
		return nil
	}
	if next != nil {
		r.Next = next.ID
	}
	contested := rec.Pause.Contested
	end(rec, now, r)
	if next != nil {
		openPause(rec, now, *next)
		rec.Pause.Contested = contested
	}
	return nil
}

// release applies the step store.Release.
func release(rec *store.Record, token string) error {
	if rec.State == store.Open && token != "" && rec.Token == token {
		return nil
	}
	if !isClaimedBy(rec, token) {
		return store.ErrStale
	}
	// The token stays, so that a repeated Release is recognized.
	rec.State, rec.Digest, rec.Lease = store.Open, "", time.Time{}
	return nil
}

// closePause applies the step store.Close.
func closePause(rec *store.Record, now time.Time, c store.Close) error {
	pauseID, r := c.PauseID, c.Result
	switch {
	case r.EndKind == "":
		return errNoHow
	case pauseID == "":
		return errNoPauseID
	case rec.Pause == nil || rec.Pause.ID != pauseID:
		return fmt.Errorf("%w: %q", store.ErrNotFound, pauseID)
	case rec.State == store.Claimed && !IsLapsed(rec, now):
		return fmt.Errorf(textClaimed, store.ErrExists, pauseID)
	case r.EndKind == store.Withdrawn && IsInDoubt(rec, now):
		return fmt.Errorf(textInDoubt, store.ErrExists, pauseID)
	case r.EndKind == store.Doubtful && rec.State == store.Open:
		// the caller has loaded a claim whose lease had lapsed, and since then the claim was released
		return fmt.Errorf(textOpen, store.ErrExists, pauseID)
	case c.Decided != nil && rec.State == store.Open && len(rec.Pause.Decisions) > *c.Decided:
		return fmt.Errorf(textOtherDecisions, store.ErrStale, pauseID)
	}
	r.Receipt, r.Next, r.SnapshotBytes = "", "", 0
	if d := rec.Doubt; d != nil {
		r = fill(r, *d)
	}
	end(rec, now, r)
	return nil
}

// fill returns r with its empty fields set from d, the result of the pause while it was in doubt.
func fill(r, d store.Result) store.Result {
	r.Receipt, r.ByArray = d.Receipt, r.ByArray || d.ByArray
	if r.Finish == nil {
		r.Finish = d.Finish
	}
	if r.Messages == nil && r.State == nil {
		r.SnapshotBytes = d.SnapshotBytes
	}
	if r.SeenMessages == nil {
		r.SeenMessages = d.SeenMessages
	}
	if r.GivenAnswers == nil {
		r.GivenAnswers = d.GivenAnswers
	}
	if r.Door == "" {
		r.Door, r.By = d.Door, d.By
	}
	return r
}

// occupy applies the step store.Occupy.
func occupy(rec *store.Record, now time.Time, token string, lease time.Duration) error {
	if token == "" {
		return errNoToken
	}
	at := slices.IndexFunc(rec.Occupants, func(b store.Occupant) bool { return b.Token == token })
	if at < 0 && lease <= 0 {
		return nil
	}
	list := slices.DeleteFunc(slices.Clone(rec.Occupants), func(b store.Occupant) bool { return b.Token == token || !now.Before(b.Lease) })
	if lease > 0 {
		if len(list) >= store.MaxBusy {
			return fmt.Errorf(textRunsGoOn, store.ErrFull, len(list))
		}
		list = append(list, store.Occupant{Token: token, Lease: now.Add(lease)})
	}
	if rec.Occupants = list; len(list) == 0 {
		rec.Occupants = nil
	}
	return nil
}

// markContested applies the step store.Contest.
func markContested(rec *store.Record, pauseID string) error {
	switch {
	case pauseID == "":
		return errNoPauseID
	case rec.Pause == nil || rec.Pause.ID != pauseID:
		return fmt.Errorf("%w: %q", store.ErrNotFound, pauseID)
	case rec.Pause.Contested:
		return nil
	}
	p := *rec.Pause
	p.Contested = true
	rec.Pause = &p
	return nil
}

// isClaimedBy reports whether the record is claimed with this token, even if the lease has lapsed.
func isClaimedBy(rec *store.Record, token string) bool {
	return rec.State == store.Claimed && token != "" && rec.Token == token
}

// wasFinished reports whether the step Finish with this receipt was already applied.
func wasFinished(rec *store.Record, receipt string) bool {
	if rec.Doubt != nil && rec.Doubt.Receipt == receipt {
		return true
	}
	return slices.ContainsFunc(rec.Results, func(r *store.Result) bool { return r.Receipt == receipt })
}

// knowsPause reports whether the record has the pause with this id, open or ended.
func knowsPause(rec *store.Record, pauseID string) bool {
	if rec.Pause != nil && rec.Pause.ID == pauseID {
		return true
	}
	return slices.ContainsFunc(rec.Results, func(r *store.Result) bool { return r.PauseID == pauseID })
}
