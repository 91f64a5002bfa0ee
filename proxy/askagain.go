package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// keepPart keeps the answers of a request that leaves questions open, if its client sends those of
// its last message only: a program that puts each answer into a message of its own would never
// answer all of them in one request. Such an answer stands in the record as a decision, and the
// application is asked for the rest.
func (r *run) keepPart(v contract.Ruling) {
	p, answers := r.record.Pause, r.answers.list
	partial := v.Do == contract.Refuse && v.Refusal != nil && v.Refusal.Code == agui.PartialResume
	if !partial || !r.request.client.OmitsQuestions() || r.record.State != store.Open || contract.JudgeDecisions(r.newCase()) != nil {
		return
	}
	read := r.interpret(p, answers)
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
	if err := r.ledger.Decide(p, list); err != nil {
		r.log.Warn("answers to a part of the questions are not kept: the application is asked for all of them", "err", err)
		return
	}
	decided := *p
	decided.Decisions = append(slices.Clone(p.Decisions), list...)
	r.record.Pause = &decided
}
