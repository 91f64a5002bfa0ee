package standard

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// maxHeld bounds what is held behind an announcement. A backend announces at the end of a run. If
// the run goes on for longer, the event meant something else.
const maxHeld = 1 << 20

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. The outcome is in the terminal event. But some backends (Mastra,
// CrewAI) announce the pause by a CUSTOM on_interrupt before it, and no client may learn of a
// question before it is saved. So the run holds that event. It holds what follows too, to keep the
// order.
type run struct {
	resumes  bool
	left     *translate.Request // of a resume: New are the messages that did not go with the answers
	streamed bool               // anything but RUN_STARTED was seen

	held kit.Held[announced] // from the first announcement on
	late bool                // too much came after it: nothing is held any more
}

// announced is what the events wait for: there is one such thing.
type announced struct{}

func newRun() *run { return &run{held: kit.Held[announced]{Max: maxHeld}} }

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if ev.Type != agui.RunStarted {
		run.streamed = true
	}
	if run.late || run.held.Empty() && kit.Announced(ev) == kit.Nobody {
		emit(ev)
		return nil
	}
	run.held.Add(announced{}, ev)
	if run.held.Full() {
		run.late = true
		for _, h := range run.held.ReleaseAll() {
			emit(h)
		}
	}
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	if t != agui.RunStarted && !run.streamed {
		return false
	}
	return run.late || run.held.Empty() && t != agui.Custom
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	switch e.Event.Type {
	case agui.RunFinished:
		for range kit.Interrupts(e.Event) {
			res = paused(e.Event)
			break
		}
		if run.left != nil && len(run.left.New) > 0 && len(res.Asked.Interrupts) == 0 {
			res.Next = afterwards(run.left)
		}
	case agui.RunErrored:
		res = run.failed(e.Event)
	}
	for _, h := range run.held.ReleaseAll() {
		if len(res.Asked.Interrupts) > 0 && kit.Announced(h) != kit.Nobody {
			res.Asked.Own = append(res.Asked.Own, h.JSON)
		} else {
			res.Before = append(res.Before, h)
		}
	}
	return res, nil
}

// failed is the result of a run that ended in RUN_ERROR. Some codes say that a resume did nothing,
// if they are all that came. The integrations for Strands (integrations/aws-strands) and for
// Microsoft Agent Framework (issue 7570) check the answers first. A Holdpoint behind this one says
// that its own backend lost the question.
func (run *run) failed(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code := agui.Code(ev.Get("code").Str)
	switch {
	case run.resumes && code == agui.BackendLostInterrupt:
		return translate.Result{Fate: translate.Lost}
	case !run.resumes || run.streamed:
		return res
	}
	switch code {
	case agui.UnknownInterruptID, "APPROVAL_RESUME_NOT_FOUND":
		return translate.Result{Fate: translate.Lost}
	case agui.InvalidPayload, agui.PartialResume, agui.ThreadBusy,
		"APPROVAL_RESUME_INVALID", "APPROVAL_RESUME_INVALID_RESPONSE", "APPROVAL_RESUME_MISSING_INTERRUPT",
		"WORKFLOW_RESUME_INVALID", "WORKFLOW_RESUME_INVALID_RESPONSE", "WORKFLOW_RESUME_MISSING_INTERRUPT":
		res.Fate = translate.Untouched
	}
	return res
}

func paused(finish agui.Event) translate.Result {
	asked := translate.Asked{OwnFinish: slices.Clone(finish.JSON)}
	for i := range kit.Interrupts(agui.NewEvent(asked.OwnFinish)) {
		native, o := i.Get("id").Str, object(i)
		of := profileOf(native, i)
		if schema := of.schema; schema != "" && !agui.View(o).Get("responseSchema").Exists() {
			o = agui.SetKey(o, "responseSchema", []byte(schema))
		}
		asked.Interrupts = append(asked.Interrupts, agui.Interrupt{
			Native: native, Object: o,
			// A Holdpoint behind this one has left it out where it should be.
			CallUnseen: (of.hidesCall || i.Get("subagentRunId").Exists()) && !of.isMinted(native, i),
		})
	}
	return translate.Result{Finish: kit.WithoutOutcome(finish), Asked: asked}
}

// object is the interrupt as the client gets it, without its id. Every value keeps its bytes.
func object(i gjson.Result) []byte {
	o := kit.Pruned(i, "id")
	if agui.View(o).Get("reason").Type != gjson.String { // all clients fail at one that is no text
		o = agui.SetString(o, "reason", reasonDefault)
	}
	return o
}
