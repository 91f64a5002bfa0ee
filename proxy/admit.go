package proxy

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/stream"
)

// admit judges the run, prepares what was ruled, and takes the pause for the answers, until no
// attempt has to wait. Of contract.Pass and contract.Resume an exchange is ready to be sent then;
// any other ruling is to be told.
//
// Claim before send: of two equal clicks one reaches the backend.
func (r *run) admit(out *stream.Writer) contract.Ruling {
	for wait := newWaiter(); ; {
		next := wait.again
		v, err := r.judge()
		if err != nil {
			if v = r.notJudged(err); v.Refusal.Code != agui.StoreUnavailable || !wait.misses() {
				return v
			}
			next = wait.wait
		} else if v.Do != contract.Wait {
			for again := true; again; {
				v, again = r.prepare(v)
			}
			if v.Do == contract.Resume {
				v = r.take(v)
			}
			if v.Do != contract.Wait {
				return v
			}
			next = wait.quicker
		}
		if err := next(r, out); err != nil {
			return r.waitedInVain(err)
		}
	}
}

// waitedInVain refuses a run that does not wait any longer.
func (r *run) waitedInVain(err error) contract.Ruling {
	if !errors.Is(err, errQuicker) {
		return contract.Ruling{Do: contract.Refuse, Refusal: fault(r.life.ctx, err)}
	}
	r.log.Error("the pause cannot be claimed", "err", err, "claim", r.ledger.Refused())
	v := refuse(agui.StoreUnavailable, "the answer cannot be taken at the moment, so it is not handed on: try again")
	v.Reask = true
	return v
}

func (r *run) notJudged(err error) contract.Ruling {
	if bug := (*dialect.Bug)(nil); errors.As(err, &bug) {
		return contract.Ruling{Do: contract.Refuse, Refusal: r.dialectFailed("Answers", err), Reask: true}
	}
	r.log.Debug("the store cannot be asked", "err", err) // see outages
	return storeDown()
}
