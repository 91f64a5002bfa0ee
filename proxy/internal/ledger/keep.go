package ledger

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// Keep saves the outcome of a run, before the client is told of it: its question, and the end of
// its claim, in one step. claim is nil if the run has none; otherwise it has ended afterwards. If a
// question with the same interrupts is open already, that question counts.
func (l *Ledger) Keep(claim *Claim, o *settle.Outcome) settle.SavedOutcome {
	if o.Ask != nil {
		return l.keepQuestion(claim, o)
	}
	if !claim.Held() {
		return settle.SavedOutcome{}
	}
	var back bool
	var err error
	if o.Back {
		back, err = claim.Release()
	} else if err = claim.finish(o.End, nil); errors.Is(err, store.ErrStale) {
		// The store has given the claim up. The run asks nothing, so its client is told the end
		// nevertheless; only the record has moved on.
		err = nil
	}
	return settle.SavedOutcome{Back: back, Doubtful: !back && err == nil && o.End.How == store.Doubtful, Err: err}
}

// keepQuestion does Keep for a run that asks.
func (l *Ledger) keepQuestion(claim *Claim, o *settle.Outcome) settle.SavedOutcome {
	if claim.Held() {
		if err := claim.finish(o.End, o.Ask); err == nil || !errors.Is(err, store.ErrStale) {
			return keptIf(o.Ask, err)
		}
		// The claim was given up, and something else began. The question is saved as a new one.
	}
	standing, err := l.ask(o.Ask)
	if !errors.Is(err, store.ErrExists) {
		// It may have been opened despite an error. It is left to the thread's next run, because
		// the agent waits for its answer and another client may have been told of it.
		return keptIf(o.Ask, err)
	}
	if standing.State == store.Open && standing.Pause.Digest == o.Ask.Digest {
		return settle.SavedOutcome{Pause: standing.Pause}
	}
	l.contest(standing.Pause)
	return settle.SavedOutcome{Standing: standing, Err: err}
}

func keptIf(p *agui.Pause, err error) settle.SavedOutcome {
	if err != nil {
		return settle.SavedOutcome{Err: err}
	}
	return settle.SavedOutcome{Pause: p}
}
