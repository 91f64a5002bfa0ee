package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/history"
	"holdpoint/translate/kit"
)

// A person approves the call that was shown. But a backend that keeps no state (pydantic-ai without
// a store) reads the call from the messages of the request. So a client could change the arguments
// or the tool of the call after the approval. The record has the call as it was shown. Therefore a
// resume contains the call from the record, with every dialect.

// restoreCalls returns the messages of a resume. Each call that the pause asks about is replaced by
// the call in the record. restoreCalls refuses an approval if it is not certain which call the
// approval would run.
func (j *judge) restoreCalls(p *agui.Pause, answers []agui.Answer, list []agui.Message) ([]agui.Message, *agui.RunError) {
	copy(answers, history.WithMeanings(p, answers))
	restored, refused := history.RestoreCalls(p, answers, list)
	if len(restored.Calls) > 0 {
		j.log.Warn(logCallsRestored, "calls", len(restored.Calls), "call_ids", cutAll(restored.Calls))
	}
	return restored.Messages, refused
}

// logUnclear logs the answers that Holdpoint cannot judge: their question has no schema, and their
// payload is neither a clear yes nor a clear no. The backend gets the payload unchanged, and some
// backends read any payload as a yes.
func (j *judge) logUnclear(p *agui.Pause, answers []agui.Answer) {
	for n, a := range answers {
		i := p.Interrupts[n]
		if a.Status != agui.Resolved || i.Schema() != nil && !a.OwnForm || a.Meaning != agui.Unclear || kit.Approves(a.Payload) {
			continue
		}
		args := []any{"interrupt", agui.Shorten(i.ID), "reason", agui.Shorten(i.Reason())}
		j.log.Debug("an answer to a question without a schema is neither a clear yes nor a clear no", args...)
		j.memory.logOnce("unclear-answer", func() {
			j.log.Warn(logUnclear, args...)
		})
	}
}

// cutAll returns the first ids, at most twenty, each shortened for a log line.
func cutAll(ids []string) []string {
	const most = 20
	list := make([]string, 0, most)
	for _, id := range ids[:min(len(ids), most)] {
		list = append(list, agui.Shorten(id))
	}
	return list
}
