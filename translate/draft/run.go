package draft

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
)

// pausePrivate is the state that the dialect stores, as JSON, in Pause.Private.
type pausePrivate struct {
	Form form `json:"form"`
	calls.KeptOfPause
}

// formOf returns the form in which the backend expects the answers to the pause. For a pause of
// another dialect it returns byArray. Such a pause exists if the operator selected this dialect
// after the question.
func formOf(p agui.Pause) form {
	var kept pausePrivate
	if json.Unmarshal(p.Private, &kept) != nil || p.Dialect != Name || kept.Form == "" {
		return byArray
	}
	return kept.Form
}

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. A draft's question is in the terminal event only.
type run struct {
	calls.Run
	d *Dialect
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := run.ended(e)
	res.HeldEvents = run.UnsentResults()
	return res, nil
}

func (run *run) ended(e translate.End) translate.Result {
	if e.Event.Type != agui.RunFinished || !e.Event.Valid() {
		return translate.Result{Finish: e.Event}
	}
	end := readEnd(e.Event, gjson.ParseBytes(e.Event.JSON))
	if natives, how := end.askedInterrupts(); len(natives) > 0 {
		return run.paused(end, natives, how)
	}
	if end.mayAskEarlier() {
		if asked := run.askingCalls(); len(asked) > 0 {
			return run.pauseByCalls(end, asked)
		}
		run.d.once.Do(func() {
			run.d.warn(logNothingAsked, "variable", "HOLDPOINT_TOOLS")
		})
	}
	res := translate.Result{Finish: e.Event}
	if run.Request.Show != translate.ShowNative {
		res.Finish = end.plainEnd()
	}
	if run.Answered != nil && len(run.Request.NewMessages) > 0 && res.Finish.Type == agui.RunFinished {
		// new messages need an exchange of their own: the answers must be last in theirs
		res.Next = run.Next()
		res.Next.Out.Body = agui.DeleteKey(res.Next.Out.Body, "protocolVersion")
	}
	return res
}

// paused returns the result of a run whose terminal event asks a question.
func (run *run) paused(end end, natives []gjson.Result, how form) translate.Result {
	asked := translate.AskedPause{Private: agui.MustMarshal(pausePrivate{Form: how})}
	known := run.calls()
	var gone []string
	result := gjson.Result{}
	// v1 has only one interrupt, so the member result belongs to it
	if how == byObject && !isNull(end.result) {
		result, gone = end.result, []string{"result"}
	}
	for _, native := range natives {
		asked.Interrupts = append(asked.Interrupts, interrupt(native, how, result, known))
	}
	return run.result(end, asked, gone...)
}

func (run *run) result(end end, asked translate.AskedPause, gone ...string) translate.Result {
	if run.Request.Show == translate.ShowNative {
		asked.NativeFinish = slices.Clone(end.ev.JSON)
	}
	return translate.Result{Asked: asked, Finish: end.withOutcome("", gone...)}
}

func (run *run) calls() []agui.Call {
	if run.Request.Transcript == nil {
		return nil
	}
	return run.Request.Transcript.Calls()
}
