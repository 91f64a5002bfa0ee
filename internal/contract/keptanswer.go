package contract

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// findIgnoredAnswer returns the question of the first answer that the backend would ignore. A
// backend with agui.Pause.KeepsFirstAnswer ignores an answer if it has stored an earlier answer to
// the same question. Whether it has one depends on the newest resume of the question: if that
// resume succeeded, the backend has stored nothing. It also has nothing stored if the run has only
// just asked the question. findIgnoredAnswer returns false if the backend would ignore no answer.
func (c *Case) findIgnoredAnswer(answers []agui.Answer) (agui.Interrupt, bool) {
	p := c.Record.Pause
	if !p.KeepsFirstAnswer || p.FirstAsked {
		return agui.Interrupt{}, false
	}
	kept := c.keptAnswers()
	for n, i := range p.Interrupts {
		if answers[n].Status == "" {
			continue // not answered yet, see WithDecisions
		}
		if digest := kept[questionIdentity{i.Native, i.Question}]; digest != "" && digest != DigestOf(answers[n]) {
			return i, true
		}
	}
	return agui.Interrupt{}, false
}

// A questionIdentity identifies a question. Two interrupts that ask the same question have the same
// one.
type questionIdentity struct{ native, question string }

// keptAnswers returns the digest of the last answer to each question. The digest is "" if the run
// with that answer succeeded, because the backend then keeps no answer.
func (c *Case) keptAnswers() map[questionIdentity]string {
	kept := map[questionIdentity]string{}
	for _, r := range c.Record.Results {
		if r.Pause == nil || r.Digest == "" {
			continue
		}
		var digests map[string]string
		if r.Failed || EndedBadly(r) {
			digests = store.UnmarshalAnswers(r.Digest)
		}
		for _, old := range r.Pause.Interrupts {
			key := questionIdentity{old.Native, old.Question}
			digest, answered := digests[old.ID]
			if _, newer := kept[key]; !newer && (answered || len(digests) == 0) {
				kept[key] = digest
			}
		}
	}
	return kept
}
