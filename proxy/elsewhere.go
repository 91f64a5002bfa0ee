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

// A request may answer a question of another thread than the one that it names; index.go finds that
// thread. The request is then judged against that thread's record, and claims there, as if it had
// come on that thread: with the same refusals, and once.
//
// Both threads are busy while the run lives. The claim comes first, and the thread that the request
// names second. Neither waits for the other, so two runs that want the same two threads cannot
// block each other for good.

// An ownThread is the thread that a request names, while the request is judged against the record
// of another one.
type ownThread struct {
	key    store.Key
	record store.Record
	input  *agui.RunInput // as the client sent it, if the backend gets another thread; else nil
	thread string         // request.thread before that
	busy   bool           // threadWasBusy, of this thread
}

// judgeHere has the request judged against the record of the thread that it names.
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

// judgeAt has the request judged against another record.
func (j *judge) judgeAt(at ledger.Place) error {
	j.ownThread = &ownThread{key: j.ledger.Key, record: j.record, busy: j.threadWasBusy}
	if j.pauseElsewhere == "" {
		j.pauseElsewhere, j.readFor = at.Pause, pauseSelection{} // what it was read for on its own thread does not count
	}
	j.setKey(at.Key)
	j.log.Info("the request answers a question of another thread")
	return j.load()
}

func (j *judge) setKey(key store.Key) {
	j.ledger.Key = key
	if j.life != nil {
		j.lives.move(j.life, key)
	}
}

// mayAnswerElsewhere reports whether the request's own thread leaves it open which thread it
// answers. A thread that waits is answered first, unless the request answers another thread and
// this one was opened again for a cancel, see passHere.
func (j *judge) mayAnswerElsewhere() bool {
	if j.ownThread != nil || j.readFor.carries || j.request.ours || j.stranger || j.notAsked != nil {
		return false
	}
	return j.record.State == store.None || j.pauseElsewhere != "" && j.record.State == store.Open && kit.CancelsOnly(*j.record.Pause)
}

// findByID looks for the question that the request names by an id of Holdpoint's, if the thread's
// own record does not know it.
func (j *judge) findByID() error {
	if !j.mayAnswerElsewhere() || len(j.in.Resume) == 0 && j.in.Command == nil && j.in.ResumeObject == nil {
		return nil
	}
	return j.findNamed(j.in.NamedIDs())
}

func (j *judge) findNamed(ids []string) error {
	looked := 0
	for _, id := range ids {
		if !contract.IsMinted(id) || j.record.ResultOf(id) != nil {
			continue
		}
		if looked++; looked > maxLookups {
			return nil
		}
		list, err := j.ledger.Find(j.indexKey(ledger.ByQuestion, id))
		if err != nil {
			return err
		}
		for _, at := range list {
			rec, err := j.ledger.RecordAt(at, j.who.Owner())
			if err != nil {
				return err
			}
			if rec != nil && j.mayBe(at) && at.Key != j.ledger.Key {
				return j.judgeAt(at)
			}
		}
	}
	return nil
}

// mayBe reports whether the request may answer the pause: one that has waited answers what it has
// answered at first.
func (j *judge) mayBe(at ledger.Place) bool {
	return j.pauseElsewhere == "" || j.pauseElsewhere == at.Pause
}

// findByCalls looks for the question that the request answers in the backend's own form, if the
// thread's own record does not know it. It reports whether anything was found.
//
// Only entries and decisions that nobody's words follow are looked up, because an older decision
// was said to an older question, whose call may be equal. The calls must lead to one pause that
// waits. If they lead to several, or to one that waits and to one of another thread that has ended,
// nobody knows which one is meant, and the request is judged on its own thread. If none waits, the
// last one that has ended counts.
func (j *judge) findByCalls() (found bool, err error) {
	if !j.mayAnswerElsewhere() {
		return false, nil
	}
	if err := j.findNamed(j.replies.PublishedIDs(j.in.Messages)); err != nil || j.ownThread != nil {
		return j.ownThread != nil, err
	}
	var open, ended []foundPause
	for _, c := range history.WantedCalls(&j.in, &j.record, j.replies, j.answers.list, maxLookups) {
		isOpen, hasEnded, err := j.findCall(c)
		if err != nil {
			return false, err
		}
		open, ended = append(open, isOpen...), append(ended, hasEnded[:min(len(hasEnded), 1)]...)
	}
	one := nearest(slices.Concat(open, ended))
	switch {
	case len(open) == 0:
		one = one[max(0, len(one)-1):]
	case !slices.ContainsFunc(one, func(f foundPause) bool { return f.at.Key != one[0].at.Key }):
		one = one[:1] // which of a record's pauses is meant, the record tells
	}
	if len(one) != 1 || !j.mayBe(one[0].at) {
		j.link(slices.Concat(open, ended))
		return len(j.linked) > 0, nil
	}
	j.link(slices.DeleteFunc(slices.Concat(open, ended), func(f foundPause) bool { return f.at.Key == one[0].at.Key }))
	return true, j.judgeAt(one[0].at)
}

// findByText looks for the question that the request's history tells as a text and that its person
// has talked past, if the thread's own record does not know it. Such a message cancels the
// question, as it does on the question's own thread. Only the newest text is looked up. Its id has
// the random part of the question's, so whoever has it could cancel the question by name.
func (j *judge) findByText() (found bool, err error) {
	if !j.mayAnswerElsewhere() || !j.request.client.TakesNewThreads() || len(j.answers.list) > 0 || j.answers.unread != nil {
		return false, nil
	}
	id := history.TextTalkedPast(j.in.Messages)
	if !contract.IsMinted(id) || j.record.ResultOf(id) != nil {
		return false, nil
	}
	list, err := j.ledger.Find(j.indexKey(ledger.ByQuestion, id))
	if err != nil {
		return false, err
	}
	for _, at := range list {
		rec, err := j.ledger.RecordAt(at, j.who.Owner())
		if err != nil {
			return false, err
		}
		if rec == nil || !j.mayBe(at) || at.Key == j.ledger.Key || rec.Pause == nil || rec.Pause.ID != at.Pause || rec.State != store.Open {
			continue
		}
		if p := rec.Pause.Indexed(); j.listener().WasToldByText(&p) {
			return true, j.judgeAt(at)
		}
	}
	return false, nil
}

// findCall returns the pauses that a call leads to, newest first. The arguments of a call in an
// entry may be edited. If they lead nowhere, its id and its tool do, behind a message with a random
// id: those of models and of messages repeat.
func (j *judge) findCall(c history.WantedCall) (open, ended []foundPause, err error) {
	list, err := j.lookUpCall(ledger.ByCall, c.Call)
	if err != nil {
		return nil, nil, err
	}
	if open, ended, err = j.pausesAt(c, list); err != nil || len(open)+len(ended) > 0 || !c.InEntry {
		return open, ended, err
	}
	if list, err = j.lookUpCall(ledger.ByEditedCall, c.Call); err != nil {
		return nil, nil, err
	}
	return j.pausesAt(c, slices.DeleteFunc(list, func(at ledger.Place) bool {
		behind := history.PlaceOf(j.in.Messages, at.Behind)
		return behind < 0 || !isRandom(at.Behind.ID) || j.in.Messages[behind].ID != at.Behind.ID
	}))
}

// pausesAt returns those of some pauses that a call may be about.
func (j *judge) pausesAt(c history.WantedCall, list []ledger.Place) (open, ended []foundPause, err error) {
	looked := 0
	for _, at := range list {
		behind := history.PlaceOf(j.in.Messages, at.Behind)
		if at.Key == j.ledger.Key || behind < 0 || c.Follows >= 0 && behind != c.Follows {
			continue
		}
		if looked++; looked > maxCandidates {
			break
		}
		rec, err := j.ledger.RecordAt(at, j.who.Owner())
		if err != nil {
			return nil, nil, err
		}
		switch {
		case rec == nil || c.Follows < 0 && !entryNames(&j.in, rec, at.Pause):
		case rec.Pause == nil || rec.Pause.ID != at.Pause:
			ended = append(ended, foundPause{at, rec, behind})
		default:
			open = append(open, foundPause{at, rec, behind})
		}
	}
	return open, ended, nil
}

// entryNames reports whether an entry of the request may name a question of the pause. The record
// does not know the questions of an old pause.
func entryNames(in *agui.RunInput, rec *store.Record, pause string) bool {
	p, _ := pauseOf(rec, pause)
	return p == nil || slices.ContainsFunc(in.Resume, func(e agui.ResumeEntry) bool {
		return p.Named(e.InterruptID) != nil
	})
}

// A foundPause is a pause that a call of the request leads to.
type foundPause struct {
	at     ledger.Place
	record *store.Record
	behind int // the place of the user's message that the paused run was for
}

// nearest returns the pauses whose user's message is the last one among theirs, each once. An
// answer to any of the others would be an answer to a question that the person has talked past.
func nearest(list []foundPause) []foundPause {
	last := -1
	for _, one := range list {
		last = max(last, one.behind)
	}
	var kept []foundPause
	for _, one := range list {
		if one.behind == last && !slices.ContainsFunc(kept, func(k foundPause) bool { return k.at == one.at }) {
			kept = append(kept, one)
		}
	}
	return kept
}

// link has the run know the pauses of other threads, as far as their backend keeps nothing: what it
// would do with their calls depends on the request alone.
func (j *judge) link(list []foundPause) {
	stateless, ok := j.opts.Dialect.(translate.Stateless)
	if !ok {
		return
	}
	for _, one := range list {
		p, result := pauseOf(one.record, one.at.Pause)
		if p != nil && stateless.KeepsNothing(p) {
			j.linked = append(j.linked, history.Linked{Pause: p, Result: result})
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

// passHere has a request that was judged against the record of another thread go on as an ordinary
// run of its own thread. The chat may have missed something there, or be locked. It returns the
// ruling there.
func (j *judge) passHere(elsewhere contract.Ruling) contract.Ruling {
	if p := j.record.Pause; p != nil {
		j.link([]foundPause{{at: ledger.Place{Key: j.ledger.Key, Pause: p.ID}, record: &j.record}})
	}
	for _, result := range j.record.Results {
		j.link([]foundPause{{at: ledger.Place{Key: j.ledger.Key, Pause: result.PauseID}, record: &j.record}})
	}
	j.judgeHere()
	return contract.PassesHere(j.newCase(), elsewhere)
}

// toThreadOf has a backend that keeps a conversation by its thread get the answers on the thread
// that asked: on another one it may wait for the answer to something else. Any other backend gets
// the thread that the client names.
func (j *judge) toThreadOf(p *agui.Pause) {
	own := j.ownThread
	if own == nil || own.input != nil || p.Origin == nil {
		return
	}
	if stateless, ok := j.opts.Dialect.(translate.Stateless); ok && stateless.KeepsNothing(p) {
		return
	}
	thread := j.who.Thread(p.Origin.Thread)
	if thread == j.in.ThreadID {
		return
	}
	came := *j.request.input
	own.input, own.thread = &came, j.request.thread
	j.request.thread = j.request.clientThread()
	*j.request.input = j.request.input.WithThread(thread)
	j.in = j.in.WithThread(thread)
}
