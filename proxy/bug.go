package proxy

import (
	"errors"
	"fmt"
	"runtime/debug"

	"holdpoint/internal/agui"
)

// A dialectBug is what a dialect's contract does not allow: an error that is no *agui.RunError, or
// a panic.
type dialectBug struct {
	in    string // the method
	err   error
	stack []byte // of a panic
}

func (b *dialectBug) Error() string { return "dialect: " + b.in + ": " + b.err.Error() }

// asBug is the bug that an error of a dialect's method shows.
func asBug(method string, err error) *dialectBug {
	bug := &dialectBug{in: method, err: err}
	errors.As(err, &bug)
	return bug
}

// caught is deferred where a dialect is called: it makes an error of a panic.
func caught(method string, err *error) {
	if p := recover(); p != nil {
		*err = &dialectBug{in: method, err: fmt.Errorf("panic: %v", p), stack: debug.Stack()}
	}
}

// dialectFailed logs an error that a dialect's method may not give, and is what the client is told.
func (r *run) dialectFailed(method string, err error) *agui.RunError {
	bug := asBug(method, err)
	args := []any{"in", bug.in, "err", bug.err}
	if bug.stack != nil {
		args = append(args, "stack", string(bug.stack))
	}
	r.log.Error("the dialect failed", args...)
	return internalError()
}

// panicked logs a panic.
func (r *run) panicked(p any) {
	r.log.Error("the run panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// giveUpClaim ends a run that has panicked, and appends how its stream ends: nobody knows what
// would have become of it. Answers that may have been sent are in doubt, others go back.
func (r *run) giveUpClaim(events ...agui.Event) []agui.Event {
	told, after, open := internalError(), nothingDone, (*agui.Pause)(nil)
	if r.claim.sent() {
		after = mayHaveRun
	}
	r.report.outcome, r.report.code = "error", told.Code
	switch givenBack, err := r.claim.abandon(); {
	case err != nil:
		told = storeDown().Refusal
	case givenBack:
		open = r.stillAsked()
	}
	return r.lastWords(events, told.Event(), open, after)
}
