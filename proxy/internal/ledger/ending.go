package ledger

import (
	"context"
	"errors"
	"time"
)

const (
	// LastTime bounds all steps of a run together after Begin, however many they are and whatever
	// the store does. A client gets the end of its run within that time, and cmd/holdpoint waits
	// longer.
	LastTime = 2 * time.Second
	// lastStepTimeout bounds each of these steps, so that a step without a reply leaves time for
	// others.
	lastStepTimeout = 500 * time.Millisecond
)

// ErrDraining is the cause of contexts that are cancelled because the process is about to end.
var ErrDraining = errors.New("proxy: draining")

// An Ending shortens the steps of all ledgers when the process is about to end. A nil Ending never
// begins. Its methods are safe for concurrent use.
type Ending struct {
	begun context.Context
	begin context.CancelCauseFunc
}

// An endsAt is the cause with which Ending.begun is cancelled. It is the time by which all steps
// must be over.
type endsAt struct{ time.Time }

func (endsAt) Error() string { return ErrDraining.Error() }

// NewEnding returns an Ending that has not begun.
func NewEnding() *Ending {
	e := &Ending{}
	e.begun, e.begin = context.WithCancelCause(context.Background())
	return e
}

// Begin begins the end of the process. All steps, including those under way, are over LastTime
// later. Only the first call has an effect.
func (e *Ending) Begin() { e.begin(endsAt{time.Now().Add(LastTime)}) }

// bound returns the context of a step, with the time limit, or a shorter one if the end has begun
// or begins meanwhile.
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

// lastStep returns the time limit of a step that is under way or made when the end has begun.
func (e *Ending) lastStep() time.Duration {
	var until endsAt
	errors.As(context.Cause(e.begun), &until)
	return min(lastStepTimeout, time.Until(until.Time))
}
