package proxy

import (
	"net/http"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/stream"
	"holdpoint/store"
	"holdpoint/translate"
)

// tell writes a whole stream that no backend was asked for.
func (r *run) tell(out *stream.Writer, events []agui.Event) {
	r.beginStream(out)
	var b []byte
	for _, ev := range events {
		r.readable.Tell(ev, func(ev agui.Event) {
			b = stream.AppendEvent(b, ev)
			r.report.told++
		})
	}
	if _, err := out.Write(b); err != nil {
		r.log.Debug("the client is gone", "err", err)
		return
	}
	_ = out.FlushError() // a client that is gone is seen at the next write
}

// beginStream sends the header of a stream of our own, once.
func (r *run) beginStream(out *stream.Writer) {
	if out.Began() {
		return
	}
	stream.MakeHeader(out.Header())
	r.returnID(out.Header())
	r.h.cors.Allow(out.Header(), r.request.http)
	out.WriteHeader(http.StatusOK)
	_ = out.FlushError()
}

// tellPause tells an open pause in the form that the client is shown: the backend's announcement
// (announce), what else there is to tell, the end.
func (r *run) tellPause(p *agui.Pause, announce, more []agui.Event) []agui.Event {
	q := client.Question{Pause: p, Announced: announce, More: more, NotTaken: len(r.beside) > 0}
	if r.transcript != nil {
		q.Unclosed = r.transcript.Unclosed(false)
	}
	return r.listener().Question(q)
}

// again tells the open pause to a request that brings nothing new: a reloaded page, the same POST
// once more.
func (r *run) again() []agui.Event {
	p := r.record.Pause
	r.report.outcome, r.report.paused = "interrupt again", p
	var shown []agui.Event
	if r.show != translate.ShowNative { // to such a client its backend's own stream is told again, and nothing else
		shown = r.storedSnapshots(askedSnapshots(p), p.Seen)
	}
	events := append([]agui.Event{r.startEvent()}, r.calledAgain(p)...)
	return append(events, r.tellPause(r.withRetoldIDs(p), r.announcement(p), shown)...)
}

func (r *run) quiet() []agui.Event {
	return []agui.Event{r.startEvent(), r.withNotTaken(r.finishEvent())}
}

// replay tells the recorded end of the pause that the same answers ended. If the thread has gone on
// to another question, that one is told: a client that was told nothing would lose it.
func (r *run) replay(result *store.Result) []agui.Event {
	open := r.stillAsked()
	if failed := agui.PeekType(result.Finish) == agui.RunErrored; open != nil && !failed {
		return r.again()
	}
	if result.Next != "" {
		r.report.outcome = "replay"
		events := append([]agui.Event{r.startEvent()}, r.streamedEnd(result)...)
		return append(append(events, r.latestSnapshots()...), r.finishEvent())
	}
	r.report.outcome = "replay"
	finish := r.forClient(r.withRunIDs(agui.NewEvent(slices.Clone(result.Finish)))) // another client may have been told it
	events := append([]agui.Event{r.startEvent()}, r.streamedEnd(result)...)
	if r.showsEnd(result.Pause) {
		events = append(events, r.storedSnapshots(endedSnapshots(result), result.Seen)...)
	}
	if finish.Type != agui.RunErrored {
		return append(events, finish)
	}
	return r.lastWords(events, finish, open, aftermathOf(result.How))
}

// refusal is what a refused request is told. What can still be asked is asked again. Where the
// question has ended, a page that does not know it yet is shown what came of it.
func (r *run) refusal(v contract.Ruling) []agui.Event {
	if v.Refusal == nil {
		v.Refusal = agui.Errorf(agui.ResumeInProgress, "the client left while a resume of this thread was running")
	}
	r.report.outcome, r.report.code = "refused", v.Refusal.Code
	r.tellRefused(v.Refusal.Code)
	events := []agui.Event{r.startEvent()}
	var open *agui.Pause
	if v.Reask {
		open = r.stillAsked()
	}
	if open == nil && r.answersSomething() {
		events = append(events, r.latestSnapshots()...)
	}
	return r.endWith(events, v.Refusal.Event(), open, r.ruledRefusal(v.Refusal, v.Stands))
}

// stillAsked is the pause of the record if it has a question that waits for its answer, else nil.
func (r *run) stillAsked() *agui.Pause {
	if p := r.record.Pause; r.record.State == store.Open && !p.Decided() {
		return p
	}
	return nil
}

// tellAgain tells the pause of the record as it stands, whatever this request has brought, and why
// it is told again.
func (r *run) tellAgain(p *agui.Pause, why *refusal) []agui.Event {
	defer func(beside messagesBesideAnswers) { r.beside = beside }(r.beside)
	r.beside = nil
	if r.show == translate.ShowNative {
		return r.tellPause(p, r.announcement(p), nil)
	}
	told := client.WithRefusal(r.withRetoldIDs(p), why)
	events := append(r.calledAgain(p), r.tellPause(told, r.announcement(p), nil)...)
	last := len(events) - 1
	events[last] = r.explained(events[last], why)
	return events
}
