package proxy

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// concludeAsking ends an exchange that asks. If it has failed, the questions are those that are
// open still, because several answers go in an exchange each. They are told with the reason, and
// behind them stands the late RUN_ERROR, as in lastWords.
func (r *run) concludeAsking(res *translate.Result, e *ending) conclusion {
	c := r.concludePause(res)
	r.keepOpenCalls(false)
	last := len(c.events) - 1
	if !res.Failed || c.events[last].Type != agui.RunFinished {
		return c
	}
	failure, became := r.failure(res, e)
	r.report.code = agui.Code(failure.Get("code").Str)
	if r.show != translate.ShowNative {
		why := refusalOf(failure, became)
		c.events[last] = r.explained(explainedInterrupts(c.events[last], why), why)
	}
	if !r.byPage() {
		c.events = append(c.events, failure)
	}
	return c
}

// failure is the RUN_ERROR of an exchange that has failed behind others, and what became of its
// answer.
func (r *run) failure(res *translate.Result, e *ending) (agui.Event, aftermath) {
	if e.Refused && e.broken != nil {
		return e.broken.Event(), handedOn // the answers before this one were
	}
	finish, result := r.outcomeOf(&translate.Result{Fate: res.Fate}, e, res.Fate)
	return r.withRunIDs(finish), aftermathOf(&result)
}

// explainedInterrupts is a RUN_FINISHED whose interrupts say why they are told again.
func explainedInterrupts(finish agui.Event, why *refusal) agui.Event {
	var list []json.RawMessage
	for _, i := range gjson.GetBytes(finish.JSON, "outcome.interrupts").Array() {
		list = append(list, withRefusal([]byte(i.Raw), why))
	}
	return finish.With(agui.SetKey(finish.JSON, "outcome.interrupts", agui.List(list)))
}
