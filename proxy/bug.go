package proxy

import (
	"fmt"
	"runtime/debug"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/tell"
	"holdpoint/store"
	"holdpoint/translate"
)

// dialectFailed logs an error that a dialect's method may not give, and is what the client is told.
func (r *run) dialectFailed(method string, err error) *agui.RunError {
	bug := dialect.AsBug(method, err)
	args := []any{"in", bug.Method, "err", bug.Err}
	if bug.Stack != nil {
		args = append(args, "stack", string(bug.Stack))
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
	told, after, open := internalError(), tell.NothingDone, (*agui.Pause)(nil)
	sent, result := r.exchange.evidence().Sent(), store.Result{How: store.Doubtful}
	if sent {
		after = tell.MayHaveRun
	}
	if sent && r.claimedNow() {
		f := r.facts(&translate.Result{}, nil)
		result = f.Doubt()
	}
	r.report.outcome, r.report.code = "error", told.Code
	switch kept := r.ledger.Keep(r.claim, &settle.Outcome{End: result, Back: !sent}); {
	case kept.Err != nil:
		told = storeDown().Refusal
	case kept.Back:
		open = tell.Open(&r.record)
	}
	l := r.hearer()
	return tell.Broken(&l, events, told.Event(), open, after)
}
