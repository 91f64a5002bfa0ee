package ledger

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
)

// Keep saves the outcome of a run before the client gets it. In one step it saves the question of
// the run and ends the run's claim. The parameter claim is nil if the run has no claim. If a pause
// with the same questions is already open, Keep returns that pause instead.
func (l *Ledger) Keep(claim *Claim, o *settle.Outcome) settle.SavedOutcome {
	if o.Ask != nil {
		return l.keepQuestion(claim, o)
	}
	if !claim.Held() {
		return settle.SavedOutcome{}
	}
	var back bool
	var err error
	if o.ReopensPause {
		back, err = claim.Release()
	} else if err = claim.finish(o.End, nil); errors.Is(err, store.ErrStale) {
		// The store has already ended the claim. The run asks no question, so its client still gets
		// the end of its own run. Only the record has a later state.
		err = nil
	}
	return settle.SavedOutcome{Reopened: back, Doubtful: !back && err == nil && o.End.EndKind == store.Doubtful, Err: err}
}

// keepQuestion does what Keep does for a run that asks a question.
func (l *Ledger) keepQuestion(claim *Claim, o *settle.Outcome) settle.SavedOutcome {
	if claim.Held() {
		if err := claim.finish(o.End, o.Ask); err == nil || !errors.Is(err, store.ErrStale) {
			return keptIf(o.Ask, err)
		}
		// The store has ended the claim, and another step has begun on the thread. So the question
		// is saved as for a run without a claim.
	}
	standing, err := l.ask(o.Ask)
	if !errors.Is(err, store.ErrExists) {
		// The store may have opened the pause despite an error. The pause then stays open for the
		// thread's next run, because the agent waits for its answer, and another client may have
		// got the question.
		return keptIf(o.Ask, err)
	}
	if standing.State == store.Open && standing.Pause.Digest == o.Ask.Digest {
		return settle.SavedOutcome{Pause: standing.Pause}
	}
	l.markContested(standing.Pause)
	return settle.SavedOutcome{Standing: standing, Err: err}
}

func keptIf(p *agui.Pause, err error) settle.SavedOutcome {
	if err != nil {
		return settle.SavedOutcome{Err: err}
	}
	return settle.SavedOutcome{Pause: p}
}
