package proxy

import (
	"errors"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/store"
	"holdpoint/translate"
)

// judge loads the record, reads the answers and asks the contract.
func (r *run) judge() error {
	r.anew()
	if err := r.load(); err != nil {
		return err
	}
	if err := r.noteUnread(r.readAnswers()); err != nil {
		return err
	}
	if err := r.readReplies(); err != nil {
		return err
	}
	r.rule()
	return nil
}

func (r *run) rule() {
	c := r.newCase()
	c.Stray, c.StrayNames = r.endsInStray()
	c.Unasked = r.unasked()
	r.verdict = contract.Judge(c)
}

func (r *run) newCase() *contract.Case {
	settled, mixed := r.carriers()
	return &contract.Case{
		Input: r.in, Answers: r.answers, ReadFor: r.readFor, Unread: r.unread,
		Settled: settled, Mixed: mixed, Record: r.record, Carry: r.carry, Valid: r.valid,
	}
}

// load loads the record.
func (r *run) load() (err error) {
	// Before the record is read: that run may open a pause and be gone behind it.
	r.busy = r.h.lives.busyAlone(r.ledger.key)
	if r.record, err = r.ledger.load(); err != nil {
		return err
	}
	if p := r.record.Pause; p != nil {
		// The record's own is everybody's. It is copied here, where the room for it on the stack is
		// given back before the dialect is asked: with 8 kB more a stream has a stack of 16 kB
		// until the collector comes by (idle-9000: 2 kB more for each of them).
		mine := p.Indexed()
		r.record.Pause = &mine
	}
	return nil
}

// readAnswers has the dialect read the request.
func (r *run) readAnswers() (err error) {
	defer caught("Answers", &err)
	r.show = r.showFor()
	var p agui.Pause
	r.namedPause(&p)
	r.answers, err = r.h.opts.Dialect.Answers(r.in, p)
	if r.named = p.ID; !r.judged {
		r.judged, r.readFor = true, p.ID
	}
	return err
}

// readReplies has the dialect read the messages.
func (r *run) readReplies() (err error) {
	defer caught("Replies", &err)
	r.replies = r.readHistory()
	if r.unread == nil {
		r.answers, r.unread = r.withReplies(r.named, r.answers)
	}
	return nil
}

// noteUnread notes why the answers could not be read, if that is the client's fault.
func (r *run) noteUnread(err error) error {
	var unread *agui.RunError
	if err != nil && !errors.As(err, &unread) {
		return asBug("Answers", err)
	}
	if r.in.ResumeObject != nil && r.answers == nil && unread == nil {
		unread = agui.Errorf(agui.InvalidPayload, "resume must be an array of entries")
	}
	r.unread = unread
	return nil
}

// showFor is what the client is to be shown of a pause.
func (r *run) showFor() translate.Show {
	if r.carry != "" {
		return r.show // the request at hand is not the client's
	}
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

// namedPause is the pause whose ids the request names, open or ended; else the open one; else the
// one that ended last, for an answer that names none; else none, but for the dialect that the route
// was seen to speak.
//
// A request that has waited is read for the pause that it was read for at first: the question that
// is open by now was asked after it came, and cannot be what it answers.
func (r *run) namedPause(named *agui.Pause) {
	switch p, ended := r.findPause(); {
	case p == nil:
	case ended:
		*named = p.Indexed()
	default:
		*named = *p
	}
	if named.Dialect == "" {
		named.Dialect = r.spoken()
	}
}

func (r *run) findPause() (p *agui.Pause, ended bool) {
	rec := &r.record
	if r.readFor != "" {
		if rec.Pause != nil && rec.Pause.ID == r.readFor {
			return rec.Pause, false
		}
		for _, result := range rec.Results {
			if result.PauseID == r.readFor && result.Pause != nil {
				return result.Pause, true
			}
		}
		return nil, false
	}
	ids := r.in.NamedIDs()
	if rec.Pause != nil && slices.ContainsFunc(ids, func(id string) bool { return rec.Pause.Interrupt(id) != nil }) {
		return rec.Pause, false
	}
	known := store.Record{Results: slices.DeleteFunc(slices.Clone(rec.Results), func(r *store.Result) bool { return r.Pause == nil })}
	if result := known.ResultOf(ids...); result != nil {
		return result.Pause, true
	}
	if rec.Pause != nil {
		return rec.Pause, false
	}
	if len(rec.Results) > 0 && rec.Results[0].Pause != nil {
		return rec.Results[0].Pause, true
	}
	return nil, false
}
