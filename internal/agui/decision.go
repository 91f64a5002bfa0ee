package agui

import (
	"encoding/json"
	"time"
)

// A Decision is a person's answer to one question of a pause that was not given in the chat, but at
// the desk, for example. It stays in the record until the pause ends. Whoever claims the pause must
// give the same answer.
type Decision struct {
	// Question is the published id of the interrupt.
	Question string `json:"question"`
	// Status, Payload and OwnForm are those of the answer, see Answer.
	Status  Status          `json:"status"`
	Payload json.RawMessage `json:"payload,omitempty"`
	OwnForm bool            `json:"own,omitempty"`
	// Verdict is VerdictApproved or VerdictDenied, or "" if the answer is not clear.
	Verdict string `json:"says,omitempty"`
	// Edited reports an approval with other arguments than the question's.
	Edited bool `json:"edited,omitempty"`
	// Digest is contract.DigestOf of the answer. Two decisions with the same digest are the same.
	Digest string `json:"digest"`
	// QuestionDigest is the digest of the question as the decider saw it.
	QuestionDigest string `json:"asked,omitempty"`
	// Door is the way the decision was made (package event/door), and By the person who made it.
	Door string `json:"door,omitempty"`
	By   string `json:"by,omitempty"`
	// Comment is for readers of the record. No backend gets it.
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at,omitzero"` // by the store's clock
}

// Answer returns the decision as an answer.
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

// Decided reports whether every question has a decision.
func (p *Pause) Decided() bool {
	return len(p.Interrupts) > 0 && len(p.Decisions) >= len(p.Interrupts)
}

// Undecided returns the pause with only the questions that have no decision. If there is no
// decision at all, it returns p itself.
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
