package awsstrands

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. Only its terminal event is changed.
type run struct {
	d        *Dialect
	r        *translate.Request
	lost     strandsapi.LostDetector
	withheld []translate.WithheldMessage // what the client has and the backend was not sent
	// hasEvents reports that the backend sent more than the first events. A refused run ends before
	// that.
	hasEvents bool
	// isFollowUp reports that the run is an exchange after the answers.
	isFollowUp bool
	cancels    *kit.Cancels // the ids that a cancel of an unknown question has, else nil
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	run.lost.Observe(ev)
	switch ev.Type {
	case agui.RunStarted, agui.StateSnapshot, agui.MessagesSnapshot:
	default:
		run.hasEvents = true
	}
	emit(ev)
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	if !run.lost.Passes(t) {
		return false
	}
	switch t {
	case agui.RunStarted, agui.StateSnapshot, agui.MessagesSnapshot:
		return true
	}
	return run.hasEvents
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	resumes := run.r.Pause.ID != ""
	switch e.Event.Type {
	case agui.RunFinished:
		if list := kit.Outcome(e.Event); len(list) > 0 {
			return run.paused(list, e.Event), nil
		}
		if resumes && !run.hasEvents && askedByPython(run.r.Pause) {
			return translate.Result{Fate: translate.InDoubt}, nil
		}
		if len(run.r.NewMessages) > 0 {
			res.Next = run.d.next(run.r)
		}
	case agui.RunErrored:
		if resumes {
			return run.endRefused(e.Event), nil
		}
		if asked, waits := run.lostQuestion(e.Event); waits {
			return asked, nil
		}
	}
	if !resumes && run.lost.LikelyAsked(run.r, e.Event) {
		run.d.lost.Do(func() { run.d.warn(strandsapi.LostHint) })
	}
	return res, nil
}

// paused returns the result of a run that asks a question.
func (run *run) paused(list []gjson.Result, finish agui.Event) translate.Result {
	p := translate.AskedPause{NativeFinish: slices.Clone(finish.JSON)}
	seen := calls(run.r.Transcript)
	old := run.cutCalls()
	for _, native := range list {
		i := readQuestion(native, seen).interrupt()
		delete(old, i.ToolCallID()) // another call with this id was made
		p.Interrupts = append(p.Interrupts, i)
	}
	var kept pausePrivate
	for _, c := range seen {
		if !c.Answered && !old[c.ID] && !run.r.Input.Declares(c.Name) {
			kept.Held = append(kept.Held, c.ID)
		}
	}
	slices.Sort(kept.Held)
	p.Private = agui.MustMarshal(kept)
	return translate.Result{Finish: kit.WithoutOutcome(finish), Asked: p}
}

// askedByPython reports whether Python's adapter asked. Its success without any event of the agent
// may be a failure: if a hook fails at the answer, ag_ui_strands 0.3.0 ends the resume this way
// (RAN), after it ran the other approved calls. Models rarely say nothing about a result.
func askedByPython(p agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return privateOf(i).Python })
}

// endRefused returns the result of a resume that ended in RUN_ERROR. The adapters check the answers
// first, so an error at that point means that nothing was done. Later the same message may mean
// something else.
//
// The answers are lost if the adapter no longer has the question open, for example after a restart,
// or if the adapter will never accept the answers. In all other cases the question stays open.
func (run *run) endRefused(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code := agui.Code(ev.Get("code").Str)
	if code == agui.BackendLostInterrupt { // sent by a Holdpoint behind this one, about its own backend
		return translate.Result{Fate: translate.Lost}
	}
	if run.hasEvents {
		return res
	}
	if freed, ok := run.endFreed(ev); ok {
		return freed
	}
	switch code {
	case unknownTS, // up to 0.2.3
		agui.UnknownInterruptID, "INTERRUPT_RESUME_ERROR", agui.InterruptExpired: // Python
		return translate.Result{Fate: translate.Lost}
	case agui.PartialResume, agui.InvalidPayload, agui.ThreadBusy, agui.PendingInterrupts,
		"INTERRUPT_SESSION_REQUIRED", "INTERRUPT_SESSION_CAPABILITY_ERROR", "INTERRUPT_RECONCILIATION_ERROR",
		"SESSION_MANAGER_ERROR", "SESSION_MANAGER_INVALID_TYPE":
		res.Fate = translate.Untouched
	}
	return res
}
