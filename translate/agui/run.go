package agui

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// A run translates one exchange. Nothing is held: the outcome is in the terminal event.
type run struct {
	resumes  bool
	streamed bool // anything but RUN_STARTED was seen
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if ev.Type != agui.RunStarted {
		run.streamed = true
	}
	emit(ev)
	return nil
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	switch e.Event.Type {
	case agui.RunFinished:
		if list := interrupts(e.Event); len(list) > 0 {
			return paused(list, e.Event), nil
		}
	case agui.RunErrored:
		return run.failed(e.Event), nil
	}
	return translate.Result{Finish: e.Event}, nil
}

// failed is the result of a run that ended in RUN_ERROR. On a resume, and only if it was all that came, some codes say
// that nothing was done: the integrations for Strands (integrations/aws-strands) and Microsoft Agent Framework (issue
// 7570) check the answers first. A Holdpoint behind this one says of its own backend that the question is lost.
func (run *run) failed(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code := agui.Code(ev.Get("code").Str)
	switch {
	case run.resumes && code == agui.BackendLostInterrupt:
		return translate.Result{Lost: true}
	case !run.resumes || run.streamed:
		return res
	}
	switch code {
	case agui.UnknownInterruptID, "APPROVAL_RESUME_NOT_FOUND":
		return translate.Result{Lost: true}
	case agui.InvalidPayload, agui.PartialResume, agui.ThreadBusy:
		res.Nothing = true
	}
	return res
}

func paused(list []gjson.Result, finish agui.Event) translate.Result {
	p := agui.Pause{Dialect: Name, NativeFinish: slices.Clone(finish.JSON)}
	for _, i := range list {
		p.Interrupts = append(p.Interrupts, agui.Interrupt{Native: i.Get("id").Str, Object: object(i)})
	}
	finish = finish.Clone()
	return translate.Result{Finish: finish.With(agui.DeleteKey(finish.JSON, "outcome")), Pause: p}
}

// object is the interrupt as the client gets it, but for the id: every value keeps its bytes.
func object(i gjson.Result) []byte {
	o := translate.Pruned([]byte(i.Raw), "id")
	if !gjson.GetBytes(o, "reason").Exists() {
		o = agui.SetString(o, "reason", reasonDefault)
	}
	return o
}
