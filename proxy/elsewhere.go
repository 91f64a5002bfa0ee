package proxy

import (
	"context"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/client"
	"holdpoint/internal/contract"
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
	}
	r.setKey(own.key)
	r.record = own.record
}

// judgeAt has the request judged against another record.
func (r *run) judgeAt(at pausePlace) error {
	r.ownThread = &ownThread{key: r.ledger.key, record: r.record}
	if r.pauseElsewhere == "" {
		r.pauseElsewhere, r.readFor = at.Pause, readFor{} // what it was read for on its own thread does not count
	}
	r.setKey(at.Key)
	r.log.Info("the request answers a question of another thread")
	return r.load()
}

func (r *run) setKey(key store.Key) {
	r.ledger.key = key
	r.h.lives.mu.Lock()
	r.life.key = key
	r.h.lives.mu.Unlock()
}

// mayAnswerElsewhere reports whether the request's own thread leaves it open which thread it
// answers. A thread that waits is answered first.
func (r *run) mayAnswerElsewhere() bool {
	return r.ownThread == nil && !r.request.ours && !r.stranger && r.notAsked == nil && r.record.State == store.None
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
		list, err := r.lookUp(r.indexKey(byQuestion, id))
		if err != nil {
			return err
		}
		for _, at := range list {
			rec, err := r.recordAt(at)
			if err != nil {
				return err
			}
			if rec != nil && r.mayBe(at) && at.Key != r.ledger.key {
				return r.judgeAt(at)
			}
		}
	}
	return nil
}

// mayBe reports whether the request may answer the pause: one that has waited answers what it has
// answered at first.
func (r *run) mayBe(at pausePlace) bool {
	return r.pauseElsewhere == "" || r.pauseElsewhere == at.Pause
}

// findByCalls looks for the question that the request answers in the backend's own form, if the
// thread's own record does not know it. The calls must lead to one pause that waits. If they lead
// to several, nobody knows which one is meant, and the request is judged on its own thread. What
// the calls tell of pauses that have ended is linked. It reports whether anything was found.
func (r *run) findByCalls() (found bool, err error) {
	if !r.mayAnswerElsewhere() {
		return false, nil
	}
	var ids []string // of Holdpoint's, that messages name
	for _, d := range r.replies {
		if d.pause == nil {
			ids = append(ids, r.publishedIDs(d)...)
		}
	}
	if err := r.findNamed(ids); err != nil || r.ownThread != nil {
		return r.ownThread != nil, err
	}
	var open, ended []foundPause
	for _, c := range r.callsToLookUp() {
		list, err := r.lookUpCall(c)
		if err != nil {
			return false, err
		}
		var here []foundPause
		for _, at := range list[:min(len(list), maxCandidates)] {
			rec, err := r.recordAt(at)
			if err != nil {
				return false, err
			}
			if rec != nil && at.Key != r.ledger.key {
				here = append(here, foundPause{at, rec})
			}
		}
		if len(here) != 1 {
			continue // nothing is known of it, or it could mean several
		}
		if p := here[0].record.Pause; p != nil && p.ID == here[0].at.Pause {
			open = append(open, here[0])
		} else {
			ended = append(ended, here[0])
		}
	}
	open, ended = eachOnce(open), eachOnce(ended)
	one := open
	if len(open) == 0 && r.endsInAnswer() {
		one = ended[max(0, len(ended)-1):]
	}
	if len(one) != 1 || !r.mayBe(one[0].at) {
		r.link(slices.Concat(open, ended))
		return len(r.linked) > 0, nil
	}
	r.link(slices.DeleteFunc(slices.Concat(open, ended), func(f foundPause) bool { return f.at.Key == one[0].at.Key }))
	return true, r.judgeAt(one[0].at)
}

type foundPause struct {
	at     pausePlace
	record *store.Record
}

// eachOnce returns the list without what it has twice.
func eachOnce(list []foundPause) []foundPause {
	var kept []foundPause
	for _, one := range list {
		if !slices.ContainsFunc(kept, func(k foundPause) bool { return k.at == one.at }) {
			kept = append(kept, one)
		}
	}
	return kept
}

// endsInAnswer reports whether the request may be an answer at all: it brings entries, or ends in a
// decision.
func (r *run) endsInAnswer() bool {
	if len(r.answers.list) > 0 {
		return true
	}
	stray, _ := r.replies.endInStray(&r.in, nil)
	return stray
}

// publishedIDs returns the ids of Holdpoint's that a decision in a message names.
func (r *run) publishedIDs(d reply) []string {
	var list []string
	if contract.IsMinted(d.Key) {
		list = append(list, d.Key)
	}
	if id := gjson.GetBytes(d.Says, "approval_id").Str; contract.IsMinted(id) {
		list = append(list, id)
	}
	return list
}

// callsToLookUp returns the calls that the request decides on and that its own record does not
// know, in the order of the messages.
func (r *run) callsToLookUp() []agui.Call {
	wanted := map[string]bool{}
	for _, d := range r.replies {
		if d.pause == nil && d.Asked {
			for _, id := range append(d.Calls[:len(d.Calls):len(d.Calls)], d.Key) {
				wanted[id] = true
			}
		}
	}
	var list []agui.Call
	native := len(r.answers.list) > 0 && slices.ContainsFunc(r.answers.list, func(a agui.Answer) bool {
		return a.Message == (agui.SeenMessage{}) && !contract.IsMinted(a.ID) && r.record.ResultOf(a.ID) == nil
	})
	if native {
		for _, e := range r.in.Resume[:min(len(r.in.Resume), maxLookups)] {
			if c := gjson.GetBytes(e.Payload, "toolCall"); c.IsObject() {
				list = append(list, agui.Call{ID: c.Get("callId").Str, Name: c.Get("name").Str, Args: c.Get("arguments").Raw})
			}
		}
	}
	if len(wanted) == 0 && !native {
		return list
	}
	results := map[string]bool{}
	for _, m := range r.in.Messages {
		if m.Role == "tool" {
			results[m.ToolCallID] = true
		}
	}
	for at := len(r.in.Messages) - 1; at >= 0 && len(list) < maxLookups; at-- {
		m := r.in.Messages[at]
		if m.Plain {
			continue
		}
		for _, c := range kit.Calls(agui.View(m.JSON)) {
			id := c.Get("id").Str
			if id == "" || !wanted[id] && !(native && !results[id]) || len(list) >= maxLookups {
				continue
			}
			call := agui.Call{ID: id, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Raw}
			if args := c.Get("function.arguments"); args.Type == gjson.String {
				call.Args = args.Str
			}
			list = append(list, call)
		}
	}
	slices.Reverse(list)
	return list
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
			r.linked = append(r.linked, linkedPause{p, result})
		}
	}
}

// A linkedPause is a pause of another thread. result is how it ended, nil if it waits.
type linkedPause struct {
	pause  *agui.Pause
	result *store.Result
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
// run of its own thread.
func (r *run) passHere() {
	if r.ownThread == nil {
		return
	}
	if p := r.record.Pause; p != nil {
		r.link([]foundPause{{pausePlace{r.ledger.key, p.ID}, &r.record}})
	}
	for _, result := range r.record.Results {
		r.link([]foundPause{{pausePlace{r.ledger.key, result.PauseID}, &r.record}})
	}
	r.judgeHere()
}

// takesNewThreads reports whether the client is one of .NET's, which take a new thread for each run
// unless the application keeps it.
func (r *run) takesNewThreads() bool {
	line := r.request.client
	return line != nil && line != client.Official
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
	at := r.ledger
	at.key = own.key
	o := &occupancy{ledger: &at, log: r.log, token: random128()}
	if err := at.occupy(context.WithoutCancel(r.life.ctx), o.token, LeaseTime); err != nil {
		o.end()
		return false, err
	}
	rec, err := at.loadAt(own.key)
	if err == nil {
		free = rec.State == store.None && !slices.ContainsFunc(rec.Busy, func(b store.Busy) bool { return b.Token != o.token && rec.Now.Before(b.Lease) })
	}
	if !free {
		o.end()
		return false, err
	}
	o.lease.start(leaseRenew, o.step)
	r.life.ownThread = o
	return true, nil
}
