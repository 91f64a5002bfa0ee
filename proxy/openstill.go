package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/settle"
	"holdpoint/translate"
)

// concludeAsking ends an exchange that asks. If it has failed, the questions are those that are
// open still, because several answers go in an exchange each. They are told with the reason, and
// behind them stands the late RUN_ERROR, as in lastWords.
func (r *run) concludeAsking(o *settle.Outcome) conclusion {
	c := r.concludePause(o)
	r.keepOpenCalls(false)
	last := len(c.events) - 1
	if o.Failure == nil || c.events[last].Type != agui.RunFinished {
		return c
	}
	failure := o.Failure.Event
	r.report.code = agui.Code(failure.Get("code").Str)
	if r.show != translate.ShowNative {
		why := refusalOf(failure, aftermathOf(o.Failure.How))
		c.events[last] = r.explained(client.ExplainedQuestions(c.events[last], why), why)
	}
	if !r.byPage() {
		c.events = append(c.events, failure)
	}
	return c
}
