package rules

import (
	"errors"
	"fmt"
	"time"

	"holdpoint/store"
)

// A Step is a store.Step, with the facts that a store must know before it reads the record.
type Step struct {
	Body bool // the step reads the pause, the results or the notes
	// The step counts only when its change is safe, so the record is written even if nothing
	// changes.
	Guard     bool
	ForClient bool // the step is a Load, whose pause may be sent to a client
	Opens     bool // the step can open a pause in a record without one
	// Closes means that the step ends a pause, and that its caller reports the end.
	Closes bool
	Takes  bool // the step is a Take

	Notices []store.Notice // the notices that the caller gives

	do      store.Step
	owner   string // set only for a Load
	receipt string // set only for a Finish
}

// An undo is the step that undoes a claim which does not count, and removes the notices of the
// claim.
type undo struct{ store.Claim }

// StepOf returns the Step for a store.Step. For a Finish with large snapshots this takes some time.
// So StepOf must be called before the store takes its lock or begins a transaction.
func StepOf(step store.Step) Step {
	s := Step{do: step, Notices: store.NoticesOf(step)}
	switch do := step.(type) {
	case store.Ask:
		s.Body, s.Guard, s.Opens = true, true, true
	case store.Decide, store.Claim, store.Contest, store.Remember:
		s.Body, s.Guard = true, true
	case store.Finish:
		s.Body, s.Guard, s.receipt = true, do.Next != nil, makeReceipt(do)
	case store.Close:
		s.Body, s.Closes = true, true
	// A Release needs the body, because a decided pause is due again at once.
	case store.Release, store.See:
		s.Body = true
	case store.Take:
		s.Takes = true
	}
	return s
}

// Load returns the step for store.Store.Load. The record is then in StepResult.Standing.
func Load(owner string) Step { return Step{Body: true, ForClient: true, owner: owner} }

// Undo returns the step that undoes s, which must not count. is reports whether s is a claim; other
// steps cannot be undone.
func (s *Step) Undo() (inverse Step, is bool) {
	c, is := s.do.(store.Claim)
	return Step{Body: true, do: undo{c}}, is
}

// Apply applies the step to a record in which Settle has ended what has expired. It returns the
// snapshots that the step saves, and the StepResult for the caller, which is valid even with an
// error. It does not check the limits for several records.
func Apply(rec *store.Record, now time.Time, step *Step) (done store.StepResult, puts []SnapshotPut, err error) {
	done.Now = now
	if step.ForClient {
		TakeOwnership(rec, step.owner)
		standing := View(*rec, now)
		done.Standing = &standing
		return done, nil, nil
	}
	switch do := step.do.(type) {
	case store.Ask:
		puts, err = PauseSnapshots(&do.Pause), ask(rec, now, do.Owner, do.Pause)
		if errors.Is(err, store.ErrExists) {
			standing := View(*rec, now)
			done.Standing = &standing
		}
	case store.Decide:
		err = decide(rec, now, do.PauseID, do.Decisions)
	case store.Claim:
		err = claim(rec, now, do)
	case store.Renew:
		err = renew(rec, now, do.Token, do.Lease)
	case store.Finish:
		if rec.Pause != nil {
			puts = append(ResultSnapshots(rec.Pause.ID, &do.Result), PauseSnapshots(do.Next)...)
		}
		err = finish(rec, now, do, step.receipt)
	case store.Release:
		err = release(rec, do.Token)
	case store.Close:
		puts, err = ResultSnapshots(do.PauseID, &do.Result), closePause(rec, now, do)
	case store.Occupy:
		err = occupy(rec, now, do.Token, do.Lease)
	case store.Contest:
		err = markContested(rec, do.PauseID)
	case store.See:
		markSeen(rec, do.PauseID)
	case store.Remember:
		err = remember(rec, now, do.Note, do.Most)
	case store.Take:
		done.Notices, done.Tries = takeNotices(rec, now, do.Hold)
	case store.Sent:
		applySent(rec, now, do)
	case undo:
		removeNotices(rec, now, do.Notices)
		err = release(rec, do.Token)
	default:
		err = fmt.Errorf(textNoStep, do)
	}
	return done, puts, err
}
