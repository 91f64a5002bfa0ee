package contract

import (
	"holdpoint/internal/agui"
	"holdpoint/store"
)

// findIgnoredAnswer finds an answer that the backend would ignore, because it stored an earlier
// answer to the question (agui.Pause.KeepsFirstAnswer). The newest resume of the question decides:
// if it succeeded, the backend keeps nothing. It also keeps nothing if its run has only just asked
// the question.
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

// A questionIdentity is equal for two interrupts that ask the same question.
type questionIdentity struct{ native, question string }

// keptAnswers returns the digest of the last answer to each question if the run with it failed, and
// "" if that run succeeded.
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
