package ledger

import (
	"context"
	"errors"
	"time"
)

const (
	// LastTime bounds all steps of a run together from the moment on in which streams are ended,
	// however many they are and whatever the store does. A client that is told the end of its run
	// has it within that time, and cmd/holdpoint waits longer.
	LastTime = 2 * time.Second
	// lastStepTimeout bounds each of these steps, so that one without a reply leaves time for
	// others.
	lastStepTimeout = 500 * time.Millisecond
)

// ErrDraining is the cause of a context that ends because its process is about to end.
var ErrDraining = errors.New("proxy: draining")

// An Ending is the end of a process, as far as ledgers have to know it: it shortens their steps. A
// nil Ending never begins. Its methods are safe for concurrent use.
type Ending struct {
	begun context.Context
	begin context.CancelCauseFunc
}

// An endsAt is the cause of Ending.begun. It says until when steps may be made.
type endsAt struct{ time.Time }

func (endsAt) Error() string { return ErrDraining.Error() }

// NewEnding returns an Ending that has not begun.
func NewEnding() *Ending {
	e := &Ending{}
	e.begun, e.begin = context.WithCancelCause(context.Background())
	return e
}

// Begin begins the end. All steps are over LastTime later, also those under way. Only the first
// call counts.
func (e *Ending) Begin() { e.begin(endsAt{time.Now().Add(LastTime)}) }

// bound gives a step its time: the limit, or less if the end has begun or begins meanwhile.
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

// lastStep returns how long a step may take that is made, or is under way, when the end has begun.
func (e *Ending) lastStep() time.Duration {
	var until endsAt
	errors.As(context.Cause(e.begun), &until)
	return min(lastStepTimeout, time.Until(until.Time))
}
