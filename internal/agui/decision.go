package agui

import (
	"encoding/json"
	"time"
)

// A Decision is somebody's word on one question of a pause, given at another door than a resume of
// the chat. It stands in the record until the pause ends, and the answers of whoever claims the
// pause repeat it.
type Decision struct {
	// Question is the published id of the interrupt.
	Question string `json:"question"`
	// Status and Payload are the answer, as in Answer. Own says so, too.
	Status  Status          `json:"status"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Own     bool            `json:"own,omitempty"`
	// Says is approved or denied, "" where nobody knows which of them it is.
	Says string `json:"says,omitempty"`
	// Edited says that the yes is to other arguments than those that were asked about.
	Edited bool `json:"edited,omitempty"`
	// Digest is contract.DigestOf of the answer. Two decisions are the same if it is.
	Digest string `json:"digest"`
	// Asked is the digest of what was asked, as whoever decided has seen it.
	Asked string `json:"asked,omitempty"`
	// Door is where it came in, and By who it was.
	Door string `json:"door,omitempty"`
	By   string `json:"by,omitempty"`
	// Comment is for those who read the record. No backend gets it.
	Comment string    `json:"comment,omitempty"`
	At      time.Time `json:"at,omitzero"` // by the store's clock
}

// Answer returns the decision as an answer.
func (d *Decision) Answer() Answer {
	return Answer{ID: d.Question, Status: d.Status, Payload: d.Payload, Own: d.Own, Decided: true}
}

// Decision on the question with the published id, nil if there is none.
func (p *Pause) Decision(question string) *Decision {
	for n := range p.Decisions {
		if p.Decisions[n].Question == question {
			return &p.Decisions[n]
		}
	}
	return nil
}

// Decided reports whether every question has its decision.
func (p *Pause) Decided() bool {
	return len(p.Interrupts) > 0 && len(p.Decisions) >= len(p.Interrupts)
}

// Undecided returns the pause as it is asked still: without the questions that are decided. It is p
// itself if none is.
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
