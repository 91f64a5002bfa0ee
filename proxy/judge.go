package proxy

import (
	"encoding/json"
	"errors"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// judge loads the record, reads the answers and asks the contract.
func (r *run) judge() (decision, error) {
	r.attempt = newAttempt(r.came)
	r.busy = r.h.busyAlone(r.key) // before the record is read: that run may open a pause and be gone behind it
	ctx, cancel := r.storeContext()
	defer cancel()
	record, err := r.h.opts.Store.Load(ctx, r.key, "")
	if err != nil {
		return decision{}, err
	}
	r.record = record
	r.show = r.showFor()
	p := r.namedPause()
	answers, err := r.h.opts.Dialect.Answers(r.in, p)
	var unread *agui.RunError
	if err != nil && !errors.As(err, &unread) {
		return decision{}, err
	}
	if !r.judged {
		r.judged, r.readFor = true, p.ID
	}
	if r.in.ResumeObject != nil && answers == nil && unread == nil {
		unread = agui.Errorf(agui.InvalidPayload, "resume must be an array of entries")
	}
	r.old, r.settled = r.oldAnswers()
	return admit(question{
		in: r.in, answers: answers, readFor: r.readFor, unread: unread, settled: r.settled, record: record, valid: r.valid,
	}), nil
}

// valid judges a payload. A schema that cannot be used must not lock the question up.
func (r *run) valid(schema, payload json.RawMessage) error {
	err := validate(schema, payload)
	if errors.Is(err, errSchema) {
		r.log.Warn("payload taken unchecked", "err", err)
		return nil
	}
	return err
}

// showFor is what the client is to be shown of a pause.
func (r *run) showFor() translate.Show {
	switch r.h.opts.Client {
	case ClientOutcome:
		return translate.ShowOutcome
	case ClientBoth:
		return translate.ShowBoth
	case ClientNative:
		return translate.ShowNative
	}
	if r.in.ProtocolVersion != "" || r.in.HasResume {
		return translate.ShowOutcome
	}
	for _, result := range r.record.Results {
		if result.ByArray {
			return translate.ShowOutcome
		}
	}
	return translate.ShowBoth
}

// namedPause is the pause whose ids the request names, open or ended; else the open one; else the one that ended last,
// for an answer that names none; else none, but for the dialect that the route was seen to speak.
//
// A request that has waited is read for the pause that it was read for at first: the question that is open by now was
// asked after it came, and cannot be what it answers.
func (r *run) namedPause() agui.Pause {
	p := r.findPause()
	if p.Dialect == "" {
		p.Dialect = r.spoken()
	}
	return p
}

// spoken is the dialect that the route was seen to speak, or the thread before Holdpoint was started anew; "" if neither
// is known.
func (r *run) spoken() string {
	if name := r.h.routeDialect(r.path); name != "" {
		return name
	}
	for _, result := range r.record.Results {
		if result.Pause != nil && result.Pause.Dialect != "" {
			return result.Pause.Dialect
		}
	}
	return ""
}

func (r *run) findPause() agui.Pause {
	rec := &r.record
	if r.readFor != "" {
		if rec.Pause != nil && rec.Pause.ID == r.readFor {
			return *rec.Pause
		}
		for _, result := range rec.Results {
			if result.PauseID == r.readFor && result.Pause != nil {
				return ended(*result.Pause)
			}
		}
		return agui.Pause{}
	}
	ids := r.in.NamedIDs()
	if rec.Pause != nil && slices.ContainsFunc(ids, func(id string) bool { return rec.Pause.Interrupt(id) != nil }) {
		return *rec.Pause
	}
	for _, id := range ids {
		if result := rec.ResultOf(id); result != nil && result.Pause != nil {
			return ended(*result.Pause)
		}
	}
	if rec.Pause != nil {
		return *rec.Pause
	}
	if len(rec.Results) > 0 && rec.Results[0].Pause != nil {
		return ended(*rec.Results[0].Pause)
	}
	return agui.Pause{}
}

func ended(p agui.Pause) agui.Pause {
	p.Ended = true
	return p
}
