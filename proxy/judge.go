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

// A judge compares a request with the record of its thread. By the rules of the contract it decides
// whether the request is sent, refused or answered from the record.
type judge struct {
	thread
	// pauseElsewhere is the id of a pause in another thread, if the request answers the questions
	// of that pause. It is "" if no such pause is known.
	pauseElsewhere string

	runs *runRegistry // the current runs of this handler
	// the life of the request's run; nil if the request is a decision of the desk or another door
	life *runLife
}

// ruling loads the record, reads the answers of the request, and asks package contract for its
// ruling. It returns an error if the record could not be loaded, or if the dialect failed.
func (j *judge) ruling() (v contract.Ruling, err error) {
	// a pause that this request carries is in the record of the thread that asked
	if !j.selection.carriesPause {
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
	// if the request passes, its answers belong to earlier questions
	answers := len(j.answers.list) > 0 && v.Do != contract.Pass
	j.request.answers = j.request.answers || answers || j.record.Pause != nil || j.answers.readError != nil
	return v, nil
}

// read lets the dialect read the answers in the request, and finds the questions of the record that
// they answer.
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
	c.EndsInStrayDecision, c.StrayCallID = j.replies.EndInStray(&j.in, j.record.Pause)
	v := j.view()
	c.UnaskedCallID = history.UnaskedCall(&v)
	return contract.Judge(c)
}

func (j *judge) newCase() *contract.Case {
	settled, mixed := j.replies.Carriers()
	recorded := func(ended *store.Result) func(agui.Message) bool {
		v := j.view()
		return history.RecordedResults(&v, ended)
	}
	return &contract.Case{
		Input: j.in, Answers: j.answers.list, ReadFor: j.selection.pauseID, ReadError: j.answers.readError,
		RepeatedAnswers: settled, MixedMessages: mixed, Record: j.record, Carry: j.selection.toCarry(), OtherPrincipal: j.otherPrincipal, ForwardsCancel: freesOf(j.opts.Dialect), LocksThread: locksOf(j.opts.Dialect), NamedPause: j.namedByClients(), RecordedResults: recorded, Valid: j.valid,
		InMemory: j.opts.StoreInMemory, OtherThread: j.ownThread != nil, NewThreads: j.request.client.TakesNewThreads(), GivesUp: j.givesUp(),
	}
}

// load loads the record. If the store fails, and OutagePass lets the run pass without a record,
// load sets an empty record and loadErr.
func (j *judge) load() (err error) {
	// This must be done before the record is loaded. If it were done after that, the other run
	// could open a pause after the load and end before the check, and this run would notice
	// neither.
	j.threadWasBusy = j.runs.busyAlone(j.ledger.Key)
	j.record, err = j.ledger.Load()
	if errors.Is(err, store.ErrUnread) {
		j.log.Error(logRecordUnread, "err", err)
		j.memory.outage.note(nil)
		// The record may have an open question, so even OutagePass does not let the run pass.
		return err
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
		// The pause is copied, because other goroutines use the record's pause too. The copy is
		// made in this function, because the stack that it needs is free again before the dialect
		// is called. If the stack needs 8 kB more, the goroutine of a stream has a stack of 16 kB
		// until the next garbage collection (benchmark idle-9000: 2 kB more for each stream).
		mine := p.Indexed()
		j.record.Pause = &mine
	}
	return nil
}

// readAnswers lets the dialect read the answers in the fields of the request. pauseID is the id of
// the pause whose questions they answer, "" if no pause is known.
func (j *judge) readAnswers() (pauseID string, err error) {
	defer dialect.CatchPanic("Answers", &err)
	j.show = j.showFor()
	var p agui.Pause
	j.namedPause(&p)
	in := j.in
	in.Resume = kit.EntriesWithoutCalls(p, in.Resume)
	j.answers.list, err = j.opts.Dialect.Answers(in, p)
	kit.LeaveOutCalls(p, j.answers.list)
	readYesNo(&p, j.answers.list)
	kit.SpellOut(p, j.answers.list, j.valid)
	j.selection.fixPause(p.ID)
	return p.ID, err
}

// readReplies lets the dialect read the replies in the messages of the request. A reply is an
// answer in a message.
func (j *judge) readReplies(pauseID string) (err error) {
	defer dialect.CatchPanic("Replies", &err)
	v := j.view()
	replies, answers := history.Read(&v, history.Answers{List: j.answers.list, ReadError: j.answers.readError}, pauseID)
	j.replies, j.answers = replies, requestAnswers{answers.List, answers.ReadError}
	return nil
}

// noteUnread records the error err if the dialect could not read the answers because of the
// client's mistake. It returns any other error as a bug of the dialect.
func (j *judge) noteUnread(err error) error {
	var unread *agui.RunError
	if err != nil && !errors.As(err, &unread) {
		return dialect.AsBug("Answers", err)
	}
	if j.in.ResumeObject != nil && j.answers.list == nil && unread == nil {
		unread = agui.Errorf(agui.InvalidPayload, textResumeNotArray)
	}
	j.answers.readError = unread
	return nil
}

// showFor returns in which form the client gets a question.
func (j *judge) showFor() translate.Show {
	if j.selection.carriesPause {
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

// namedPause sets *named to the pause for which the request's answers are read. If the request
// names ids, it is the pause with these ids, open or ended. Otherwise it is the open pause. If no
// pause is open, it is the pause that ended last, because an answer may name no id. If there is no
// such pause either, only the dialect is set, if it is known for the path.
//
// If a request has waited for another run, its answers are read for the same pause in each attempt.
// A question that was opened meanwhile cannot be the one that the request answers, because the
// request arrived before it.
func (j *judge) namedPause(named *agui.Pause) {
	switch p, ended := j.selection.find(&j.record, j.in.NamedIDs()); {
	case p == nil:
	case ended:
		*named = p.Indexed()
	default:
		*named = *p
	}
	if named.Dialect == "" {
		named.Dialect = j.dialectOfThread()
	}
}

// initJudge makes j the judge of a request. The judge then owns the input of the request, and may
// change it.
func (h *Handler) initJudge(j *judge, req request, who principal.Identity) {
	req.toBackendThread(who)
	*j = judge{thread: thread{opts: &h.opts, memory: h.memory, principal: who, request: req}, runs: &h.runs}
	j.log = slog.New(runLog{h.log, &j.request})
	j.nextAttempt()
	voice := ledger.EventReporter{Sinks: &h.sinks, Principal: who, Thread: j.request.clientThread(), Run: req.input.RunID}
	j.ledger = ledger.New(h.opts.Store, ids.ThreadKey(who.Tenant, h.opts.Agent, req.path, req.input.ThreadID), voice, j.log)
	j.ledger.Owner = who.Owner().ID()
}

// givesUp reports whether a new message of the person cancels the open pause, because the client
// got its question as a text.
func (j *judge) givesUp() bool {
	return j.record.Pause != nil && !j.selection.carriesPause && j.listener().WasToldByText(j.record.Pause)
}
