package proxy

import (
	"net/http"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// Backends of Microsoft's take a yes or no out of the history (translate.Approval), and believe what it says was asked.
// A client behind Holdpoint never holds such a pair, unless it is shown the backend's own form (HOLDPOINT_CLIENT=native).

// strayApprovals are the native approvals of the request that answer no open question: all but those that the dialect
// read as answers, and those of a question that the record knows as answered.
func strayApprovals(in agui.RunInput, rec store.Record, answers []agui.Answer) []translate.Approval {
	if len(in.Messages) == 0 {
		return nil
	}
	return slices.DeleteFunc(translate.Approvals(in.Raw), func(a translate.Approval) bool {
		return carries(in.Messages[a.At], answers) || slices.ContainsFunc(a.IDs, func(id string) bool { return answered(rec, id) })
	})
}

// carries says whether the message is one of those by which the client answers.
func carries(m agui.Message, answers []agui.Answer) bool {
	seen := agui.See(m)
	return seen != (agui.SeenMessage{}) && slices.ContainsFunc(answers, func(a agui.Answer) bool { return a.Message == seen })
}

// onlyCarries says whether the message answers and says nothing else.
func (q question) onlyCarries(m agui.Message) bool {
	if !carries(m, q.answers) {
		return false
	}
	_, says := translate.WithoutFunctionApprovals(m)
	return !says
}

// answered says whether the record has an ended pause with an interrupt of that id, the client's or the backend's.
func answered(rec store.Record, id string) bool {
	return slices.ContainsFunc(rec.Results, func(r store.Result) bool {
		if r.How != store.Finished {
			return false
		}
		native := func(i agui.Interrupt) bool { return i.Native == id || i.ToolCallID() == id }
		return slices.Contains(r.IDs, id) || r.Pause != nil && slices.ContainsFunc(r.Pause.Interrupts, native)
	})
}

// refuseStray refuses a request that ends in an approval of what nobody asked. One that a person's words follow is of
// another day: it is taken out, see withoutStray.
func (q question) refuseStray() (decision, bool) {
	for _, a := range strayApprovals(q.in, q.record, q.answers) {
		if !wordsAfter(q.in.Messages, a.At) {
			d := refuse(agui.UnknownInterruptID, "the messages hold an approval for which no question of this thread is open")
			d.reask = q.record.Pause != nil
			return d, true
		}
	}
	return decision{}, false
}

// wordsAfter says whether a user's message stands behind that place.
func wordsAfter(list []agui.Message, at int) bool {
	return slices.ContainsFunc(list[at+1:], func(m agui.Message) bool {
		if m.Role != "user" {
			return false
		}
		if _, says := translate.WithoutFunctionApprovals(m); says {
			return true
		}
		return len(translate.Approvals(agui.SetKey([]byte("{}"), "messages", agui.MessageList([]agui.Message{m})))) == 0
	})
}

// withoutStray is the input without the approvals that answer no open question. answers are what the run hands on.
func (r *run) withoutStray(in agui.RunInput, answers []agui.Answer) agui.RunInput {
	stray := strayApprovals(in, r.record, answers)
	if len(stray) > 0 {
		r.log.Warn("approvals in the history taken out: no question of this thread is open for them", "approvals", len(stray))
	}
	return translate.WithoutApprovals(in, stray)
}

// withoutCarriers is the input of a resume without the messages that carry its answers. What else such a message says is
// left of it.
func withoutCarriers(in agui.RunInput, answers []agui.Answer) agui.RunInput {
	var kept []agui.Message
	changed := false
	for _, m := range in.Messages {
		if !carries(m, answers) {
			kept = append(kept, m)
			continue
		}
		changed = true
		if rest, says := translate.WithoutFunctionApprovals(m); says {
			kept = append(kept, rest)
		}
	}
	if !changed {
		return in
	}
	return in.WithMessages(kept)
}

// approvesOutsideRun says whether a body that is no run holds a native approval: some endpoint behind Holdpoint may take it
// for a run all the same.
func approvesOutsideRun(body []byte) error {
	if len(translate.Approvals(body)) == 0 {
		return nil
	}
	return &requestError{http.StatusBadRequest, "the messages hold an approval, and the body is no run (RunAgentInput)"}
}
