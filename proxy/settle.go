package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/settle"
	"holdpoint/store"
	"holdpoint/translate"
)

// conclude ends an exchange: it asks the translation what the end means, saves it, and says what
// the client is to be told, or that the run goes on.
func (r *run) conclude(e ending) conclusion {
	e.Refused = refuses(e.Status) || !r.exchange.connected.Load()
	res, err := endRun(r.h, r.log, r.exchange.Run, e.End)
	r.noteUpstream(&e, &res)
	if e.inner != translate.Finished && err == nil && res.Fate == translate.Finished {
		if res.Fate = e.inner; len(res.Asked.Interrupts) == 0 {
			res.Finish = e.Event
		}
	}
	became := r.doubtOf(&res, &e, fateOf(&res, &e.End))
	if err != nil {
		res, e.broken, e.Event = translate.Result{}, r.translationError(err), agui.Event{}
		if became == translate.Finished {
			became = settle.Failed
		}
	}
	res.Before = r.withCalls(res.Before)
	for _, ev := range res.Before {
		r.noteCall(ev)
		r.transcript.Add(ev)
	}
	if res.Spoke != "" {
		r.exchange.dialect = res.Spoke
	}
	switch n := r.exchange.counted.Exchanges; {
	case res.Next == nil:
	case n < settle.MaxExchanges:
		r.exchange.Exchange = *res.Next
		r.beside.takenBy(&res.Next.Out)
		return conclusion{events: res.Before, next: true, said: true}
	default:
		r.log.Error("the run wants one exchange after the other", "exchanges", n)
		e.Event, res = agui.Event{}, translate.Result{Before: res.Before}
		e.broken = agui.Errorf(agui.UpstreamStatus, "the run has come to no end in %d requests to the backend", n)
	}
	if len(res.Asked.Interrupts) > 0 {
		return r.concludeAsking(&res, &e)
	}
	r.life.plain.Store(false)
	res.Before = append(r.endSubagents(nil), res.Before...)
	said := err != nil || res.Fate == translate.Lost || res.Fate == translate.InDoubt || res.Finish.Type != agui.Unknown
	events, doubtful := r.end(&res, &e, became)
	return conclusion{events: events, said: said || doubtful || r.report.code == agui.StoreUnavailable}
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

// end ends a run that does not ask, and returns what ends its stream: what the dialect held back
// stands before it. doubtful says that it tells a doubt.
func (r *run) end(res *translate.Result, e *ending, became translate.Fate) (events []agui.Event, doubtful bool) {
	if res.Spoke != "" || res.Backend != "" {
		r.h.noteRoute(r.request.path, r.exchange.speaks(r.h.opts.Dialect), res.Backend)
	}
	finish, result := r.outcomeOf(res, e, became)
	defer r.keepOpenCalls(finish.Type == agui.RunFinished)
	if finish.Type == agui.RunFinished {
		defer r.noteOpenCalls() // before the other forgets them
	}
	finish = r.forClient(r.withRunIDs(finish))
	after, open := aftermathOf(&result), (*agui.Pause)(nil)
	if r.claim.token != "" {
		result.Finish = slices.Clone(finish.JSON)
		back := settle.GivesBack(r.exchange.evidence(), &result, became)
		if !back {
			r.keepEnd(&result)
		}
		switch givenBack, err := r.claim.end(result, back); {
		case err != nil:
			finish, after = storeDown().Refusal.Event(), mayHaveRun
		case givenBack:
			open, after = r.stillAsked(), nothingDone
		case result.How == store.Doubtful:
			doubtful = true
			r.toldDoubt()
		}
	}
	r.note(finish)
	before := res.Before
	if open == nil {
		before = append(before, r.ownResults(nil, doubtful || after == mayHaveRun)...)
	}
	if finish.Type != agui.RunErrored {
		return append(before, r.withNotTaken(finish)), doubtful
	}
	return r.lastWords(before, finish, open, after), doubtful
}

// outcomeOf is the terminal event of a run that does not ask, and what the record is to hold of it.
func (r *run) outcomeOf(res *translate.Result, e *ending, became translate.Fate) (agui.Event, store.Result) {
	finish := res.Finish
	if finish.Type == agui.Unknown {
		finish = e.Event
	}
	switch {
	case became == translate.Lost:
		return agui.Errorf(agui.BackendLostInterrupt, "the backend does not know what it asked any more").Event(), store.Result{How: store.Lost}
	case became == translate.InDoubt && res.Finish.Type == agui.RunErrored:
		return finish, store.Result{How: store.Doubtful}
	case became == translate.InDoubt:
		return agui.Errorf(agui.ResumeInDoubt, "the backend does not say whether it carried the answers out: the action may or may not have run").Event(), store.Result{How: store.Doubtful}
	case finish.Type != agui.Unknown:
		return finish, store.Result{How: store.Finished}
	}
	broken := e.broken
	if broken == nil {
		broken = agui.Errorf(agui.UpstreamEOF, "the backend's stream ended without a terminal event")
	}
	if !r.exchange.Out.Resumes {
		return broken.Event(), store.Result{How: store.Finished}
	}
	if r.exchange.evidence().Sent() {
		told := *broken
		told.Message += ": the action may or may not have run"
		broken = &told
	}
	return broken.Event(), store.Result{How: store.Doubtful}
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

// toldDoubt closes a doubt that this run tells, if a client is there to be told.
func (r *run) toldDoubt() {
	gone := r.life.detached.Load() || r.life.client.Err() != nil || r.body != nil && r.body.apart.ended
	if gone || r.request.ours {
		return
	}
	err := r.ledger.close(r.record.Pause.ID, store.Result{How: store.Doubtful})
	if err != nil && !endedAlready(err) {
		r.log.Error("doubt not closed by the store: it will be told once more", "err", err)
	}
}
