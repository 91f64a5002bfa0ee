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

// A run translates one exchange. It changes only the terminal event.
type run struct {
	d        *Dialect
	r        *translate.Request
	lost     strandsapi.LostDetector
	withheld []translate.WithheldMessage // what the client has, but the backend was not sent
	// hasEvents is true if the backend sent an event other than RUN_STARTED and the snapshots. A
	// refused run ends before that.
	hasEvents bool
	// isFollowUp is true if this exchange follows the exchange with the answers.
	isFollowUp bool
	cancels    *kit.Cancels // the ids that a cancel of a lost question names, or nil
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
		delete(old, i.ToolCallID()) // the id now belongs to a newer call
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

// askedByPython reports whether Python's adapter asked a question of the pause. If it did, a resume
// that succeeds without any event of the agent may be a failure. ag_ui_strands 0.3.0 ends the
// resume in this way if a hook fails at the answer (RAN), after it ran the other approved calls. A
// model rarely says nothing about a result.
func askedByPython(p agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return privateOf(i).Python })
}

// endRefused returns the result of a resume that ended with the RUN_ERROR ev. The adapters check
// the answers first, so an error as the first event means that nothing was done. Later in the
// stream the same message may mean something else.
//
// The answers are lost if the adapter no longer has the question open, for example after a restart,
// or if the adapter will never accept the answers. In all other cases the question stays open.
func (run *run) endRefused(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code := agui.Code(ev.Get("code").Str)
	// a second Holdpoint, behind this one, sent it about its own backend
	if code == agui.BackendLostInterrupt {
		return translate.Result{Fate: translate.Lost}
	}
	if run.hasEvents {
		return res
	}
	if freed, ok := run.endFreed(ev); ok {
		return freed
	}
	switch code {
	case unknownTS, // TypeScript up to 0.2.3
		// codes of Python's adapter
		agui.UnknownInterruptID, "INTERRUPT_RESUME_ERROR", agui.InterruptExpired:
		return translate.Result{Fate: translate.Lost}
	case agui.PartialResume, agui.InvalidPayload, agui.ThreadBusy, agui.PendingInterrupts,
		"INTERRUPT_SESSION_REQUIRED", "INTERRUPT_SESSION_CAPABILITY_ERROR", "INTERRUPT_RECONCILIATION_ERROR",
		"SESSION_MANAGER_ERROR", "SESSION_MANAGER_INVALID_TYPE":
		res.Fate = translate.Untouched
	}
	return res
}
