package rules

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

var errNoDecision = errors.New("store: a decision must name its question and have a digest, one for each question")

// decide applies the step store.Decide.
func decide(rec *store.Record, now time.Time, pauseID string, list []agui.Decision) error {
	if pauseID == "" {
		return errNoPauseID
	}
	if !wellMade(list) {
		return errNoDecision
	}
	p := rec.PauseByID(pauseID)
	if p == nil {
		return fmt.Errorf("%w: %q", store.ErrNotFound, pauseID)
	}
	var fresh []agui.Decision
	for _, d := range list {
		switch stands := p.Decision(d.Question); {
		case p.Interrupt(d.Question) == nil:
			return fmt.Errorf(textNoQuestion, store.ErrNotFound, pauseID, d.Question)
		case stands == nil:
			d.At = now
			fresh = append(fresh, d)
		case stands.Digest != d.Digest:
			return fmt.Errorf(textDecidedOtherwise, store.ErrConflict, d.Question)
		}
	}
	switch {
	case len(fresh) == 0:
		return nil
	case p != rec.Pause || rec.State != store.Open:
		return fmt.Errorf(textNotOpen, store.ErrConflict, pauseID)
	}
	next := *p
	next.Decisions = slices.Concat(p.Decisions, fresh)
	rec.Pause = &next
	return nil
}

// wellMade reports whether there is at least one decision, each decision names a question and has a
// digest, and no two decisions are for the same question.
func wellMade(list []agui.Decision) bool {
	for n, d := range list {
		if d.Question == "" || d.Digest == "" || slices.ContainsFunc(list[:n], func(o agui.Decision) bool { return o.Question == d.Question }) {
			return false
		}
	}
	return len(list) > 0
}

// containsDecisions reports whether a set of answers contains every decision of the pause. digest
// is the digest of the set, see store.MarshalAnswers.
func containsDecisions(digest string, p *agui.Pause) bool {
	if len(p.Decisions) == 0 {
		return true
	}
	answers := store.UnmarshalAnswers(digest)
	return !slices.ContainsFunc(p.Decisions, func(d agui.Decision) bool { return answers[d.Question] != d.Digest })
}

// markSeen applies the step store.See.
func markSeen(rec *store.Record, pauseID string) {
	at := slices.IndexFunc(rec.Results, func(r *store.Result) bool { return r.PauseID == pauseID && r.EndUnseen })
	if at < 0 {
		return
	}
	r := *rec.Results[at]
	r.EndUnseen = false
	rec.Results = slices.Clone(rec.Results)
	rec.Results[at] = &r
}
