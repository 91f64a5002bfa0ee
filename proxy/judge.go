package proxy

import (
	"errors"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// judge loads the record, reads the answers and asks the contract.
func (r *run) judge() (v contract.Ruling, err error) {
	if !r.readFor.carries { // the pause that a run carries stands where that run has asked
		r.judgeHere()
	}
	r.anew()
	if err := r.load(); err != nil {
		return v, err
	}
	if err := r.findByID(); err != nil {
		return v, err
	}
	if err := r.read(); err != nil {
		return v, err
	}
	if found, err := r.findByCalls(); err != nil {
		return v, err
	} else if found {
		if err := r.read(); err != nil {
			return v, err
		}
	}
	r.noteNamed()
	v = r.rule()
	if r.notAsked != nil && !r.passesNotAsked(v) {
		return v, r.notAsked
	}
	answers := len(r.answers.list) > 0 && v.Do != contract.Pass // else they are of another day
	r.request.answers = r.request.answers || answers || r.record.Pause != nil || r.answers.unread != nil
	return v, nil
}

// read has the dialect read the request, and relates it to the record.
func (r *run) read() error {
	r.answers = requestAnswers{}
	r.mendHistory()
	pauseID, err := r.readAnswers()
	if err := r.noteUnread(err); err != nil {
		return err
	}
	return r.readReplies(pauseID)
}

func (r *run) rule() contract.Ruling {
	c := r.newCase()
	c.Stray, c.StrayNames = r.replies.EndInStray(&r.in, r.record.Pause)
	v := r.view()
	c.Unasked = history.Unasked(&v)
	return contract.Judge(c)
}

func (r *run) newCase() *contract.Case {
	settled, mixed := r.replies.Carriers()
	return &contract.Case{
		Input: r.in, Answers: r.answers.list, ReadFor: r.readFor.pauseID, Unread: r.answers.unread,
		Settled: settled, Mixed: mixed, Record: r.record, Carry: r.readFor.toCarry(), Stranger: r.stranger, Frees: freesOf(r.h.opts.Dialect), Locks: locksOf(r.h.opts.Dialect), Named: r.namedByClients(), Valid: r.valid,
		InMemory: r.h.opts.StoreInMemory, Elsewhere: r.ownThread != nil, NewThreads: r.request.client.TakesNewThreads(), GivesUp: r.givesUp(),
	}
}

// load loads the record.
func (r *run) load() (err error) {
	// Before the record is read: that run may open a pause and be gone behind it.
	r.threadWasBusy = r.h.lives.busyAlone(r.ledger.Key)
	r.record, err = r.ledger.Load()
	if errors.Is(err, store.ErrUnread) {
		r.log.Error("the record of the thread cannot be read", "err", err)
		r.h.outage.note(r.h, nil)
		return err // it may hold an open question, whatever becomes of runs in an outage
	}
	r.h.outage.note(r.h, err)
	switch {
	case err != nil && (r.h.opts.StoreOutage != OutagePass || r.mayBeAnothers()):
		return err
	case err != nil:
		r.record, r.notAsked = store.Record{Now: r.h.opts.Now()}, err
	default:
		r.readOwner()
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

// readAnswers has the dialect read the request's fields. pauseID is the pause that they were read
// for, "" if none is known.
func (r *run) readAnswers() (pauseID string, err error) {
	defer dialect.Caught("Answers", &err)
	r.show = r.showFor()
	var p agui.Pause
	r.namedPause(&p)
	in := r.in
	in.Resume = kit.EntriesWithoutCalls(p, in.Resume)
	r.answers.list, err = r.h.opts.Dialect.Answers(in, p)
	kit.LeaveOutCalls(p, r.answers.list)
	readYesNo(&p, r.answers.list)
	kit.SpellOut(p, r.answers.list, r.valid)
	r.readFor.fix(p.ID)
	return p.ID, err
}

// readReplies has the dialect read the messages.
func (r *run) readReplies(pauseID string) (err error) {
	defer dialect.Caught("Replies", &err)
	v := r.view()
	replies, answers := history.Read(&v, history.Answers{List: r.answers.list, Unread: r.answers.unread}, pauseID)
	r.replies, r.answers = replies, requestAnswers{answers.List, answers.Unread}
	return nil
}

// noteUnread notes why the answers could not be read, if that is the client's fault.
func (r *run) noteUnread(err error) error {
	var unread *agui.RunError
	if err != nil && !errors.As(err, &unread) {
		return dialect.AsBug("Answers", err)
	}
	if r.in.ResumeObject != nil && r.answers.list == nil && unread == nil {
		unread = agui.Errorf(agui.InvalidPayload, "resume must be an array of entries")
	}
	r.answers.unread = unread
	return nil
}

// showFor is what the client is to be shown of a pause.
func (r *run) showFor() translate.Show {
	if r.readFor.carries {
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
	byArray := slices.ContainsFunc(r.record.Results, func(result *store.Result) bool { return result.ByArray })
	return client.ShowFor(r.request.client, &r.in, byArray)
}

// namedPause is the pause whose ids the request names, open or ended; else the open one; else the
// one that ended last, for an answer that names none; else none, but for the dialect that the route
// was seen to speak.
//
// A request that has waited is read for the pause that it was read for at first: the question that
// is open by now was asked after it came, and cannot be what it answers.
func (r *run) namedPause(named *agui.Pause) {
	switch p, ended := r.readFor.find(&r.record, r.in.NamedIDs()); {
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
