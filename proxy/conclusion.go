package proxy

import (
	"errors"
	"log/slog"
	"net/http"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/tell"
	"holdpoint/store"
	"holdpoint/translate"
)

// conclude settles an exchange that has ended, and saves its outcome. The conclusion contains the
// events for the client, or says that another exchange follows. If panicked is true, the run ends,
// whatever its backend does.
//
// The outcome is saved before the client is told of it. So the record contains everything that the
// client was told.
func (r *run) conclude(e settle.End, panicked bool) conclusion {
	if panicked {
		return conclusion{events: r.giveUpClaim()}
	}
	res, calls, failed := r.endExchange(&e)
	if n := r.exchange.counted.Exchanges; failed == nil && res.Next != nil && n >= settle.MaxExchanges {
		r.log.Error(logTooManyExchanges, "exchanges", n)
	}
	f := r.facts(&res, calls)
	o := settle.Settle(&f, &res, &e, failed)
	if o.Next != nil {
		r.exchange.Exchange = *o.Next
		r.client.extra.withoutTaken(&o.Next.Out)
		return conclusion{events: o.HeldEvents, hasNextExchange: true, isHandled: true}
	}
	kept := r.saveOutcome(&o)
	l := r.client.tellListener()
	events := r.note(tell.EndOf(&l, &o, &kept))
	return conclusion{events: events, isHandled: o.Handled || kept.Doubtful || r.report.code == agui.StoreUnavailable}
}

// endExchange tells the dialect to end the exchange, and adds the events that the dialect held back
// to the transcript. calls are the calls of the stream before those events; they are set only if a
// claimed run has failed. failed is the error for the client if the dialect failed, and otherwise
// nil.
func (r *run) endExchange(e *settle.End) (res translate.Result, calls []agui.Call, failed *agui.RunError) {
	e.TurnedDown = refuses(e.Status)
	e.Refused = e.TurnedDown || !r.exchange.connected.Load()
	res, err := endRun(r.h.memory, r.log, r.exchange.Run, e.End)
	r.noteUpstream(e, &res)
	if e.Event.Type == agui.RunErrored && r.claim.Held() {
		calls = r.client.transcript.Calls()
	}
	if err != nil {
		res.HeldEvents, res.DetectedDialect, failed = nil, "", translationError(r.log, err)
	}
	res.HeldEvents = r.client.withCalls(res.HeldEvents)
	if res.DetectedDialect != "" {
		r.exchange.dialect = res.DetectedDialect
	}
	return res, calls, failed
}

// facts returns what is known of the run after its exchange has ended with res.
func (r *run) facts(res *translate.Result, calls []agui.Call) settle.Facts {
	o := &r.h.opts
	f := settle.Facts{
		Input: &r.judge.in, ClientMessages: r.judge.request.input.Messages, Record: &r.judge.record, Answers: r.judge.answers.list,
		Claimed: r.claim.Held(), Evidence: r.exchange.evidence(), Resumes: r.exchange.Out.Resumes, Calls: calls,
		Dialect: r.exchange.dialectOfBackend(), Listener: r.client.listener(), Transcript: r.client.transcript, Extra: r.client.extra,
		ByArray: r.judge.in.HasResume && !r.judge.selection.carriesPause, WithoutClient: r.judge.request.isOwn,
	}
	if len(res.Asked.Interrupts) == 0 {
		return f
	}
	if r.client.withheldFrom != nil {
		f.WholeTranscript = r.client.wholeTranscript()
	}
	f.Describer, _ = o.Dialect.(translate.Describer)
	f.YesNo, f.EarlierReplies = o.Answers, r.client.earlierReplies
	f.PauseID, f.AddressHash, f.Origin, f.Continuation = ids.Random128(), r.h.intake.AddressHash(r.judge.request.http), r.judge.origin(r.judge.traceparent()), r.judge.continuation()
	f.NewOnly = showsNewOnly(r.client.deltas, f.Listener.Page)
	if p := r.judge.record.Pause; r.judge.request.isOwn && p != nil {
		f.NewOnly = p.NewOnly // the request is not the client's
	}
	f.NewID, f.Now, f.Limits = o.NewID, o.Now(), settle.Limits{FrameBytes: o.MaxFrameBytes, InterruptTTL: o.InterruptTTL}
	return f
}

// refuses reports whether an HTTP status means that the backend did not accept the request at all,
// so that it has not acted on the answers.
func refuses(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return false // the backend may have begun to work
	}
	return status >= 300 && status < 500
}

// translationError returns the error for the client if a dialect failed with err.
func translationError(log *slog.Logger, err error) *agui.RunError {
	var told *agui.RunError
	if errors.As(err, &told) {
		return told
	}
	log.Error(logTranslationFailed, "err", err)
	return agui.Errorf(agui.UpstreamStatus, textUntranslated)
}

// closeToldDoubt closes the pause of a run that ended in doubt. It does so only if a client is
// still connected that can be told of the doubt.
func (r *run) closeToldDoubt() {
	gone := r.life.detached.Load() || r.life.client.Err() != nil || r.body != nil && r.body.reader.ended
	if gone || r.judge.request.isOwn {
		return
	}
	err := r.judge.ledger.Close(r.judge.record.Pause.ID, store.Result{EndKind: store.Doubtful})
	if err != nil && !ledger.EndedAlready(err) {
		r.log.Error(logDoubtNotClosed, "err", err)
	}
}

// A conclusion is the result of an exchange that has ended.
type conclusion struct {
	events          []agui.Event // the events to send to the client
	hasNextExchange bool         // the next exchange of the run is ready to be sent
	// something was reported, so a backend's HTTP error does not go to the client unchanged
	isHandled bool
}

// A run could be held open while its question is answered at another door, such as the desk, so
// that it continues in the same stream. This is not implemented. It would belong in run.conclude,
// between run.saveOutcome and tell.EndOf. A held run would wait there after the exchange with the
// backend is closed, in a new phase of the body between reading and outputOver. If no answer
// arrives, the client leaves or Holdpoint drains, tell.EndOf would follow. If answers arrive, the
// run would be a resume like any other: the answers become the input's resume array,
// pauseSelection.carry names the pause, and run.admit judges, prepares and claims. After that the
// phase is betweenExchanges, and body.next sends. Without another exchange, the client would get
// the events of run.tellRuling without RUN_STARTED. settle.MaxExchanges would bound such a run too,
// and the other fields of its Evidence would begin anew. Commit 2b85452b had all of it, with tests.

// saveOutcome saves the outcome of the run, and returns what the record contains after that. Once
// the question is saved, a resume of it can arrive before saveOutcome returns.
func (r *run) saveOutcome(o *settle.Outcome) (k tell.SavedPause) {
	ends := o.Ask == nil && o.Refused == nil
	if r.client.extra = o.Extra; ends {
		// first, because saving the notes about calls below may take time
		r.life.mayAsk.Store(false)
	}
	defer r.life.mayAsk.Store(false)
	switch {
	case o.Refused != nil:
		r.log.Error(logPauseRefused, "err", o.Refused)
	case o.Ask != nil:
		r.beforePause(o)
	case o.ShowsDialect:
		r.h.memory.noteRoute(r.judge.request.path, r.exchange.dialectOfBackend(), o.Backend)
		if o.Refuses {
			r.judge.noteSpoken(r.exchange.dialectOfBackend())
		}
	}
	k.SavedOutcome = r.judge.ledger.Keep(r.claim, o)
	switch {
	case k.Standing != nil:
		r.judge.record = *k.Standing
		k.Refused = agui.Errorf(agui.ThreadBusy, textOtherOpen)
		k.OpenPause = tell.OpenPause(&r.judge.record)
	case k.Err != nil && o.Ask != nil:
		k.Refused = r.judge.keepError(k.Err)
	case k.Err != nil:
		k.Refused = storeDown().Refusal
	case o.Refused != nil:
		k.Refused = o.Refused
	case o.Ask != nil:
		r.h.memory.savedPauses.Add(k.Pause.ID, struct{}{})
		r.client.forgetCalls(k.Pause)
	case k.Reopened:
		k.OpenPause = tell.OpenPause(&r.judge.record)
	case k.Doubtful:
		r.closeToldDoubt()
	}
	if o.End.EndKind == store.Lost && k.Err == nil {
		r.h.memory.noteLost(r.judge.record.Pause.ID, r.log)
	}
	k.Subagents = r.client.endSubagents(k.Pause)
	if k.Pause != nil || ends && k.OpenPause == nil {
		k.OwnResults = r.client.listener().OwnResults(&r.client.knownCalls, r.judge.record.Pause, k.Pause, ends && (k.Doubtful || k.Aftermath(o) == tell.MayHaveRun))
		r.client.noteOwnResults(k.OwnResults)
	}
	finished := ends && o.Finish.Type == agui.RunFinished
	r.client.keepOpenCalls(finished)
	switch {
	case r.client.newOnly && (k.Reopened || ends && !finished && k.Pause == nil):
		r.client.denyHabit()
	case (finished || k.Pause != nil) && !r.life.clientLeft():
		r.client.noteHabit()
	}
	return k
}

// beforePause saves what a resume needs. It must be called before the question itself is saved,
// because a saved question may be answered at once.
func (r *run) beforePause(o *settle.Outcome) {
	if o.RepliesErr != nil {
		// dialectFailed logs the error, and the question is asked nevertheless
		_ = r.judge.dialectFailed("Replies", o.RepliesErr)
	}
	if o.Whole {
		r.client.transcript = r.client.wholeTranscript()
	}
	r.client.ownPause = o.Ask.ID
	r.h.memory.noteRoute(r.judge.request.path, o.Ask.Dialect, o.Ask.Backend)
	r.judge.enterIndex(o.Ask)
}

// giveUpClaim ends a run that has panicked, and returns the events that end its stream. If its
// answers may have been sent to the backend, they are in doubt. If they were not sent, the claim is
// released.
func (r *run) giveUpClaim() []agui.Event {
	told, after, open := internalError(), tell.NothingDone, (*agui.Pause)(nil)
	sent, result := r.exchange.evidence().MayHaveSent(), store.Result{EndKind: store.Doubtful}
	if sent {
		after = tell.MayHaveRun
	}
	if sent && r.claim.Held() {
		f := r.facts(&translate.Result{}, nil)
		result = f.Doubt()
	}
	r.report.outcome, r.report.code = "error", told.Code
	switch kept := r.judge.ledger.Keep(r.claim, &settle.Outcome{End: result, ReopensPause: !sent}); {
	case kept.Err != nil:
		told = storeDown().Refusal
	case kept.Reopened:
		open = tell.OpenPause(&r.judge.record)
	}
	l := r.client.tellListener()
	return tell.BrokenEnd(&l, nil, told.Event(), open, after)
}

// tellRuling returns the events that tell the client about a ruling. It returns nil if an exchange
// with the backend is ready to be sent instead.
func (r *run) tellRuling(v contract.Ruling) []agui.Event {
	switch v.Do {
	case contract.Pass, contract.Resume:
		return nil
	case contract.EmptyRun:
		r.client.notTaken = v.AnswersUnused
	case contract.Refuse:
		if v.Refusal == nil {
			v.Refusal = agui.Errorf(agui.ResumeInProgress, textLeftResume)
		}
	}
	switch v.Do { // events are reported before the snapshots are loaded from the store
	case contract.Replay:
		r.judge.reportRuling(event.Replayed, v.Replay.Pause, "")
	case contract.Refuse:
		r.judge.reportRefusal(v.Refusal.Code)
	}
	l := r.client.tellListener()
	kept := r.client.fetchSnapshots(tell.NeededSnapshots(&l, &r.judge.record, &v))
	switch v.Do {
	case contract.TellAgain:
		return r.note(tell.QuestionAgain(&l, &r.judge.record, kept))
	case contract.EmptyRun:
		return r.note(tell.NothingToAnswer(&l))
	case contract.Replay:
		return r.note(tell.ReplayedEnd(&l, &r.judge.record, v.Replay, kept))
	}
	return r.note(tell.Refused(&l, &r.judge.record, v.Refusal, r.client.refusal(v.Refusal, v.Standing), v.AsksAgain, kept))
}

// note records what the client is about to be told, for the log, and returns the events for the
// client.
func (r *run) note(reply tell.Reply) []agui.Event {
	r.report.outcome = reply.Outcome
	if reply.Code != "" { // otherwise the code of an earlier run of the stream stays
		r.report.code = reply.Code
	}
	if reply.Paused != nil {
		r.client.paused = reply.Paused
	}
	for _, o := range reply.OmittedSnapshots {
		r.client.logOmission(o)
	}
	return reply.Events
}

// sendReply writes a complete stream to the client. It is for a run that was not sent to a backend.
func (r *run) sendReply(out *stream.Writer, events []agui.Event) {
	r.beginStream(out)
	var b []byte
	for _, ev := range events {
		r.client.stream.Send(ev, func(ev agui.Event) {
			b = stream.AppendEvent(b, ev)
			r.report.eventsMade++
		})
	}
	if _, err := out.Write(b); err != nil {
		r.log.Debug("the client is gone", "err", err)
		return
	}
	_ = out.FlushError() // if the client is gone, the next write fails
}

// beginStream sends the header of a stream that Holdpoint makes, unless it is already sent.
func (r *run) beginStream(out *stream.Writer) {
	if out.HasBegun() {
		return
	}
	stream.MakeHeader(out.Header())
	r.judge.returnID(out.Header())
	r.h.cors.Allow(out.Header(), r.judge.request.http)
	out.WriteHeader(http.StatusOK)
	_ = out.FlushError()
}
