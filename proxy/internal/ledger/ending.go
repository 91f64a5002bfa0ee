package ledger

import (
	"context"
	"errors"
	"time"
)

const (
	// LastTime is the time within which all steps of a run must be over after Begin, however many
	// steps there are and whatever the store does. So a client gets the end of its run within that
	// time. cmd/holdpoint waits longer than LastTime before it exits.
	LastTime = 2 * time.Second
	// lastStepTimeout limits each of these steps, so that a step without a reply leaves time for
	// the other steps.
	lastStepTimeout = 500 * time.Millisecond
)

// ErrDraining is the cause with which contexts are cancelled because the process is about to end.
var ErrDraining = errors.New("proxy: draining")

// An Ending limits the time of the steps of all ledgers when the process is about to end. A nil
// Ending never begins. Its methods are safe for concurrent use.
type Ending struct {
	begun context.Context
	begin context.CancelCauseFunc
}

// An endsAt is the cause with which Ending.begun is cancelled. It is the time at which all steps
// must be over.
type endsAt struct{ time.Time }

func (endsAt) Error() string { return ErrDraining.Error() }

// NewEnding returns an Ending that has not begun.
func NewEnding() *Ending {
	e := &Ending{}
	e.begun, e.begin = context.WithCancelCause(context.Background())
	return e
}

// Begin announces that the process is about to end. All steps, including those that have begun,
// must be over after LastTime. Only the first call has an effect.
func (e *Ending) Begin() { e.begin(endsAt{time.Now().Add(LastTime)}) }

// bound returns the context of a step. Its time limit is the parameter limit, or a shorter one if
// Begin was called or is called during the step.
func (e *Ending) bound(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	switch {
	case e == nil:
		return context.WithTimeout(ctx, limit)
	case e.begun.Err() != nil:
		return context.WithTimeout(ctx, min(limit, e.lastStep()))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	unwatch := context.AfterFunc(e.begun, func() { time.AfterFunc(e.lastStep(), cancel) })
	return ctx, func() {
		unwatch()
		cancel()
	}
}

// lastStep returns the time limit of a step that is running when Begin is called, or that starts
// after it.
func (e *Ending) lastStep() time.Duration {
	var until endsAt
	errors.As(context.Cause(e.begun), &until)
	return min(lastStepTimeout, time.Until(until.Time))
}
