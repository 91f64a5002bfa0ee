package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/settle"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/tell"
)

// tell writes a whole stream that no backend was asked for.
func (r *run) tell(out *stream.Writer, events []agui.Event) {
	r.beginStream(out)
	var b []byte
	for _, ev := range events {
		r.told.Tell(ev, func(ev agui.Event) {
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

// hearer returns the client of the run, with what this run has for it beside the end.
func (r *run) hearer() tell.Listener {
	l := tell.Listener{
		Listener: r.listener(), Calls: &r.knownCalls, Answers: r.answersSomething(),
		Withheld: client.Withheld{State: r.untold.state, Messages: r.untold.messages},
		Left:     errors.Is(context.Cause(r.life.ctx), context.Canceled),
	}
	if r.transcript != nil {
		l.Stream = r.transcript
	}
	if r.notTaken != nil {
		l.NotTaken = r.why(r.notTaken, r.stands)
	}
	return l
}

// answersSomething reports whether the request at hand answers something, as far as can be known,
// or its thread waits for answers. A run of the same stream behind the first one answers nothing.
func (r *run) answersSomething() bool {
	if r.body != nil && r.body.laterRuns > 0 {
		return false
	}
	in := r.request.input
	_, sent := in.CommandResume()
	return in.HasResume || sent || r.request.answers
}

// why returns why answers of the request do not count. stands is what stands in their place, nil if
// nothing does.
func (r *run) why(refused *agui.RunError, stands *contract.Standing) *client.Refusal {
	answers := make([]tell.Answer, len(r.answers.list))
	read := r.readings(r.answers.list)
	for n := range r.answers.list {
		a := &r.answers.list[n]
		answers[n] = tell.Answer{Status: a.Status, Says: agui.SaysOf(a, read[n])}
	}
	return tell.Why(refused, stands, answers, r.record.Now, r.h.opts.ShowPrincipal)
}

// ruled returns what the client is told of a ruling. It is nil if an exchange with the backend is
// ready to be sent.
func (r *run) ruled(v contract.Ruling) []agui.Event {
	switch v.Do {
	case contract.Pass, contract.Resume:
		return nil
	case contract.Quiet:
		r.notTaken = v.NotTaken
	case contract.Refuse:
		if v.Refusal == nil {
			v.Refusal = agui.Errorf(agui.ResumeInProgress, "the client left while a resume of this thread was running")
		}
	}
	switch v.Do { // who is told of it need not wait for the store
	case contract.Replay:
		r.tellRuled(event.Replayed, v.Replay.Pause, "")
	case contract.Refuse:
		r.tellRefused(v.Refusal.Code)
	}
	l := r.hearer()
	kept := r.fetched(tell.Wants(&l, &r.record, &v))
	switch v.Do {
	case contract.TellAgain:
		return r.note(tell.Again(&l, &r.record, kept))
	case contract.Quiet:
		return r.note(tell.Quiet(&l))
	case contract.Replay:
		return r.note(tell.Replayed(&l, &r.record, v.Replay, kept))
	}
	return r.note(tell.Refused(&l, &r.record, v.Refusal, r.why(v.Refusal, v.Stands), v.Reask, kept))
}

// fetched asks the store for snapshots. Without them the client is told the rest.
func (r *run) fetched(refs []settle.Ref) tell.Fetched {
	kept := make(tell.Fetched, len(refs))
	for _, ref := range refs {
		shown := r.fetch(ref)
		var list []json.RawMessage
		for _, m := range gjson.ParseBytes(shown.Messages).Array() {
			list = append(list, json.RawMessage(m.Raw))
		}
		list, whole := history.WithAnswers(list, r.in.Messages, r.onlyAnswers())
		if !whole {
			list = nil
		}
		kept[ref] = &tell.Snapshots{List: list, Kept: shown.Messages, State: shown.State}
	}
	return kept
}

// note remembers for the log what the client is told, and returns that.
func (r *run) note(said tell.Said) []agui.Event {
	r.report.outcome = said.Outcome
	if said.Code != "" { // else that of an earlier run of the stream stays
		r.report.code = said.Code
	}
	if said.Paused != nil {
		r.report.paused = said.Paused
	}
	for _, o := range said.Omitted {
		r.logOmission(o)
	}
	return said.Events
}
