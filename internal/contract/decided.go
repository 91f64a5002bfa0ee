package contract

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// Questions may be decided at other doors, one by one, while the pause is open. A decision stands,
// and is an answer of every resume of the pause, whoever sends that.

// JudgeDecisions rules on decisions at another door, before they are written down. c.Answers are
// the decisions, on questions of the open pause. A decision that could not be carried later is
// refused here, because it could not be taken back. It returns nil if they may be written down.
// Whether the pause is open still, and whether somebody was quicker, the store's step says.
func JudgeDecisions(c *Case) *agui.RunError {
	p := c.Record.Pause
	for _, a := range c.Answers {
		i := p.Interrupt(a.ID)
		if i == nil {
			return c.refuseUnknown(a.ID).Refusal
		}
		if p.Decision(a.ID) != nil {
			continue // it is the same, or a conflict
		}
		if r := c.refuseCancelOnly(*i, a); r != nil {
			return r.Refusal
		}
		if r := c.unfit(*i, a); r != nil {
			return r.Refusal
		}
	}
	answers, covered := c.WithDecisions()
	if i, stuck := c.stuck(answers); stuck && !(covered && AllCancelled(answers)) {
		return refuseOtherThanKept(i).Refusal
	}
	return nil
}

// WithDecisions returns the answers and the decisions that stand, in the order of the open pause,
// and whether they cover it. A question without either has an answer without a status.
func (c *Case) WithDecisions() (answers []agui.Answer, covered bool) {
	p := c.Record.Pause
	answers, covered = make([]agui.Answer, len(p.Interrupts)), true
	for n, i := range p.Interrupts {
		at := slices.IndexFunc(c.Answers, func(a agui.Answer) bool { return a.ID == i.ID })
		switch d := p.Decision(i.ID); {
		case d != nil:
			answers[n] = d.Answer()
		case at >= 0:
			answers[n] = c.Answers[at]
		default:
			covered = false
		}
	}
	return answers, covered
}

// decidedElseCancelled returns the answers to the open pause where nobody can say anything else any
// more: what is decided, and a cancel for the rest.
func (c *Case) decidedElseCancelled() []agui.Answer {
	p := c.Record.Pause
	answers := CancelAll(p)
	for n := range answers {
		if d := p.Decision(answers[n].ID); d != nil {
			answers[n] = d.Answer()
		}
	}
	return answers
}

// firstOpen returns the first question that nobody has decided.
func (c *Case) firstOpen() string {
	p := c.Record.Pause
	for _, i := range p.Interrupts {
		if p.Decision(i.ID) == nil {
			return i.ID
		}
	}
	return p.Interrupts[0].ID
}

// answeredCount returns how many questions have an answer, here or by a decision.
func (c *Case) answeredCount(byID map[string]*agui.Answer) int {
	n := len(byID)
	for _, d := range c.Record.Pause.Decisions {
		if byID[d.Question] == nil {
			n++
		}
	}
	return n
}

// repeats reports whether the answers are those of a digest. Where something was decided at another
// door the chat may know a part of the questions only, so a part of the same answers will do.
func (c *Case) repeats(digest string, p *agui.Pause) bool {
	if p == nil || len(p.Decisions) == 0 {
		return store.SameAnswers(digest, Digest(c.Answers))
	}
	said := store.UnmarshalAnswers(digest)
	return !slices.ContainsFunc(c.Answers, func(a agui.Answer) bool { return said[a.ID] != DigestOf(a) })
}

// unseenEnd returns the thread's last end if a run without a client came to it and the chat has not
// caught up: the request holds no message of that run. It is nil otherwise.
func (c *Case) unseenEnd() *store.Result {
	if c.Record.Pause != nil || len(c.Record.Results) == 0 {
		return nil
	}
	r := c.Record.Results[0]
	if !r.Unseen || r.Tombstone || r.Pause == nil || r.How != store.Finished || len(c.Input.Messages) == 0 {
		return nil // without a history there is no old one
	}
	before := make(map[string]bool, len(r.Pause.Seen))
	for _, s := range r.Pause.Seen {
		before[s.ID] = true
	}
	since := map[string]bool{}
	for _, s := range r.Seen {
		since[s.ID] = s.ID != "" && !before[s.ID]
	}
	if slices.ContainsFunc(c.Input.Messages, func(m agui.Message) bool { return since[m.ID] }) {
		return nil
	}
	return r
}

// catchUp rules on a request of a chat that has missed the end of its question. Without a new
// message it is told that end: the backend has nothing to do, and might do it again by the chat's
// old history. With one, what the record knows stands in place of that history. A request that
// holds no message of the thread goes as it came: its sender may know no more than the thread's id.
func (c *Case) catchUp(missed *store.Result) Ruling {
	asked := missed.Pause.Indexed()
	brings := c.newInput(missed.Seen, &asked)
	if len(brings) == 0 {
		return Ruling{Do: Replay, Replay: missed}
	}
	r := Ruling{Do: Pass}
	if c.Input.HasResume {
		r.Leave = LeaveArray
	}
	known := func(m agui.Message) bool { return m.ID != "" && missed.Pause.Knows(agui.See(m)) }
	if slices.ContainsFunc(c.Input.Messages, known) {
		r.Missed, r.New = missed, brings
	}
	return r
}
