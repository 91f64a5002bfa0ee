package contract

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// While a pause is open, each of its questions can also be decided outside the chat (at another
// door, such as the desk). Such a decision is final. Every resume of the pause contains it, whoever
// sends the resume.

// JudgeDecisions judges the decisions in c.Answers, which were made outside the chat, before they
// are stored. It returns an error for a decision that could not be sent to the backend later,
// because a stored decision cannot be taken back. It returns nil if all decisions may be stored.
// The store checks that the pause is still open, and that nobody else has decided.
func JudgeDecisions(c *Case) *agui.RunError {
	p := c.Record.Pause
	for _, a := range c.Answers {
		i := p.Interrupt(a.ID)
		if i == nil {
			return c.refuseUnknown(a.ID).Refusal
		}
		if p.Decision(a.ID) != nil {
			continue // the store finds out if the two decisions are equal
		}
		if r := c.refuseCancelOnly(*i, a); r != nil {
			return r.Refusal
		}
		if r := c.refuseUnfitPayload(*i, a); r != nil {
			return r.Refusal
		}
	}
	answers, covered := c.WithDecisions()
	if i, stuck := c.findIgnoredAnswer(answers); stuck && !(covered && AllCancelled(answers)) {
		return refuseOtherAnswer(i).Refusal
	}
	return nil
}

// WithDecisions returns one answer for each question of the open pause, in the pause's order. The
// answer is the stored decision, or else the answer in c.Answers. If a question has neither, its
// answer has an empty status, and covered is false.
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

// decisionsAndCancels returns the answers with which an open pause is closed: the stored decisions,
// and a cancel for each question without a decision.
func (c *Case) decisionsAndCancels() []agui.Answer {
	p := c.Record.Pause
	answers := CancelAll(p)
	for n := range answers {
		if d := p.Decision(answers[n].ID); d != nil {
			answers[n] = d.Answer()
		}
	}
	return answers
}

// firstOpen returns the id of the first question without a decision.
func (c *Case) firstOpen() string {
	p := c.Record.Pause
	for _, i := range p.Interrupts {
		if p.Decision(i.ID) == nil {
			return i.ID
		}
	}
	return p.Interrupts[0].ID
}

// answeredCount returns the number of questions that have an answer in byID or a stored decision.
func (c *Case) answeredCount(byID map[string]*agui.Answer) int {
	n := len(byID)
	for _, d := range c.Record.Pause.Decisions {
		if byID[d.Question] == nil {
			n++
		}
	}
	return n
}

// repeatsAnswers reports whether c.Answers are the answers whose digest is given. If p has
// decisions from outside the chat, the chat may know only some of the questions. Then it is enough
// that every answer in c.Answers is one of them.
func (c *Case) repeatsAnswers(digest string, p *agui.Pause) bool {
	if p == nil || len(p.Decisions) == 0 {
		return store.SameAnswers(digest, Digest(c.Answers))
	}
	said := store.UnmarshalAnswers(digest)
	return !slices.ContainsFunc(c.Answers, func(a agui.Answer) bool { return said[a.ID] != DigestOf(a) })
}

// unseenEnd returns the thread's last result if the chat has not seen it: a run without a client
// ended the pause, and the request has no message of that run. Otherwise it returns nil.
func (c *Case) unseenEnd() *store.Result {
	if c.Record.Pause != nil || len(c.Record.Results) == 0 {
		return nil
	}
	r := c.Record.Results[0]
	if !r.EndUnseen || r.Tombstone || r.Pause == nil || r.EndKind != store.Finished || len(c.Input.Messages) == 0 {
		return nil // a request without messages does not show what the chat has seen
	}
	before := make(map[string]bool, len(r.Pause.SeenMessages))
	for _, s := range r.Pause.SeenMessages {
		before[s.ID] = true
	}
	since := map[string]bool{}
	for _, s := range r.SeenMessages {
		since[s.ID] = s.ID != "" && !before[s.ID]
	}
	if slices.ContainsFunc(c.Input.Messages, func(m agui.Message) bool { return since[m.ID] }) {
		return nil
	}
	return r
}

// catchUp rules on a request of a chat that has not seen how its question ended. If the request has
// no new message, the client is sent that end. The backend is not called, because it has nothing to
// do and could repeat its work because of the old history. If the request has a new message, the
// messages on record replace the old history. A request without any message of the thread is sent
// to the backend unchanged, because its sender may know only the thread's id.
func (c *Case) catchUp(missedResult *store.Result) Ruling {
	asked := missedResult.Pause.Indexed()
	brings := c.inputAfter(missedResult.SeenMessages, &asked, missedResult)
	if len(brings) == 0 {
		return Ruling{Do: Replay, Replay: missedResult}
	}
	r := Ruling{Do: Pass}
	if c.Input.HasResume {
		r.OmittedParts = OmitArray
	}
	known := func(m agui.Message) bool { return m.ID != "" && missedResult.Pause.HasMessage(agui.NewSeenMessage(m)) }
	if slices.ContainsFunc(c.Input.Messages, known) {
		r.MissedEnd, r.NewMessages = missedResult, brings
	}
	return r
}
