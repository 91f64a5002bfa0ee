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
func (r *run) judgeHere() {
	own := r.ownThread
	if own == nil {
		return
	}
	r.ownThread = nil
	if own.input != nil {
		*r.request.input, r.request.thread = *own.input, own.thread
		r.in = r.in.WithThread(own.input.ThreadID)
	}
	r.setKey(own.key)
	r.record, r.threadWasBusy = own.record, own.busy
	r.readOwner()
}

// judgeAt has the request judged against another record.
func (r *run) judgeAt(at ledger.Place) error {
	r.ownThread = &ownThread{key: r.ledger.Key, record: r.record, busy: r.threadWasBusy}
	if r.pauseElsewhere == "" {
		r.pauseElsewhere, r.readFor = at.Pause, readFor{} // what it was read for on its own thread does not count
	}
	r.setKey(at.Key)
	r.log.Info("the request answers a question of another thread")
	return r.load()
}

func (r *run) setKey(key store.Key) {
	r.ledger.Key = key
	r.h.lives.move(&r.life, key)
}

// mayAnswerElsewhere reports whether the request's own thread leaves it open which thread it
// answers. A thread that waits is answered first, unless the request answers another thread and
// this one was opened again for a cancel, see passHere.
func (r *run) mayAnswerElsewhere() bool {
	if r.ownThread != nil || r.readFor.carries || r.request.ours || r.stranger || r.notAsked != nil {
		return false
	}
	return r.record.State == store.None || r.pauseElsewhere != "" && r.record.State == store.Open && kit.CancelsOnly(*r.record.Pause)
}

// findByID looks for the question that the request names by an id of Holdpoint's, if the thread's
// own record does not know it.
func (r *run) findByID() error {
	if !r.mayAnswerElsewhere() || len(r.in.Resume) == 0 && r.in.Command == nil && r.in.ResumeObject == nil {
		return nil
	}
	return r.findNamed(r.in.NamedIDs())
}

func (r *run) findNamed(ids []string) error {
	looked := 0
	for _, id := range ids {
		if !contract.IsMinted(id) || r.record.ResultOf(id) != nil {
			continue
		}
		if looked++; looked > maxLookups {
			return nil
		}
		list, err := r.ledger.Find(r.indexKey(ledger.ByQuestion, id))
		if err != nil {
			return err
		}
		for _, at := range list {
			rec, err := r.ledger.RecordAt(at, r.who.Owner())
			if err != nil {
				return err
			}
			if rec != nil && r.mayBe(at) && at.Key != r.ledger.Key {
				return r.judgeAt(at)
			}
		}
	}
	return nil
}

// mayBe reports whether the request may answer the pause: one that has waited answers what it has
// answered at first.
func (r *run) mayBe(at ledger.Place) bool {
	return r.pauseElsewhere == "" || r.pauseElsewhere == at.Pause
}

// findByCalls looks for the question that the request answers in the backend's own form, if the
// thread's own record does not know it. It reports whether anything was found.
//
// Only entries and decisions that nobody's words follow are looked up, because an older decision
// was said to an older question, whose call may be equal. The calls must lead to one pause that
// waits. If they lead to several, or to one that waits and to one of another thread that has ended,
// nobody knows which one is meant, and the request is judged on its own thread. If none waits, the
// last one that has ended counts.
func (r *run) findByCalls() (found bool, err error) {
	if !r.mayAnswerElsewhere() {
		return false, nil
	}
	if err := r.findNamed(r.replies.PublishedIDs(r.in.Messages)); err != nil || r.ownThread != nil {
		return r.ownThread != nil, err
	}
	var open, ended []foundPause
	for _, c := range history.WantedCalls(&r.in, &r.record, r.replies, r.answers.list, maxLookups) {
		isOpen, hasEnded, err := r.findCall(c)
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
	if len(one) != 1 || !r.mayBe(one[0].at) {
		r.link(slices.Concat(open, ended))
		return len(r.linked) > 0, nil
	}
	r.link(slices.DeleteFunc(slices.Concat(open, ended), func(f foundPause) bool { return f.at.Key == one[0].at.Key }))
	return true, r.judgeAt(one[0].at)
}

// findCall returns the pauses that a call leads to, newest first. The arguments of a call in an
// entry may be edited. If they lead nowhere, its id and its tool do, behind a message with a random
// id: those of models and of messages repeat.
func (r *run) findCall(c history.WantedCall) (open, ended []foundPause, err error) {
	list, err := r.lookUpCall(ledger.ByCall, c.Call)
	if err != nil {
		return nil, nil, err
	}
	if open, ended, err = r.pausesAt(c, list); err != nil || len(open)+len(ended) > 0 || !c.InEntry {
		return open, ended, err
	}
	if list, err = r.lookUpCall(ledger.ByEditedCall, c.Call); err != nil {
		return nil, nil, err
	}
	return r.pausesAt(c, slices.DeleteFunc(list, func(at ledger.Place) bool {
		behind := history.PlaceOf(r.in.Messages, at.Behind)
		return behind < 0 || !isRandom(at.Behind.ID) || r.in.Messages[behind].ID != at.Behind.ID
	}))
}

// pausesAt returns those of some pauses that a call may be about.
func (r *run) pausesAt(c history.WantedCall, list []ledger.Place) (open, ended []foundPause, err error) {
	looked := 0
	for _, at := range list {
		behind := history.PlaceOf(r.in.Messages, at.Behind)
		if at.Key == r.ledger.Key || behind < 0 || c.Follows >= 0 && behind != c.Follows {
			continue
		}
		if looked++; looked > maxCandidates {
			break
		}
		rec, err := r.ledger.RecordAt(at, r.who.Owner())
		if err != nil {
			return nil, nil, err
		}
		switch {
		case rec == nil || c.Follows < 0 && !r.entryNames(rec, at.Pause):
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
func (r *run) entryNames(rec *store.Record, pause string) bool {
	p, _ := pauseOf(rec, pause)
	return p == nil || slices.ContainsFunc(r.in.Resume, func(e agui.ResumeEntry) bool {
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
func (r *run) link(list []foundPause) {
	stateless, ok := r.h.opts.Dialect.(translate.Stateless)
	if !ok {
		return
	}
	for _, one := range list {
		p, result := pauseOf(one.record, one.at.Pause)
		if p != nil && stateless.KeepsNothing(p) {
			r.linked = append(r.linked, history.Linked{Pause: p, Result: result})
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
func (r *run) passHere(elsewhere contract.Ruling) contract.Ruling {
	if p := r.record.Pause; p != nil {
		r.link([]foundPause{{at: ledger.Place{Key: r.ledger.Key, Pause: p.ID}, record: &r.record}})
	}
	for _, result := range r.record.Results {
		r.link([]foundPause{{at: ledger.Place{Key: r.ledger.Key, Pause: result.PauseID}, record: &r.record}})
	}
	r.judgeHere()
	return contract.PassesHere(r.newCase(), elsewhere)
}

// toThreadOf has a backend that keeps a conversation by its thread get the answers on the thread
// that asked: on another one it may wait for the answer to something else. Any other backend gets
// the thread that the client names.
func (r *run) toThreadOf(p *agui.Pause) {
	own := r.ownThread
	if own == nil || own.input != nil || p.Origin == nil {
		return
	}
	if stateless, ok := r.h.opts.Dialect.(translate.Stateless); ok && stateless.KeepsNothing(p) {
		return
	}
	thread := r.who.Thread(p.Origin.Thread)
	if thread == r.in.ThreadID {
		return
	}
	came := *r.request.input
	own.input, own.thread = &came, r.request.thread
	r.request.thread = r.request.clientThread()
	*r.request.input = r.request.input.WithThread(thread)
	r.in = r.in.WithThread(thread)
}

// occupyOwnThread keeps other runs from the thread that the request names, while it goes on with a
// question of another one. free reports that no other run is there.
func (r *run) occupyOwnThread() (free bool, err error) {
	own := r.ownThread
	if own == nil {
		return true, nil
	}
	o, err := r.ledger.Occupy(own.key)
	if o == nil {
		return false, err
	}
	r.life.ownThread = o
	return true, nil
}
