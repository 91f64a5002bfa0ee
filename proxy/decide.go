package proxy

import (
	"context"
	"errors"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/stream"
)

// ruled does what the last attempt came to. It returns what the client is told; nil if an exchange
// with the backend is ready to be sent.
func (r *run) ruled() (told []agui.Event) {
	v := r.verdict
	r.verdict = contract.Ruling{} // streams live for hours
	switch v.Do {
	case contract.Pass, contract.Resume:
		return nil
	case contract.TellAgain:
		return r.again()
	case contract.Quiet:
		r.report.outcome = "nothing to answer"
		return r.quiet()
	case contract.Replay:
		return r.replay(v.Replay)
	}
	return r.refusal(v)
}

// attempts judges the run, and prepares what was ruled, until no attempt has to wait. It may be
// called again behind a pause, for another attempt in mid-run.
func (r *run) attempts(out *stream.Writer) {
	for wait := newWaiter(); ; {
		if err := r.judge(); err != nil {
			r.notJudged(err)
			return
		}
		if r.verdict.Do == contract.Wait {
			if err := wait.next(r, out); err != nil {
				r.verdict = contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, err)}
				return
			}
			continue
		}
		if r.prepare(); r.verdict.Do != contract.Wait { // else somebody else was quicker: judge again
			return
		}
	}
}

func (r *run) notJudged(err error) {
	if bug := (*dialectBug)(nil); errors.As(err, &bug) {
		r.verdict = contract.Ruling{
			Do: contract.Refuse, Refusal: r.dialectFailed("Answers", err), Reask: true,
		}
		return
	}
	r.log.Error("the store cannot be asked", "err", err)
	r.verdict = storeDown()
}

// A waiter paces the questions to the store of a request that waits for the same answers' end.
type waiter struct{ pause time.Duration }

func newWaiter() *waiter { return &waiter{pause: 20 * time.Millisecond} }

// next waits. The stream is begun, so that heartbeats keep the client.
func (w *waiter) next(r *run, out *stream.Writer) error {
	r.beginStream(out)
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	w.pause = min(w.pause*3/2, time.Second)
	select {
	case <-timer.C:
		return nil
	case <-r.life.ctx.Done():
		return context.Cause(r.life.ctx)
	}
}
