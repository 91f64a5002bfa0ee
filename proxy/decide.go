package proxy

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/dialect"
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
		r.notTaken = v.NotTaken
		return r.quiet()
	case contract.Replay:
		r.tellRuled(event.Replayed, v.Replay.Pause, "")
		return r.replay(v.Replay)
	}
	return r.refusal(v)
}

// attempts judges the run, and prepares what was ruled, until no attempt has to wait.
func (r *run) attempts(out *stream.Writer) {
	for wait := newWaiter(); ; {
		again := wait.again
		if err := r.judge(); err != nil {
			if r.notJudged(err); r.verdict.Refusal.Code != agui.StoreUnavailable || !wait.misses() {
				return
			}
			again = wait.wait
		} else if r.verdict.Do != contract.Wait {
			if r.prepare(); r.verdict.Do != contract.Wait {
				return
			}
			again = wait.quicker
		}
		switch err := again(r, out); {
		case err == nil:
		case errors.Is(err, errQuicker):
			r.log.Error("the pause cannot be claimed", "err", err, "claim", r.ledger.Refused())
			r.verdict = refuse(agui.StoreUnavailable, "the answer cannot be taken at the moment, so it is not handed on: try again")
			r.verdict.Reask = true
			return
		default:
			r.verdict = contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, err)}
			return
		}
	}
}

func (r *run) notJudged(err error) {
	if bug := (*dialect.Bug)(nil); errors.As(err, &bug) {
		r.verdict = contract.Ruling{
			Do: contract.Refuse, Refusal: r.dialectFailed("Answers", err), Reask: true,
		}
		return
	}
	r.log.Debug("the store cannot be asked", "err", err) // see outages
	r.verdict = storeDown()
}
