package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// conclude ends an exchange: it asks the translation what the end means, saves it, and says what
// the client is to be told, or that the run goes on.
func (r *run) conclude(e ending) conclusion {
	res, err := r.exchange.Run.End(e.End)
	became := fateOf(&res, &e.End)
	if err != nil {
		res, e.broken, e.Event = translate.Result{}, r.translationError(err), agui.Event{}
		if became == translate.Finished {
			became = failed
		}
	}
	for _, ev := range res.Before {
		r.noteCall(ev)
		r.transcript.Add(ev)
	}
	if res.Spoke != "" {
		r.exchange.dialect = res.Spoke
	}
	switch n := r.claim.exchanges; {
	case res.Next == nil:
	case n < maxExchanges:
		r.exchange.Exchange = *res.Next
		r.beside.takenBy(&res.Next.Out)
		return conclusion{events: res.Before, next: true, said: true}
	default:
		r.log.Error("the run wants one exchange after the other", "exchanges", n)
		e.Event, res = agui.Event{}, translate.Result{Before: res.Before}
		e.broken = agui.Errorf(agui.UpstreamStatus, "the run has come to no end in %d requests to the backend", n)
	}
	if len(res.Asked.Interrupts) > 0 {
		return r.concludePause(&res)
	}
	res.Before = append(r.endSubagents(nil), res.Before...)
	said := err != nil || res.Fate == translate.Lost || res.Fate == translate.InDoubt || res.Finish.Type != agui.Unknown
	finish := r.end(&res, &e, became)
	return conclusion{events: append(res.Before, finish), said: said || r.report.code == agui.StoreUnavailable}
}

// translationError is what the client is told when a dialect gave up.
func (r *run) translationError(err error) *agui.RunError {
	var told *agui.RunError
	if errors.As(err, &told) {
		return told
	}
	r.log.Error("translation failed", "err", err)
	return agui.Errorf(agui.UpstreamStatus, "the backend's stream could not be translated")
}

// refuses says whether an HTTP status means that the backend did not take the answers at all.
func refuses(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return false // it may have begun
	}
	return status >= 300 && status < 500
}

// end ends a run that does not ask, and returns its terminal event.
func (r *run) end(res *translate.Result, e *ending, became translate.Fate) agui.Event {
	if res.Spoke != "" {
		r.h.routes.Add(strings.Clone(r.request.path), res.Spoke)
	}
	finish := res.Finish
	if finish.Type == agui.Unknown {
		finish = e.Event
	}
	result := store.Result{How: store.Finished}
	switch {
	case became == translate.Lost:
		result.How = store.Lost
		finish = agui.Errorf(agui.BackendLostInterrupt, "the backend does not know what it asked any more").Event()
	case became == translate.InDoubt:
		result.How = store.Doubtful
		finish = agui.Errorf(agui.ResumeInDoubt, "the backend does not say whether it carried the answers out: the action may or may not have run").Event()
	case finish.Type == agui.Unknown:
		if e.broken == nil {
			e.broken = agui.Errorf(agui.UpstreamEOF, "the backend's stream ended without a terminal event")
		}
		finish = e.broken.Event()
		if r.exchange.Out.Resumes {
			result.How = store.Doubtful
		}
	}
	r.keepPassed(finish)
	finish = r.forClient(r.withRunIDs(finish))
	if r.claim.token != "" {
		result.Finish = slices.Clone(finish.JSON)
		switch err := r.claim.end(result, became); {
		case err != nil:
			finish = storeDown().Refusal.Event()
		case became == translate.InDoubt && !r.life.detached.Load():
			r.toldDoubt()
		}
	}
	r.note(finish)
	return finish
}

// fateOf is what the end of an exchange says of the answers.
func fateOf(res *translate.Result, end *translate.End) translate.Fate {
	if res.Fate == translate.Finished && end.Status != 0 && refuses(end.Status) {
		return translate.Untouched
	}
	return res.Fate
}

// note remembers for the log how the run ended.
func (r *run) note(finish agui.Event) {
	r.report.outcome = "finished"
	switch {
	case errors.Is(context.Cause(r.life.ctx), context.Canceled):
		r.report.outcome = "client left"
	case finish.Type == agui.RunErrored:
		r.report.outcome = "error"
		r.report.code = agui.Code(finish.Get("code").Str)
	}
}

// toldDoubt closes a doubt that this run tells.
func (r *run) toldDoubt() {
	err := r.ledger.close(r.record.Pause.ID, store.Result{How: store.Doubtful})
	if err != nil && !endedAlready(err) {
		r.log.Error("doubt not closed by the store: it will be told once more", "err", err)
	}
}
