package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// keepPart saves the answers of a request that leaves other questions open. It does this only for a
// client that sends each answer in a separate message, and sends only the answer of its last
// message. No single request of such a client would answer all questions. keepPart saves each
// answer as a decision in the record, and the refusal of the request asks the client for the other
// answers.
func (j *judge) keepPart(v contract.Ruling) {
	p, answers := j.record.Pause, j.answers.list
	partial := v.Do == contract.Refuse && v.Refusal != nil && v.Refusal.Code == agui.PartialResume
	if !partial || !j.request.client.OmitsQuestions() || j.record.State != store.Open || contract.JudgeDecisions(j.newCase()) != nil {
		return
	}
	read := j.interpret(p, answers)
	var list []agui.Decision
	for n, a := range answers {
		if p.Decision(a.ID) == nil {
			d := decisionOf(p, a, read[n])
			d.Door = string(event.Chat)
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return
	}
	if err := j.ledger.Decide(p, list); err != nil {
		j.log.Warn(logPartUnsaved, "err", err)
		return
	}
	decided := *p
	decided.Decisions = append(slices.Clone(p.Decisions), list...)
	j.record.Pause = &decided
}
