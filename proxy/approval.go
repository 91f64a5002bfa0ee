package proxy

import (
	"net/http"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
)

// Backends of Microsoft's take a yes or no out of the history (translate.Approvals), and believe what it says was asked.
// A client behind Holdpoint never holds such a pair, unless it is shown the backend's own form (HOLDPOINT_CLIENT=native).

// strayApprovals are the places of the request's native approvals that are neither among the answers nor settled.
func strayApprovals(in agui.RunInput, answers []agui.Answer, settled []agui.SeenMessage) []int {
	if len(in.Messages) == 0 {
		return nil
	}
	return slices.DeleteFunc(translate.Approvals(in.Raw), func(at int) bool {
		m := in.Messages[at]
		return carries(m, answers) || slices.Contains(settled, agui.See(m))
	})
}

// oldAnswers are the messages of a request by which ended pauses of its thread were answered, and those of them that are
// settled: the pause ended well with just these answers, the record knows their digest. A yes beside a question that was
// denied is not settled.
func (r *run) oldAnswers() (all, settled []agui.SeenMessage) {
	for _, result := range r.record.Results {
		if result.Pause == nil {
			continue
		}
		answers, err := r.h.opts.Dialect.Answers(r.in, ended(*result.Pause))
		if err != nil {
			continue
		}
		for _, a := range answers {
			if a.Message == (agui.SeenMessage{}) {
				continue
			}
			all = append(all, a.Message)
			if result.How == store.Finished && result.Digest != "" && digestAnswers(answers) == result.Digest {
				settled = append(settled, a.Message)
			}
		}
	}
	return all, settled
}

// carries says whether the message is one of those by which the client answers.
func carries(m agui.Message, answers []agui.Answer) bool {
	seen := agui.See(m)
	return seen != (agui.SeenMessage{}) && slices.ContainsFunc(answers, func(a agui.Answer) bool { return a.Message == seen })
}

// onlyAnswers says whether the message answers this pause or one before, and says nothing else.
func (q question) onlyAnswers(m agui.Message) bool {
	if !carries(m, q.answers) && !slices.Contains(q.settled, agui.See(m)) {
		return false
	}
	_, says := translate.WithoutFunctionApprovals(m)
	return !says
}

// refuseStray refuses a request that ends in an approval of what nobody asked. One that a person's words follow, or an
// answer to what was asked, is of another day: it is taken out, see withoutStray.
func (q question) refuseStray() (decision, bool) {
	stray := strayApprovals(q.in, q.answers, q.settled)
	if len(stray) == 0 || stray[len(stray)-1] < q.lastSaid() {
		return decision{}, false
	}
	d := refuse(agui.UnknownInterruptID, "the messages hold an approval for which no question of this thread is open")
	d.reask = q.record.Pause != nil
	return d, true
}

// lastSaid is the place of the last message in which a person says something or answers what was asked, -1 if there is
// none.
func (q question) lastSaid() int {
	approvals := map[int]bool{}
	for _, at := range translate.Approvals(q.in.Raw) {
		approvals[at] = true
	}
	for at := len(q.in.Messages) - 1; at >= 0; at-- {
		m := q.in.Messages[at]
		if carries(m, q.answers) || slices.Contains(q.settled, agui.See(m)) {
			return at
		}
		if m.Role != "user" {
			continue
		}
		if _, says := translate.WithoutFunctionApprovals(m); says || !approvals[at] {
			return at
		}
	}
	return -1
}

// withoutStray is the input without the approvals that answer no open question. answers are what the run hands on. Of
// those that are settled a pair of request_approval stays, for its dialect makes an ordinary exchange of it. Any other goes:
// agent-framework-ag-ui before 1.0.0b260319 keeps nothing, and would run what was approved once more.
func (r *run) withoutStray(in agui.RunInput, answers []agui.Answer) agui.RunInput {
	if unknown := strayApprovals(in, answers, r.settled); len(unknown) > 0 {
		r.log.Warn("approvals in the history taken out: no question of this thread is open for them", "approvals", len(unknown))
	}
	pairs := map[agui.SeenMessage]bool{}
	for _, at := range translate.RequestApprovals(in.Raw) {
		pairs[agui.See(in.Messages[at])] = true
	}
	stays := slices.DeleteFunc(slices.Clone(r.settled), func(s agui.SeenMessage) bool { return !pairs[s] })
	in = translate.WithoutApprovals(in, strayApprovals(in, answers, stays))
	return without(in, func(m agui.Message) bool {
		seen := agui.See(m)
		return m.Role == "tool" && slices.Contains(r.old, seen) && !slices.Contains(stays, seen) && !carries(m, answers)
	})
}

// unsettled are the answers that did not end the pause that they answer.
func (r *run) unsettled(answers []agui.Answer) []agui.Answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a agui.Answer) bool { return slices.Contains(r.settled, a.Message) })
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

// stillIn are those of some messages that are left in list, in the form that they have there.
func stillIn(list, some []agui.Message) []agui.Message {
	wanted := make(map[agui.SeenMessage]bool, len(some))
	for _, m := range some {
		wanted[agui.See(m)] = true
	}
	var left []agui.Message
	for _, m := range list {
		if wanted[agui.See(m)] {
			left = append(left, m)
		}
	}
	return left
}

// approvesOutsideRun says whether a body that is no run holds a native approval: some endpoint behind Holdpoint may take it
// for a run all the same.
func approvesOutsideRun(body []byte) error {
	if len(translate.Approvals(body)) == 0 {
		return nil
	}
	return &requestError{http.StatusBadRequest, "the messages hold an approval, and the body is no run (RunAgentInput)"}
}
