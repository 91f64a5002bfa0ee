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

// A request may answer a question of a thread other than the one that it names; index.go finds that
// thread. The request is then judged against that thread's record and claims its pause, with the
// same refusals as on that thread, and at most once.
//
// Both threads are busy during the run. The claim is made first, and the thread that the request
// names is reserved second. Neither step waits for the other, so two runs that need the same two
// threads cannot block each other.

// An ownThread is the thread that a request names, while the request is judged against the record
// of another thread.
type ownThread struct {
	key    store.Key
	record store.Record
	input  *agui.RunInput // the input as the client sent it, if the backend gets another thread id; else nil
	thread string         // request.thread as it was before the change
	busy   bool           // threadWasBusy of this thread
}

// judgeHere makes the request be judged against the record of the thread that it names.
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

// judgeAt makes the request be judged against the record at another place.
func (j *judge) judgeAt(at ledger.Place) error {
	j.ownThread = &ownThread{key: j.ledger.Key, record: j.record, busy: j.threadWasBusy}
	if j.pauseElsewhere == "" {
		j.pauseElsewhere, j.selection = at.Pause, pauseSelection{} // the pause of its own thread does not count any more
	}
	j.setKey(at.Key)
	j.log.Info("the request answers a question of another thread")
	return j.load()
}

func (j *judge) setKey(key store.Key) {
	j.ledger.Key = key
	if j.life != nil {
		j.runs.move(j.life, key)
	}
}

// mayAnswerElsewhere reports whether the request may answer a question of another thread. A
// question of its own thread takes precedence, unless it was reopened only to be cancelled and the
// request is known to answer another thread, see passHere.
func (j *judge) mayAnswerElsewhere() bool {
	if j.ownThread != nil || j.selection.carries || j.request.ours || j.stranger || j.loadErr != nil {
		return false
	}
	return j.record.State == store.None || j.pauseElsewhere != "" && j.record.State == store.Open && kit.CancelsOnly(*j.record.Pause)
}

// findByID looks in other threads for the question that the request names by an id of Holdpoint's,
// if the record of its own thread has no such question.
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

// mayBe reports whether the request may answer the pause at a place. A request that has waited
// answers the same pause in each attempt.
func (j *judge) mayBe(at ledger.Place) bool {
	return j.pauseElsewhere == "" || j.pauseElsewhere == at.Pause
}

// findByCalls looks in other threads for the question that the request answers in the backend's own
// form, if the record of its own thread has no such question. found reports whether any pause was
// found.
//
// Only entries of resume, and decisions that no later text follows, are looked up: an older
// decision answered an older question, whose call may be equal. The calls must lead to exactly one
// open pause. If they lead to several, or to an open one and an ended one of another thread, it is
// not known which is meant, and the request is judged on its own thread. If no pause is open, the
// last one that ended counts.
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
		one = one[:1] // all are of one record, and the record decides which of them is meant
	}
	if len(one) != 1 || !j.mayBe(one[0].at) {
		j.link(slices.Concat(open, ended))
		return len(j.linked) > 0, nil
	}
	j.link(slices.DeleteFunc(slices.Concat(open, ended), func(f foundPause) bool { return f.at.Key == one[0].at.Key }))
	return true, j.judgeAt(one[0].at)
}

// findByText looks in other threads for a question that the request's history shows as a text and
// that a later message of the person follows. Such a message cancels the question, as it does on
// the question's own thread. Only the newest text is looked up. Its id contains the random part of
// the question's id, so whoever has the text could also cancel the question by its id.
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
// entry may be edited. If they lead to no pause, the call's id and tool are looked up, but only
// after a user message with a random id, because ids that models and some clients make can repeat.
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

// pausesAt returns the pauses at the places in list that the call c may be about, open and ended
// ones.
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

// entryNames reports whether an entry of the request may name a question of the pause. It is true
// if the record no longer has the questions of the pause.
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
	behind int // index of the user's message that started the paused run
}

// nearest returns the pauses whose user message is the last among those of the list, each once. To
// answer any of the other pauses would be to answer a question that the person has already moved on
// from.
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

// link adds pauses of other threads to the attempt, if their backend keeps no state: what that
// backend does with their calls depends only on the request.
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

// passHere judges again, as an ordinary run of its own thread, a request that was judged against
// the record of another thread. The chat may have missed an end there, or the thread may be locked.
// It returns the new ruling.
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

// toThreadOf sends the answers to a backend that keeps conversations under the thread id that
// asked, because under another id it may wait for the answer to something else. Any other backend
// gets the thread id that the client names.
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
