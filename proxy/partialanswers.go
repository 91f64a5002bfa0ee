package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// keepPart saves the answers of a request that leaves other questions open, if its client sends
// only the answer of its last message. Such a client puts each answer into a message of its own, so
// no single request of it would answer all questions. Each answer is saved as a decision in the
// record, and the refusal asks the client for the remaining ones.
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
