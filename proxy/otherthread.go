package proxy

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A request may answer a question of another thread than the one that it names. index.go finds the
// thread of the question. The request is then judged against that thread's record and claims its
// pause. It can be refused like a request on that thread, and counts at most once.
//
// Both threads are busy during the run. The pause is claimed first. After that, the thread that the
// request names is occupied. Neither step waits for the other thread, so two runs that need the
// same two threads cannot block each other.

// An ownThread is the thread that a request names. It is kept while the request is judged against
// the record of another thread.
type ownThread struct {
	key    store.Key
	record store.Record
	// The input as the client sent it, if the backend gets another thread id; otherwise nil.
	input  *agui.RunInput
	thread string // the value of request.thread before it was changed
	busy   bool   // the value of threadWasBusy for the thread that the request names
}

// judgeHere goes back to the thread that the request names. The request is then judged against that
// thread's record.
func (j *judge) judgeHere() {
	own := j.ownThread
	if own == nil {
		return
	}
	j.ownThread = nil
	if own.input != nil {
		*j.request.input, j.request.thread = *own.input, own.thread
		j.in = j.in.WithThread(own.input.ThreadID)
	}
	j.setKey(own.key)
	j.record, j.threadWasBusy = own.record, own.busy
	j.readOwner()
}

// judgeAt loads the record at a place. The request is then judged against that record.
func (j *judge) judgeAt(at ledger.Place) error {
	j.ownThread = &ownThread{key: j.ledger.Key, record: j.record, busy: j.threadWasBusy}
	if j.pauseElsewhere == "" {
		// a pause of the request's own thread no longer counts
		j.pauseElsewhere, j.selection = at.Pause, pauseSelection{}
	}
	j.setKey(at.Key)
	j.log.Info("the request answers a question of another thread")
	return j.load()
}

func (j *judge) setKey(key store.Key) {
	j.ledger.Key = key
	if j.life != nil {
		j.runs.moveRun(j.life, key)
	}
}

// mayAnswerElsewhere reports whether the request may answer a question of another thread. If the
// request's own thread has an open question, that question must be answered first. There is one
// exception: a question that was reopened only to be cancelled does not count if the request is
// known to answer a question of another thread, see passHere.
func (j *judge) mayAnswerElsewhere() bool {
	if j.ownThread != nil || j.selection.carriesPause || j.request.isOwn || j.otherPrincipal || j.loadErr != nil {
		return false
	}
	return j.record.State == store.None || j.pauseElsewhere != "" && j.record.State == store.Open && kit.CancelsOnly(*j.record.Pause)
}

// findByID looks for a question in other threads if the request names an id that Holdpoint has
// made, and the record of the request's own thread has no such question. If it finds the question,
// the request is judged there.
func (j *judge) findByID() error {
	if !j.mayAnswerElsewhere() || len(j.in.Resume) == 0 && j.in.Command == nil && j.in.ResumeObject == nil {
		return nil
	}
	_, err := j.findNamed(j.in.NamedIDs(), nil)
	return err
}

// findNamed judges the request on the first record of another thread that has one of the questions.
// If takes is not nil, it accepts only records for which takes returns true.
func (j *judge) findNamed(ids []string, takes func(at ledger.Place, rec *store.Record) bool) (found bool, err error) {
	looked := 0
	for _, id := range ids {
		if !contract.IsMinted(id) || j.record.ResultOf(id) != nil {
			continue
		}
		if looked++; looked > maxLookups {
			return false, nil
		}
		list, err := j.ledger.Find(j.indexKey(ledger.ByQuestion, id))
		if err != nil {
			return false, err
		}
		for _, at := range list {
			rec, err := j.ledger.RecordAt(at, j.principal.Owner())
			if err != nil {
				return false, err
			}
			if rec != nil && j.mayBe(at) && at.Key != j.ledger.Key && (takes == nil || takes(at, rec)) {
				return true, j.judgeAt(at)
			}
		}
	}
	return false, nil
}

// mayBe reports whether the request may answer the pause at a place. If a request has waited for
// another run, it answers the same pause in each attempt.
func (j *judge) mayBe(at ledger.Place) bool {
	return j.pauseElsewhere == "" || j.pauseElsewhere == at.Pause
}

// findByCalls looks for a question in other threads if the request answers in the backend's own
// form, and the record of the request's own thread has no such question. found means that a pause
// was found.
//
// It looks for the calls of two kinds of answers: entries of resume, and decisions that no later
// text follows. If a text follows a decision, the decision answered an older question, perhaps
// about an equal call. The calls must lead to exactly one open pause. If no pause is open, they
// lead to the pause that ended last. If they lead to several open pauses, or to an open pause and
// an ended pause of another thread, it is not known which question is meant. Then the request is
// judged on its own thread.
func (j *judge) findByCalls() (found bool, err error) {
	if !j.mayAnswerElsewhere() {
		return false, nil
	}
	if found, err := j.findNamed(j.replies.PublishedIDs(j.in.Messages), nil); found || err != nil {
		return found, err
	}
	var open, ended []foundPause
	for _, c := range history.WantedCalls(&j.in, &j.record, j.replies, j.answers.list, maxLookups) {
		isOpen, hasEnded, err := j.findCall(c)
		if err != nil {
			return false, err
		}
		open, ended = append(open, isOpen...), append(ended, hasEnded[:min(len(hasEnded), 1)]...)
	}
	one := nearestPauses(slices.Concat(open, ended))
	switch {
	case len(open) == 0:
		one = one[max(0, len(one)-1):]
	case !slices.ContainsFunc(one, func(f foundPause) bool { return f.at.Key != one[0].at.Key }):
		// all pauses are in one record, and the judge of that record decides which pause is meant
		one = one[:1]
	}
	if len(one) != 1 || !j.mayBe(one[0].at) {
		j.link(slices.Concat(open, ended))
		return len(j.linkedPauses) > 0, nil
	}
	j.link(slices.DeleteFunc(slices.Concat(open, ended), func(f foundPause) bool { return f.at.Key == one[0].at.Key }))
	return true, j.judgeAt(one[0].at)
}

// findByText looks for a question in other threads if the request's history shows the question as a
// text and a later message of the person follows the text. Such a message cancels the question, as
// it does on the question's own thread. Only the newest text is looked up. The id of the text
// contains the random part of the question's id. So a person who has the text could also cancel the
// question by its id.
func (j *judge) findByText() (found bool, err error) {
	if !j.mayAnswerElsewhere() || !j.request.client.TakesNewThreads() || len(j.answers.list) > 0 || j.answers.readError != nil {
		return false, nil
	}
	return j.findNamed([]string{history.TextTalkedPast(j.in.Messages)}, func(at ledger.Place, rec *store.Record) bool {
		if rec.Pause == nil || rec.Pause.ID != at.Pause || rec.State != store.Open {
			return false
		}
		p := rec.Pause.Indexed()
		return j.listener().WasToldByText(&p)
	})
}

// findCall returns the pauses that a call leads to, newest first. If the call comes from an entry
// of resume, its arguments may be edited. If the call leads to no pause then, findCall looks it up
// by its id and its tool alone. It accepts only pauses whose user message has a random id, because
// the ids of some models and clients repeat.
func (j *judge) findCall(c history.WantedCall) (open, endedPauses []foundPause, err error) {
	list, err := j.lookUpCall(ledger.ByCall, c.Call)
	if err != nil {
		return nil, nil, err
	}
	if open, endedPauses, err = j.pausesAt(c, list); err != nil || len(open)+len(endedPauses) > 0 || !c.InEntry {
		return open, endedPauses, err
	}
	if list, err = j.lookUpCall(ledger.ByEditedCall, c.Call); err != nil {
		return nil, nil, err
	}
	return j.pausesAt(c, slices.DeleteFunc(list, func(at ledger.Place) bool {
		behind := history.PlaceOf(j.in.Messages, at.UserMessage)
		return behind < 0 || !isRandom(at.UserMessage.ID) || j.in.Messages[behind].ID != at.UserMessage.ID
	}))
}

// pausesAt returns those pauses at the places in list that the call c may be about. It returns open
// pauses and ended pauses separately.
func (j *judge) pausesAt(c history.WantedCall, list []ledger.Place) (open, endedPauses []foundPause, err error) {
	looked := 0
	for _, at := range list {
		behind := history.PlaceOf(j.in.Messages, at.UserMessage)
		if at.Key == j.ledger.Key || behind < 0 || c.Follows >= 0 && behind != c.Follows {
			continue
		}
		if looked++; looked > maxCandidates {
			break
		}
		rec, err := j.ledger.RecordAt(at, j.principal.Owner())
		if err != nil {
			return nil, nil, err
		}
		switch {
		case rec == nil || c.Follows < 0 && !entryNames(&j.in, rec, at.Pause):
		case rec.Pause == nil || rec.Pause.ID != at.Pause:
			endedPauses = append(endedPauses, foundPause{at, rec, behind})
		default:
			open = append(open, foundPause{at, rec, behind})
		}
	}
	return open, endedPauses, nil
}

// entryNames reports whether an entry of resume may name a question of the pause. If the record no
// longer has the questions of the pause, any entry may name one, and it returns true.
func entryNames(in *agui.RunInput, rec *store.Record, pause string) bool {
	p, _ := pauseOf(rec, pause)
	return p == nil || slices.ContainsFunc(in.Resume, func(e agui.ResumeEntry) bool {
		return p.InterruptNamed(e.InterruptID) != nil
	})
}

// A foundPause is a pause that a call of the request leads to.
type foundPause struct {
	at          ledger.Place
	record      *store.Record
	userMessage int // index of the user message that started the paused run
}

// nearestPauses returns the pauses that follow the last user message, without duplicates. last is
// the greatest index of a user message with a pause in list. The person has moved on from the
// questions of the other pauses.
func nearestPauses(list []foundPause) []foundPause {
	last := -1
	for _, one := range list {
		last = max(last, one.userMessage)
	}
	var kept []foundPause
	for _, one := range list {
		if one.userMessage == last && !slices.ContainsFunc(kept, func(k foundPause) bool { return k.at == one.at }) {
			kept = append(kept, one)
		}
	}
	return kept
}

// link adds pauses of other threads to the attempt, if their backend keeps no state. The dialect
// needs them, because such a backend reads their calls only from the messages of the request.
func (j *judge) link(list []foundPause) {
	stateless, ok := j.opts.Dialect.(translate.Stateless)
	if !ok {
		return
	}
	for _, one := range list {
		p, result := pauseOf(one.record, one.at.Pause)
		if p != nil && stateless.KeepsNothing(p) {
			j.linkedPauses = append(j.linkedPauses, history.LinkedPause{Pause: p, Result: result})
		}
	}
}

func pauseOf(rec *store.Record, id string) (*agui.Pause, *store.Result) {
	if p := rec.Pause; p != nil && p.ID == id {
		return p, nil
	}
	for _, result := range rec.Results {
		if result.PauseID == id {
			return result.Pause, result
		}
	}
	return nil, nil
}

// passHere is called when a request that was judged against the record of another thread is to pass
// as an ordinary run. It also judges the request against the record of its own thread: the client
// may not know how a pause of its own thread has ended, or an open question may lock its own
// thread. It returns the new ruling.
func (j *judge) passHere(otherRuling contract.Ruling) contract.Ruling {
	if p := j.record.Pause; p != nil {
		j.link([]foundPause{{at: ledger.Place{Key: j.ledger.Key, Pause: p.ID}, record: &j.record}})
	}
	for _, result := range j.record.Results {
		j.link([]foundPause{{at: ledger.Place{Key: j.ledger.Key, Pause: result.PauseID}, record: &j.record}})
	}
	j.judgeHere()
	return contract.PassesHere(j.newCase(), otherRuling)
}

// toThreadOf changes the thread id of the request to the id of the thread that asked, if the
// backend keeps conversations. Under another id the backend might wait for the answer to another
// question, and would use this answer for that question. Any other backend gets the thread id that
// the client names.
func (j *judge) toThreadOf(p *agui.Pause) {
	own := j.ownThread
	if own == nil || own.input != nil || p.Origin == nil {
		return
	}
	if stateless, ok := j.opts.Dialect.(translate.Stateless); ok && stateless.KeepsNothing(p) {
		return
	}
	thread := j.principal.Thread(p.Origin.Thread)
	if thread == j.in.ThreadID {
		return
	}
	came := *j.request.input
	own.input, own.thread = &came, j.request.thread
	j.request.thread = j.request.clientThread()
	*j.request.input = j.request.input.WithThread(thread)
	j.in = j.in.WithThread(thread)
}
