package contract

import (
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Standing describes the answers that are valid instead of the answers of a refused request. It
// is only shown to a person; no decision depends on it.
type Standing struct {
	State StandingState
	// Answers has one valid answer for each question that the request answers. It is nil if the
	// valid answers are no longer known.
	Answers []StandingAnswer
	// At is the time at which the pause ended, or zero. If the pause ended without an answer, Door
	// says where it was ended, and By says who ended it. An empty Door means the chat.
	At       time.Time
	Door, By string
	// Failed reports that the run with the valid answers ended in an error.
	Failed bool
}

// A StandingState says what has become of the valid answers.
type StandingState int

const (
	// Answered: the run with the valid answers has ended.
	Answered StandingState = iota
	// BeingCarried: the valid answers are being sent to the backend.
	BeingCarried
	// DecidedElsewhere: the valid answers were given outside the chat, and have not been sent yet.
	DecidedElsewhere
	// KeptByBackend: the backend has stored its first answer, and would carry out that answer.
	KeptByBackend
	// ClosedUnanswered: the pause was closed without an answer.
	ClosedUnanswered
	// ClosedByTime: nobody answered the pause within the retention time.
	ClosedByTime
)

// A StandingAnswer is the valid answer to one question.
type StandingAnswer struct {
	ID     string      `json:"id"` // the published id of the interrupt
	Status agui.Status `json:"status"`
	// approved or denied, if the dialect knows which of the two
	Verdict string    `json:"says,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Door    string    `json:"door"` // "chat", or the door at which the question was decided
	By      string    `json:"by,omitempty"`
}

// chatDoor is the Door of an answer that was sent in a run of the chat.
const chatDoor = "chat"

// standingOf returns the valid answers to a pause that has ended, for the questions that the
// request answers. It returns nil if there is nothing to show to a person.
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
		return nil // the code of the refusal says enough
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

// standingNow returns the stored decisions on the questions that the request answers. The pause is
// still open or claimed.
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

// decidedBy copies the time, the door and the person of the decision d, which was made before the
// resume. It does nothing if d is nil.
func (a *StandingAnswer) decidedBy(d *agui.Decision) {
	if d != nil {
		a.At, a.Door, a.By = d.At, d.Door, d.By
	}
}

// namedIDs returns the set of the published ids that the request's answers name.
func (c *Case) namedIDs() map[string]bool {
	ids := make(map[string]bool, len(c.Answers))
	for _, a := range c.Answers {
		ids[a.ID] = true
	}
	return ids
}

// decisionsOf returns the decisions on a pause, keyed by the id of the question. It returns nil if
// p is nil.
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
