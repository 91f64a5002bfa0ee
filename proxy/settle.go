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

// settle ends an exchange: it asks the translation what the end means, saves it, and gives what the client is to be
// told; or it gives the next exchange of the same run. broken is what to tell if the backend gave no end of its own.
func (r *run) settle(end translate.End, broken *agui.RunError) (events []agui.Event, next bool) {
	res, err := r.exchange.Run.End(end)
	if err != nil {
		res, broken, end = translate.Result{}, r.translationError(err), translate.End{}
	}
	return r.conclude(res, end, broken)
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

// endStatus is settle for an answer that is no stream and no success. No events and no next exchange: it goes to the client
// as it is.
func (r *run) endStatus(end translate.End) (events []agui.Event, next bool) {
	res, err := r.exchange.Run.End(end)
	broken := agui.Errorf(agui.UpstreamStatus, "the backend answered %d", end.Status)
	if err != nil {
		res, broken = translate.Result{}, r.translationError(err)
	}
	events, next = r.conclude(res, end, broken)
	said := err != nil || res.Fate == translate.Lost || res.Fate == translate.InDoubt || res.Finish.Type != agui.Unknown || len(res.Asked.Interrupts) > 0
	if next || said || r.code == agui.StoreUnavailable {
		return events, next
	}
	r.outcome, r.code = "http status", ""
	return nil, false
}

// refuses says whether an HTTP status means that the backend did not take the answers at all. 0: there
// was none.
func refuses(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return false // it may have begun
	}
	return status >= 300 && status < 500
}

func (r *run) conclude(res translate.Result, end translate.End, broken *agui.RunError) (events []agui.Event, next bool) {
	for _, ev := range res.Before {
		r.noteCall(ev)
		r.transcript.Add(ev)
	}
	if n := r.claim.exchanges; res.Next != nil && n >= maxExchanges {
		r.log.Error("the run wants one exchange after the other", "exchanges", n)
		res, end = translate.Result{Before: res.Before}, translate.End{}
		broken = agui.Errorf(agui.UpstreamStatus, "the run has come to no end in %d requests to the backend", n)
	}
	if res.Spoke != "" {
		r.speaks = res.Spoke
	}
	if res.Next != nil {
		r.exchange = *res.Next
		r.takes(&res.Next.Out)
		return res.Before, true
	}
	if len(res.Asked.Interrupts) > 0 {
		if len(res.Untaken) > 0 {
			r.fresh, r.taken = res.Untaken, false
		}
		return r.concludePause(res), false
	}
	if res.Spoke != "" {
		r.h.routes.Add(strings.Clone(r.path), res.Spoke)
	}
	finish := res.Finish
	if finish.Type == agui.Unknown {
		finish = end.Event
	}
	result, became := store.Result{How: store.Finished}, fateOf(&res, &end)
	switch {
	case became == translate.Lost:
		result.How = store.Lost
		finish = agui.Errorf(agui.BackendLostInterrupt, "the backend does not know what it asked any more").Event()
	case became == translate.InDoubt:
		result.How = store.Doubtful
		finish = agui.Errorf(agui.ResumeInDoubt, "the backend does not say whether it carried the answers out: the action may or may not have run").Event()
	case finish.Type == agui.Unknown:
		if broken == nil {
			broken = agui.Errorf(agui.UpstreamEOF, "the backend's stream ended without a terminal event")
		}
		finish = broken.Event()
		if r.exchange.Out.Resumes {
			result.How = store.Doubtful
		}
	}
	r.keepPassed(finish)
	finish = r.withRunIDs(finish)
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
	return append(res.Before, finish), false
}

// fateOf is what the end of an exchange says of the answers.
func fateOf(res *translate.Result, end *translate.End) translate.Fate {
	if res.Fate == translate.Finished && refuses(end.Status) {
		return translate.Untouched
	}
	return res.Fate
}

// note remembers for the log how the run ended.
func (r *run) note(finish agui.Event) {
	r.outcome = "finished"
	switch {
	case errors.Is(context.Cause(r.life.ctx), context.Canceled):
		r.outcome = "client left"
	case finish.Type == agui.RunErrored:
		r.outcome = "error"
		r.code = agui.Code(finish.Get("code").Str)
	}
}
