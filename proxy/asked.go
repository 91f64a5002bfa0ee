package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/translate/kit"
)

// A yes is for the call that a person was shown. Backends that keep nothing (pydantic-ai without a
// store) take that call out of the request's messages, so that whoever writes those would decide
// what runs: other arguments, or another tool. The record has the call as it was shown, and a
// resume brings that one, in every dialect.

// restoreCalls returns the messages of a resume with the calls that the pause asks about as the
// record has them. It refuses a yes if nobody can say what it would run.
func (j *judge) restoreCalls(p *agui.Pause, answers []agui.Answer, list []agui.Message) ([]agui.Message, *agui.RunError) {
	copy(answers, history.Meanings(p, answers))
	restored, refused := history.RestoreCalls(p, answers, list)
	if len(restored.Calls) > 0 {
		j.log.Warn(logCallsRestored, "calls", len(restored.Calls), "call_ids", cutAll(restored.Calls))
	}
	return restored.Messages, refused
}

// logUnclear logs answers that nobody can judge: the question has no schema, and the payload is
// neither a clear yes nor a clear no. It goes to the backend as it came, and some backends take
// anything for a yes.
func (j *judge) logUnclear(p *agui.Pause, answers []agui.Answer) {
	for n, a := range answers {
		i := p.Interrupts[n]
		if a.Status != agui.Resolved || i.Schema() != nil && !a.Own || a.Says != agui.Unclear || kit.Approves(a.Payload) {
			continue
		}
		args := []any{"interrupt", agui.Cut(i.ID), "reason", agui.Cut(i.Reason())}
		j.log.Debug("an answer to a question without a schema is neither a clear yes nor a clear no", args...)
		j.memory.once("unclear answer", func() {
			j.log.Warn(logUnclear, args...)
		})
	}
}

// cutAll are ids as they may stand in a log line.
func cutAll(ids []string) []string {
	const most = 20
	list := make([]string, 0, most)
	for _, id := range ids[:min(len(ids), most)] {
		list = append(list, agui.Cut(id))
	}
	return list
}
