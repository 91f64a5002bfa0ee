package contract

import (
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Standing describes the answers that are valid instead of those of a refused request. It is
// shown to a person, and no decision depends on it.
type Standing struct {
	State StandingState
	// Answers has one answer for each question that the request answers. nil means that they are no
	// longer known.
	Answers []StandingAnswer
	// At is the time at which the pause ended, or zero. Door and By are where and by whom it was ended
	// without an answer; "" means the chat.
	At       time.Time
	Door, By string
	// Failed reports that the run with the answers ended in an error.
	Failed bool
}

// A StandingState is the state of the valid answers.
type StandingState int

const (
	// Answered: the run with the answers has ended.
	Answered StandingState = iota
	// BeingCarried: the answers are being sent to the backend.
	BeingCarried
	// DecidedElsewhere: the answers were given at another door, and have not been sent yet.
	DecidedElsewhere
	// KeptByBackend: the backend stored the first answer, and would carry that one out.
	KeptByBackend
	// ClosedUnanswered: the pause was closed without an answer.
	ClosedUnanswered
	// ClosedByTime: nobody answered within the retention.
	ClosedByTime
)

// A StandingAnswer is the valid answer to one question.
type StandingAnswer struct {
	ID      string      `json:"id"` // the published id of the interrupt
	Status  agui.Status `json:"status"`
	Verdict string      `json:"says,omitempty"` // approved or denied, if the dialect could tell
	At      time.Time   `json:"at,omitzero"`
	Door    string      `json:"door"` // chat, or the door where it was decided
	By      string      `json:"by,omitempty"`
}

// chatDoor is the door of an answer that was sent in a run.
const chatDoor = "chat"

// standingOf returns the valid answers after a pause has ended, for the questions that the request
// names. It returns nil if there is nothing to show to a person.
func (c *Case) standingOf(r *store.Result) *Standing {
	s := &Standing{At: r.At, Door: r.Door, By: r.By, Failed: isError(r.Finish) || r.Tombstone && r.Failed}
	switch r.EndKind {
	case store.Finished:
	case store.Withdrawn:
		s.State = ClosedUnanswered
		return s
	case store.Retired:
		s.State = ClosedByTime
		return s
	default:
		return nil // the code of the refusal is enough
	}
	named, decided := c.namedIDs(), decisionsOf(r.Pause)
	for _, g := range r.GivenAnswers {
		if !named[g.ID] {
			continue
		}
		one := StandingAnswer{ID: g.ID, Status: g.Status, Verdict: g.Verdict, At: r.At, Door: chatDoor}
		one.decidedBy(decided[g.ID])
		s.Answers = append(s.Answers, one)
	}
	return s
}

// standingNow returns the decisions on the questions that the request names, while the pause is
// open or claimed.
func (c *Case) standingNow(state StandingState) *Standing {
	s, named := &Standing{State: state}, c.namedIDs()
	for n := range c.Record.Pause.Decisions {
		if d := &c.Record.Pause.Decisions[n]; named[d.Question] {
			one := StandingAnswer{ID: d.Question, Status: d.Status, Verdict: d.Verdict}
			one.decidedBy(d)
			s.Answers = append(s.Answers, one)
		}
	}
	return s
}

// decidedBy copies the time, the door and the person of a decision that was made before the resume.
func (a *StandingAnswer) decidedBy(d *agui.Decision) {
	if d != nil {
		a.At, a.Door, a.By = d.At, d.Door, d.By
	}
}

// namedIDs returns the published ids that the request's answers name.
func (c *Case) namedIDs() map[string]bool {
	ids := make(map[string]bool, len(c.Answers))
	for _, a := range c.Answers {
		ids[a.ID] = true
	}
	return ids
}

// decisionsOf returns the decisions of a pause by their questions; nil if p is nil.
func decisionsOf(p *agui.Pause) map[string]*agui.Decision {
	if p == nil {
		return nil
	}
	list := make(map[string]*agui.Decision, len(p.Decisions))
	for n := range p.Decisions {
		list[p.Decisions[n].Question] = &p.Decisions[n]
	}
	return list
}
