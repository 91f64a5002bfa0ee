package proxy

import (
	"errors"
	"log/slog"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/principal"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ids"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A judge compares a request with the record of its thread, and decides by the contract what
// happens to it.
type judge struct {
	thread
	// pauseElsewhere is the id of the pause of another thread that the request answers, "" if none
	// is known.
	pauseElsewhere string

	runs *runRegistry // the runs under way
	life *runLife     // of the request's run, nil for a decision at another door
}

// ruling loads the record, reads the answers and asks the contract. An error means that the record
// could not be loaded, or that the dialect failed.
func (j *judge) ruling() (v contract.Ruling, err error) {
	if !j.selection.carries { // the pause that a run carries is in the record of the thread that asked
		j.judgeHere()
	}
	j.nextAttempt()
	if err := j.load(); err != nil {
		return v, err
	}
	if err := j.findByID(); err != nil {
		return v, err
	}
	if err := j.read(); err != nil {
		return v, err
	}
	found, err := j.findByCalls()
	if err == nil && !found {
		found, err = j.findByText()
	}
	if err != nil {
		return v, err
	}
	if found {
		if err := j.read(); err != nil {
			return v, err
		}
	}
	j.noteNamed()
	v = j.rule()
	if j.loadErr != nil && !j.passesWithoutRecord(v) {
		return v, j.loadErr
	}
	answers := len(j.answers.list) > 0 && v.Do != contract.Pass // answers of a request that passes are old ones
	j.request.answers = j.request.answers || answers || j.record.Pause != nil || j.answers.unread != nil
	return v, nil
}

// read has the dialect read the answers in the request, and relates them to the record.
func (j *judge) read() error {
	j.answers = requestAnswers{}
	j.mendHistory()
	pauseID, err := j.readAnswers()
	if err := j.noteUnread(err); err != nil {
		return err
	}
	return j.readReplies(pauseID)
}

func (j *judge) rule() contract.Ruling {
	c := j.newCase()
	c.Stray, c.StrayNames = j.replies.EndInStray(&j.in, j.record.Pause)
	v := j.view()
	c.Unasked = history.Unasked(&v)
	return contract.Judge(c)
}

func (j *judge) newCase() *contract.Case {
	settled, mixed := j.replies.Carriers()
	return &contract.Case{
		Input: j.in, Answers: j.answers.list, ReadFor: j.selection.pauseID, Unread: j.answers.unread,
		Settled: settled, Mixed: mixed, Record: j.record, Carry: j.selection.toCarry(), Stranger: j.stranger, Frees: freesOf(j.opts.Dialect), Locks: locksOf(j.opts.Dialect), Named: j.namedByClients(), Valid: j.valid,
		InMemory: j.opts.StoreInMemory, Elsewhere: j.ownThread != nil, NewThreads: j.request.client.TakesNewThreads(), GivesUp: j.givesUp(),
	}
}

// load loads the record. If the store fails and OutagePass permits it, the record is empty and
// loadErr is set.
func (j *judge) load() (err error) {
	// This must precede the load: that run may open a pause and end between the two.
	j.threadWasBusy = j.runs.busyAlone(j.ledger.Key)
	j.record, err = j.ledger.Load()
	if errors.Is(err, store.ErrUnread) {
		j.log.Error(logRecordUnread, "err", err)
		j.memory.outage.note(nil)
		return err // the record may have an open question, so not even OutagePass lets the run pass
	}
	j.memory.outage.note(err)
	switch {
	case err != nil && (j.opts.StoreOutage != OutagePass || j.mayBeAnothers()):
		return err
	case err != nil:
		j.record, j.loadErr = store.Record{Now: j.opts.Now()}, err
	default:
		j.readOwner()
	}
	if p := j.record.Pause; p != nil {
		// The pause of the record is shared, so it is copied. The copy is made here, because the
		// stack that it needs is free again before the dialect is called: with 8 kB more, the
		// goroutine of a stream has a stack of 16 kB until the next garbage collection (benchmark
		// idle-9000: 2 kB more for each stream).
		mine := p.Indexed()
		j.record.Pause = &mine
	}
	return nil
}

// readAnswers has the dialect read the answers in the fields of the request. pauseID is the pause
// that they were read for, "" if none is known.
func (j *judge) readAnswers() (pauseID string, err error) {
	defer dialect.Caught("Answers", &err)
	j.show = j.showFor()
	var p agui.Pause
	j.namedPause(&p)
	in := j.in
	in.Resume = kit.EntriesWithoutCalls(p, in.Resume)
	j.answers.list, err = j.opts.Dialect.Answers(in, p)
	kit.LeaveOutCalls(p, j.answers.list)
	readYesNo(&p, j.answers.list)
	kit.SpellOut(p, j.answers.list, j.valid)
	j.selection.fix(p.ID)
	return p.ID, err
}

// readReplies has the dialect read the replies in the messages.
func (j *judge) readReplies(pauseID string) (err error) {
	defer dialect.Caught("Replies", &err)
	v := j.view()
	replies, answers := history.Read(&v, history.Answers{List: j.answers.list, Unread: j.answers.unread}, pauseID)
	j.replies, j.answers = replies, requestAnswers{answers.List, answers.Unread}
	return nil
}

// noteUnread records why the answers could not be read, if that is the client's fault. Any other
// error is returned as a bug of the dialect.
func (j *judge) noteUnread(err error) error {
	var unread *agui.RunError
	if err != nil && !errors.As(err, &unread) {
		return dialect.AsBug("Answers", err)
	}
	if j.in.ResumeObject != nil && j.answers.list == nil && unread == nil {
		unread = agui.Errorf(agui.InvalidPayload, textResumeNotArray)
	}
	j.answers.unread = unread
	return nil
}

// showFor returns the form in which the client is shown a pause.
func (j *judge) showFor() translate.Show {
	if j.selection.carries {
		return j.show // the client sent no request
	}
	switch j.opts.Client {
	case ClientOutcome:
		return translate.ShowOutcome
	case ClientBoth:
		return translate.ShowBoth
	case ClientNative:
		return translate.ShowNative
	}
	byArray := slices.ContainsFunc(j.record.Results, func(result *store.Result) bool { return result.ByArray })
	return client.ShowFor(j.request.client, &j.in, byArray)
}

// namedPause sets *named to the pause that the request's answers are read for: the one whose ids
// the request names, open or ended; else the open one; else the one that ended last, for an answer
// that names no id. If there is none, only the dialect is set, as far as it is known for the path.
//
// A request that has waited is read for the same pause in each attempt: a question that was opened
// meanwhile was asked after the request arrived.
func (j *judge) namedPause(named *agui.Pause) {
	switch p, ended := j.selection.find(&j.record, j.in.NamedIDs()); {
	case p == nil:
	case ended:
		*named = p.Indexed()
	default:
		*named = *p
	}
	if named.Dialect == "" {
		named.Dialect = j.spoken()
	}
}

// initJudge makes j the judge of a request. The judge then owns the input, and may change it.
func (h *Handler) initJudge(j *judge, req request, who principal.Identity) {
	req.toBackendThread(who)
	*j = judge{thread: thread{opts: &h.opts, memory: h.memory, who: who, request: req}, runs: &h.runs}
	j.log = slog.New(runLog{h.log, &j.request})
	j.nextAttempt()
	voice := ledger.Voice{Sinks: &h.sinks, Who: who, Thread: j.request.clientThread(), Run: req.input.RunID}
	j.ledger = ledger.New(h.opts.Store, ids.ThreadKey(who.Tenant, h.opts.Agent, req.path, req.input.ThreadID), voice, j.log)
	j.ledger.Owner = who.Owner().ID()
}

// givesUp reports whether a new message of the person gives the open pause up, because the client
// was shown the question as a text.
func (j *judge) givesUp() bool {
	return j.record.Pause != nil && !j.selection.carries && j.listener().WasToldByText(j.record.Pause)
}
