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

// A run translates one exchange. Everything of Strands' stands in the terminal event.
type run struct {
	d    *Dialect
	r    *translate.Request
	lost strandsapi.LostDetector
	cuts []translate.WithheldMessage // what the client has, and the backend was not sent
	// worked says that the backend did more than begin. A run that is refused ends before that.
	worked bool
	// further says that the run is an exchange behind the answers.
	further bool
	cancels *kit.Cancels // of a resume that cancels what Holdpoint does not know; else nil
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	run.lost.See(ev)
	switch ev.Type {
	case agui.RunStarted, agui.StateSnapshot, agui.MessagesSnapshot:
	default:
		run.worked = true
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
	return run.worked
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
		if resumes && !run.worked && askedByPython(run.r.Pause) {
			return translate.Result{Fate: translate.InDoubt}, nil
		}
		if len(run.r.New) > 0 {
			res.Next = run.d.next(run.r)
		}
	case agui.RunErrored:
		if resumes {
			return run.endRefused(e.Event), nil
		}
		if asked, waits := run.waits(e.Event); waits {
			return asked, nil
		}
	}
	if !resumes && run.lost.Likely(run.r, e.Event) {
		run.d.lost.Do(func() { run.d.warn(strandsapi.LostHint) })
	}
	return res, nil
}

// paused returns the result of a run that asks.
func (run *run) paused(list []gjson.Result, finish agui.Event) translate.Result {
	p := translate.AskedPause{OwnFinish: slices.Clone(finish.JSON)}
	seen := calls(run.r.Transcript)
	old := run.cutCalls()
	for _, native := range list {
		i := readQuestion(native, seen).interrupt()
		delete(old, i.ToolCallID()) // an id that came again
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

// askedByPython reports whether a success that brought nothing may be a failure. If a hook failed
// on the answer, ag_ui_strands 0.3.0 ends the resume like that (RAN), and calls that were approved
// beside it have run. It is rare that a model says nothing about a result.
func askedByPython(p agui.Pause) bool {
	return slices.ContainsFunc(p.Interrupts, func(i agui.Interrupt) bool { return privateOf(i).Python })
}

// endRefused returns the result of a resume that ended in RUN_ERROR. The adapters judge the answers
// before they do anything. What they say then means that nothing was done. Later the same words may
// mean something else.
//
// An answer is lost if the adapter does not hold its question open any more, after a restart or
// because of something that Holdpoint did not see. It is also lost if the adapter will never take
// it. In all other cases the question stays as it is.
func (run *run) endRefused(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code := agui.Code(ev.Get("code").Str)
	if code == agui.BackendLostInterrupt { // a Holdpoint behind this one says it of its own backend
		return translate.Result{Fate: translate.Lost}
	}
	if run.worked {
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
