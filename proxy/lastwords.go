package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/client"
	"holdpoint/store"
	"holdpoint/translate"
)

// A client keeps its list of open questions at a RUN_ERROR, and sends nothing but a resume from
// then on. CopilotKit and assistant-ui show no card for that list any more, so nobody can send one:
// the chat is locked. A RUN_FINISHED makes the list anew. So a stream that answers something ends
// in two events: RUN_FINISHED says what is open now, and a late RUN_ERROR gives the reason. AG-UI
// 1.0 allows that one event behind the end of a run.

// A refusal is why a stream ends in an error, see client.Refusal.
type refusal = client.Refusal

// ruledRefusal returns the refusal of a request that was refused before anything was sent. stands
// is what stands in place of its answers, nil if nothing does.
func (r *run) ruledRefusal(refused *agui.RunError, stands *contract.Standing) *refusal {
	why := refusalOf(refused.Event(), nothingDone)
	switch {
	case stands != nil:
		why.Text = standingText(stands, r.saidAnswers(), r.record.Now, r.h.opts.ShowPrincipal)
		why.Stands = slices.Clone(stands.Answers)
		for n := range why.Stands {
			if r.h.opts.ShowPrincipal != principal.ShowName {
				why.Stands[n].By = ""
			}
		}
	case refused.Code == agui.ResumeConflict:
		why.Text = contradictionText
	}
	return why
}

// saidAnswers are the answers of the request, by what they say to the questions that the record
// knows.
func (r *run) saidAnswers() []saidAnswer {
	list := make([]saidAnswer, len(r.answers.list))
	read := r.readings(r.answers.list)
	for n := range r.answers.list {
		a := &r.answers.list[n]
		list[n] = saidAnswer{status: a.Status, says: saysOf(a, read[n])}
	}
	return list
}

// refusalOf is the refusal of a RUN_ERROR. became is what became of the answers.
func refusalOf(failed agui.Event, became aftermath) *refusal {
	code := agui.Code(failed.Get("code").Str)
	return &refusal{
		Code: code, Text: textFor(code, became), Detail: agui.Cut(failed.Get("message").Str),
		MayHaveRun: became == mayHaveRun || code == agui.ResumeInDoubt,
	}
}

// answersSomething says whether the request at hand answers something, as far as can be known, or
// its thread waits for answers. A run of the same stream behind the first one answers nothing.
func (r *run) answersSomething() bool {
	if r.body != nil && r.body.laterRuns > 0 {
		return false
	}
	if in := r.request.input; in.HasResume {
		return true
	} else if _, sent := in.CommandResume(); sent {
		return true
	}
	return r.request.answers
}

// lastWords append the end of a stream that fails with a RUN_ERROR. open is the pause that still
// waits, nil if nothing does. In a stream with more open than is known RUN_ERROR stands alone,
// because a client fails at a RUN_FINISHED there.
func (r *run) lastWords(events []agui.Event, failed agui.Event, open *agui.Pause, became aftermath) []agui.Event {
	return r.endWith(events, failed, open, refusalOf(failed, became))
}

// endWith is lastWords with the reason for the person.
func (r *run) endWith(events []agui.Event, failed agui.Event, open *agui.Pause, why *refusal) []agui.Event {
	if !r.answersSomething() {
		return append(events, failed)
	}
	if r.transcript != nil {
		if !r.transcript.KnowsOpen() {
			return append(events, failed)
		}
		events = append(events, r.transcript.Unclosed(true)...)
	}
	if open == nil {
		return append(events, r.explained(r.finishEvent(), why), failed)
	}
	again := r.tellAgain(open, why)
	events = append(events, again...)
	// The backend's own form has no place for the reason, so there the RUN_ERROR goes if nothing is
	// asked again.
	if !r.listener().TakesErrorAfterQuestions(r.show != translate.ShowNative || len(again) > 1) {
		return events
	}
	return append(events, failed)
}

// byPage says whether a page in a browser reads the stream itself. Of such pages, assistant-ui
// takes its card away at a RUN_ERROR behind interrupts, and keeps its list (react-ag-ui 0.0.57).
// The reason in the interrupts is enough for a page. Browsers send Origin with every POST, and a
// page can neither leave it out nor forge it. Node's fetch sends Sec-Fetch-Mode too, but no Origin.
func (r *run) byPage() bool { return r.request.http.Header.Get("Origin") != "" }

// explained is a RUN_FINISHED with a refusal.
func (r *run) explained(finish agui.Event, why *refusal) agui.Event {
	return r.listener().Explained(finish, why)
}

// withNotTaken is the end of a run. It says that the answers beside the message were not taken, if
// there were any.
func (r *run) withNotTaken(finish agui.Event) agui.Event {
	if r.notTaken == nil || finish.Type != agui.RunFinished || !finish.Valid() || r.body != nil && r.body.laterRuns > 0 {
		return finish
	}
	return r.explained(finish, r.ruledRefusal(r.notTaken, r.stands))
}

// latestSnapshots show what the thread has come to, to a page that has missed it. A page that has
// gone on since has a later state than the record, for that is kept of answered runs only.
func (r *run) latestSnapshots() []agui.Event {
	if len(r.record.Results) == 0 {
		return nil
	}
	latest := r.record.Results[0]
	if !r.showsEnd(latest.Pause) {
		return nil
	}
	known := map[string]bool{}
	for _, s := range latest.Seen {
		known[s.ID] = true
	}
	for _, m := range r.in.Messages {
		if m.Role != "tool" && m.ID != "" && !known[m.ID] {
			return nil
		}
	}
	return r.storedSnapshots(endedSnapshots(latest), latest.Seen)
}

// showsEnd reports whether the client is shown what its thread has come to since the pause. A
// client that is shown its backend's own form is not if it answers by messages: the record has left
// those out, and a call without its answer would stay in the client's history.
func (r *run) showsEnd(p *agui.Pause) bool {
	return r.show != translate.ShowNative ||
		p != nil && !slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return len(i.Keys) > 0 })
}

// aftermathOf is what became of the answers of a pause that ended so.
func aftermathOf(how store.How) aftermath {
	switch how {
	case store.Doubtful:
		return mayHaveRun
	case store.Lost:
		return nothingDone
	}
	return handedOn
}
