package proxy

import (
	"errors"
	"net/http"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/tell"
	"holdpoint/store"
	"holdpoint/translate"
)

// concluded settles an exchange that has ended, saves what has come of it, and returns what the
// client is to be told, or that the run goes on.
//
// Save before tell: what a client is told stands in the record.
func (r *run) concluded(e settle.End) conclusion {
	res, calls, failed := r.ended(&e)
	if n := r.exchange.counted.Exchanges; failed == nil && res.Next != nil && n >= settle.MaxExchanges {
		r.log.Error("the run wants one exchange after the other", "exchanges", n)
	}
	f := r.facts(&res, calls)
	o := settle.Settle(&f, &res, &e, failed)
	if o.Next != nil {
		r.exchange.Exchange = *o.Next
		r.beside.takenBy(&o.Next.Out)
		return conclusion{events: o.Before, next: true, said: true}
	}
	kept := r.keep(&o)
	l := r.hearer()
	events := r.note(tell.Ended(&l, &o, &kept))
	return conclusion{events: events, said: o.Said || kept.Doubtful || r.report.code == agui.StoreUnavailable}
}

// ended has the dialect end the exchange, and notes what it has held back. calls are the calls of
// the stream without that, as far as anybody wants to know them. failed is what the client is told
// if the dialect has failed.
func (r *run) ended(e *settle.End) (res translate.Result, calls []agui.Call, failed *agui.RunError) {
	e.TurnedDown = refuses(e.Status)
	e.Refused = e.TurnedDown || !r.exchange.connected.Load()
	res, err := endRun(r.h, r.log, r.exchange.Run, e.End)
	r.noteUpstream(e, &res)
	if e.Event.Type == agui.RunErrored && r.claim.Held() {
		calls = r.transcript.Calls()
	}
	if err != nil {
		res.Before, res.Spoke, failed = nil, "", r.translationError(err)
	}
	res.Before = r.withCalls(res.Before)
	if res.Spoke != "" {
		r.exchange.dialect = res.Spoke
	}
	return res, calls, failed
}

// facts are what is known of the run when its exchange has ended with res.
func (r *run) facts(res *translate.Result, calls []agui.Call) settle.Facts {
	o := &r.h.opts
	f := settle.Facts{
		Input: &r.in, Came: r.request.input.Messages, Record: &r.record, Answers: r.answers.list,
		Claimed: r.claim.Held(), Evidence: r.exchange.evidence(), Resumes: r.exchange.Out.Resumes, Calls: calls,
		Dialect: r.exchange.speaks(r.h.routes.finder), Listener: r.listener(), Transcript: r.transcript, Beside: r.beside,
		ByArray: r.in.HasResume && !r.readFor.carries, Unseen: r.request.ours,
	}
	if len(res.Asked.Interrupts) == 0 {
		return f
	}
	if r.withheldFrom != nil {
		f.Whole = r.wholeTranscript()
	}
	f.Describer, _ = o.Dialect.(translate.Describer)
	f.YesNo, f.Stood = o.Answers, r.stood
	f.PauseID, f.From, f.Origin, f.Going = ids.Random128(), r.h.intake.AddressHash(r.request.http), r.origin(), r.going()
	f.NewID, f.Now, f.Limits = o.NewID, o.Now(), settle.Limits{FrameBytes: o.MaxFrameBytes, InterruptTTL: o.InterruptTTL}
	return f
}

// refuses reports whether an HTTP status means that the backend did not take the answers at all.
func refuses(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return false // it may have begun
	}
	return status >= 300 && status < 500
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

// toldDoubt closes a doubt that this run tells, if a client is there to be told.
func (r *run) toldDoubt() {
	gone := r.life.detached.Load() || r.life.client.Err() != nil || r.body != nil && r.body.apart.ended
	if gone || r.request.ours {
		return
	}
	err := r.ledger.Close(r.record.Pause.ID, store.Result{How: store.Doubtful})
	if err != nil && !ledger.EndedAlready(err) {
		r.log.Error("doubt not closed by the store: it will be told once more", "err", err)
	}
}
