package agui

import (
	"encoding/json"
	"time"
)

// A Decision is a person's answer to one question of a pause, given outside the chat, for example
// at the desk (the web page of approvers). It stays in the record until the pause ends. A request
// that claims the pause must give the same answer.
type Decision struct {
	// Question is the published id of the interrupt that the decision answers.
	Question string `json:"question"`
	// Status, Payload and OwnForm have the meaning of the fields of Answer.
	Status  Status          `json:"status"`
	Payload json.RawMessage `json:"payload,omitempty"`
	OwnForm bool            `json:"own,omitempty"`
	// Verdict is VerdictApproved or VerdictDenied, or "" if the answer is neither of the two for
	// sure.
	Verdict string `json:"says,omitempty"`
	// Edited reports that the answer approves the call with arguments that differ from the
	// question's.
	Edited bool `json:"edited,omitempty"`
	// Digest is the result of contract.DigestOf for the answer. Decisions with equal digests are
	// the same.
	Digest string `json:"digest"`
	// QuestionDigest is the digest of the question as the person saw it who decided.
	QuestionDigest string `json:"asked,omitempty"`
	// Door names the way in which the decision was made, such as the desk (package event/door). By
	// names the person who decided.
	Door string `json:"door,omitempty"`
	By   string `json:"by,omitempty"`
	// Comment is for readers of the record. No backend gets it.
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at,omitzero"` // time of the decision, by the store's clock
}

// Answer returns the decision as an Answer with Decided set.
func (d *Decision) Answer() Answer {
	return Answer{ID: d.Question, Status: d.Status, Payload: d.Payload, OwnForm: d.OwnForm, Decided: true}
}

// Decision returns the decision on the question with the published id, or nil if there is none.
func (p *Pause) Decision(question string) *Decision {
	for n := range p.Decisions {
		if p.Decisions[n].Question == question {
			return &p.Decisions[n]
		}
	}
	return nil
}

// Decided reports whether every question of the pause has a decision.
func (p *Pause) Decided() bool {
	return len(p.Interrupts) > 0 && len(p.Decisions) >= len(p.Interrupts)
}

// Undecided returns the pause with only those questions that have no decision. If no question has a
// decision, it returns p itself.
func (p *Pause) Undecided() *Pause {
	if len(p.Decisions) == 0 {
		return p
	}
	decided := make(map[string]bool, len(p.Decisions))
	for _, d := range p.Decisions {
		decided[d.Question] = true
	}
	rest := *p
	rest.Interrupts, rest.index = nil, nil
	for _, i := range p.Interrupts {
		if !decided[i.ID] {
			rest.Interrupts = append(rest.Interrupts, i)
		}
	}
	return &rest
}
