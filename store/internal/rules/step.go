package rules

import (
	"errors"
	"fmt"
	"time"

	"holdpoint/store"
)

// A Step is a store.Step with what an engine must know before it reads the record.
type Step struct {
	Body      bool // it reads the pause, the results or the notes
	Guard     bool // it counts only when it is safe, so it is written even if it changes nothing
	ForClient bool // it is a Load, whose pause may be sent to a client
	Opens     bool // it can open a record
	// Closes reports that the caller ends a pause and reports that itself.
	Closes bool
	Takes  bool // it is a Take

	Notices []store.Notice // the caller's notices

	do      store.Step
	owner   string // of a Load
	receipt string // of a Finish
}

// An undo takes back a claim that does not count, with its notices.
type undo struct{ store.Claim }

// StepOf returns the Step of a store.Step. It takes a while for a Finish with large snapshots, so a
// caller calls it before it takes the engine's lock or begins its transaction.
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
	case store.Release, store.See: // of a Release, because a decided pause is due again at once
		s.Body = true
	case store.Take:
		s.Takes = true
	}
	return s
}

// Load returns the step of store.Store.Load. Done.Standing has the record.
func Load(owner string) Step { return Step{Body: true, ForClient: true, owner: owner} }

// Undo returns the step that takes back a claim which does not count.
func (s *Step) Undo() (undoing Step, is bool) {
	c, is := s.do.(store.Claim)
	return Step{Body: true, do: undo{c}}, is
}

// Apply applies the step to a settled record. It returns the step's snapshots, and the Done for the
// caller, also with an error. It does not enforce limits over several records.
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
		err = fmt.Errorf("store: no such step: %T", do)
	}
	return done, puts, err
}
