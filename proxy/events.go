package proxy

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Each step of the store that begins or ends a question is an event for whoever is to hear of it.
// The ledger tells them, behind the step: it is the only caller of the store, so there is no other
// way to a step. What is told without a step, a refusal and a replay, is told where it is ruled.

// raised is that a pause is opened.
func (l *ledger) raised(p *agui.Pause) []saying {
	if !l.voice.tells() {
		return nil
	}
	return []saying{{event.Raised, p, "", askedIn(p)}}
}

// askedIn returns the questions of a pause.
func askedIn(p *agui.Pause) []event.Interrupt {
	list := make([]event.Interrupt, len(p.Interrupts))
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		list[n] = question(i)
		list[n].Object, list[n].Calls = i.Object, i.AskedCalls()
		list[n].Asked = p.Origin.AskedDigest(i)
	}
	return list
}

// question is an interrupt without what it asks.
func question(i *agui.Interrupt) event.Interrupt {
	q := event.Interrupt{ID: i.ID, Reason: i.Reason()}
	for _, c := range i.Calls {
		if c.Name != "" {
			q.Tools = append(q.Tools, c.Name)
		}
	}
	return q
}

// questions are those of a pause, without what they ask.
func questions(p *agui.Pause) []event.Interrupt {
	list := make([]event.Interrupt, len(p.Interrupts))
	for n := range p.Interrupts {
		list[n] = question(&p.Interrupts[n])
	}
	return list
}

// decidedIn returns the questions that were decided, with what was said to each.
func decidedIn(p *agui.Pause, list []agui.Decision) []event.Interrupt {
	asked := p.Indexed()
	of := make([]event.Interrupt, 0, len(list))
	for n := range list {
		d := &list[n]
		i := asked.Interrupt(d.Question)
		if i == nil {
			continue
		}
		a := d.Answer()
		q := question(i)
		q.Asked, q.Status, q.Answered, q.Payload = d.Asked, string(d.Status), i.ShownDigest(&a), i.Shown(d.Payload)
		q.Says, q.Edited, q.Comment = d.Says, d.Edited, d.Comment
		of = append(of, q)
	}
	return of
}

// A claimedPause is a pause with the answers that it was claimed for.
type claimedPause struct {
	pause   *agui.Pause
	answers []event.Interrupt // in the order of the questions
	over    map[string]bool   // ids of questions that had expired by then
}

// answeredIn returns the questions of a pause with what was answered, and what that says. now tells
// which of them have expired.
func answeredIn(p *agui.Pause, answers []agui.Answer, read []agui.Reading, now time.Time) *claimedPause {
	c := &claimedPause{pause: p, over: map[string]bool{}}
	given := make(map[string]int, len(answers))
	for n := range answers {
		given[answers[n].ID] = n
	}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		q := question(i)
		if at, is := given[i.ID]; is {
			a := &answers[at]
			q.Status, q.Answered, q.Payload = string(a.Status), i.ShownDigest(a), bytes.Clone(i.Shown(a.Payload)) // it lies in the request
			q.Says, q.Edited = saysOf(a, read[at]), read[at].Edited
		}
		if d := p.Decision(i.ID); d != nil {
			q.Door, q.By = event.Door(d.Door), d.By
		}
		if at, expires := i.Expires(); expires && now.After(at) && q.Status == string(agui.Cancelled) {
			c.over[i.ID] = true
		}
		c.answers = append(c.answers, q)
	}
	return c
}

// interpret returns what answers to questions of a pause say, in the order of the answers.
func (r *run) interpret(p *agui.Pause, answers []agui.Answer) []agui.Reading {
	asked := p.Indexed()
	list := make([]agui.Reading, len(answers))
	for n, a := range answers {
		if i := asked.Interrupt(a.ID); i != nil {
			list[n] = kit.Read(*i, a)
		}
	}
	if d, ok := r.h.opts.Dialect.(translate.Interpreter); ok {
		err := func() (err error) {
			defer dialect.Caught("Interpret", &err)
			d.Interpret(asked, answers, list)
			return nil
		}()
		if err != nil {
			_ = r.dialectFailed("Interpret", err) // it is logged, and decides nothing
		}
	}
	return list
}

// readings returns what answers of the request say to the questions that the record knows.
func (r *run) readings(answers []agui.Answer) []agui.Reading {
	list, known := make([]agui.Reading, len(answers)), make([]bool, len(answers))
	for _, p := range r.pauses() {
		indexed := p.Indexed() // the request may have very many answers
		var at []int
		var of []agui.Answer
		for n := range answers {
			if !known[n] && indexed.Interrupt(answers[n].ID) != nil {
				known[n] = true
				at, of = append(at, n), append(of, answers[n])
			}
		}
		if len(of) == 0 {
			continue
		}
		for n, one := range r.interpret(p, of) {
			list[at[n]] = one
		}
	}
	return list
}

// saysOf returns approved or denied, and "" where the dialect does not know.
func saysOf(a *agui.Answer, read agui.Reading) string {
	switch {
	case a.Status != agui.Resolved:
	case read.Says == agui.Approves:
		return saysApproved
	case read.Says == agui.Denies:
		return saysDenied
	}
	return ""
}

// What an answer says, in events, records and the log.
const (
	saysApproved = "approved"
	saysDenied   = "denied"
)

// ended is what becomes of the questions of a claimed pause: an event for each way to end.
func (l *ledger) ended(c *claimedPause, result *store.Result) []saying {
	code := ""
	if agui.PeekType(result.Finish) == agui.RunErrored {
		code = agui.Cut(gjson.GetBytes(result.Finish, "code").Str)
	}
	switch result.How {
	case store.Lost:
		return []saying{{event.Lost, c.pause, string(agui.BackendLostInterrupt), c.answers}}
	case store.Doubtful:
		return []saying{{event.InDoubt, c.pause, code, c.answers}}
	}
	return c.byWay(code)
}

// byWay are the questions as resolved, cancelled or expired.
func (c *claimedPause) byWay(code string) []saying {
	ways := map[event.Kind][]event.Interrupt{}
	for _, q := range c.answers {
		way := event.Resolved
		switch {
		case c.over[q.ID]:
			way = event.Expired
		case q.Status != string(agui.Resolved):
			way = event.Cancelled
		}
		ways[way] = append(ways[way], q)
	}
	var says []saying
	for _, way := range []event.Kind{event.Resolved, event.Cancelled, event.Expired} {
		if ways[way] != nil {
			says = append(says, saying{way, c.pause, code, ways[way]})
		}
	}
	return says
}

// maxNamedInEvent bounds the questions that a refused request names in its event: it can name very
// many, and none of them need exist.
const maxNamedInEvent = 32

// tellRuled tells of a request that is not handed on: code is that of its refusal, "" for a replay.
func (r *run) tellRuled(kind event.Kind, pause *agui.Pause, code agui.Code) {
	if !r.ledger.voice.tells() {
		return
	}
	var of []event.Interrupt
	var read []agui.Reading
	named := r.answers.list[:min(len(r.answers.list), maxNamedInEvent)]
	if pause != nil {
		read = r.interpret(pause, named)
	}
	for n := range named {
		a := &named[n]
		q := event.Interrupt{ID: agui.Cut(a.ID), Status: string(a.Status), Answered: a.AnsweredDigest(), Payload: a.Payload}
		if r.isSecret(pause, a.ID) {
			q.Answered, q.Payload = "", nil
		}
		if pause != nil {
			if i := pause.Interrupt(a.ID); i != nil {
				q.ID, q.Reason, q.Tools = i.ID, i.Reason(), question(i).Tools
				q.Says, q.Edited = saysOf(a, read[n]), read[n].Edited
			}
		}
		of = append(of, q)
	}
	_ = r.ledger.tell(saying{kind, pause, string(code), of})
}

// isSecret reports whether the answer to a question is a secret, or may be one because the record
// does not know the question. pause is the one that the request answers, nil if there is none.
func (r *run) isSecret(pause *agui.Pause, id string) bool {
	if pause != nil {
		if i := pause.Interrupt(id); i != nil {
			return i.Secret
		}
	}
	result := r.record.ResultOf(id)
	if result == nil || result.Pause == nil {
		return true
	}
	i := result.Pause.Interrupt(id)
	return i == nil || i.Secret
}

// tellRefused tells of a refusal.
func (r *run) tellRefused(code agui.Code) {
	kind := event.RunRefused
	if _, command := r.request.input.CommandResume(); len(r.answers.list) > 0 || r.answers.unread != nil || r.request.input.HasResume || command {
		kind = event.Refused
	}
	r.tellRuled(kind, r.record.Pause, code)
}

// EndedByTime is the event of a pause that nobody ended but time, as the store tells it; see
// engine.Options.Ended. It is nil if there is nothing to tell. Whose process tells it does not
// matter: agent, tenant, thread and run are those of the record. One of before has thread and run
// in the terminal event only.
func EndedByTime(key store.Key, result *store.Result) *event.Event {
	p := result.Pause
	if p == nil {
		return nil
	}
	e := &event.Event{
		Kind: event.Retired, Time: result.At, Pause: p.ID, Dialect: p.Dialect, Door: event.Retention,
		Approval: event.ApprovalOf(string(key), p.ID),
	}
	if o := p.Origin; o != nil {
		e.Agent, e.Tenant, e.Thread, e.Run = o.Agent, o.Tenant, o.Thread, agui.Cut(o.Run)
	} else {
		e.Thread, e.Run = gjson.GetBytes(p.Finish, "threadId").Str, agui.Cut(gjson.GetBytes(p.Finish, "runId").Str)
	}
	if result.How == store.Doubtful {
		e.Kind = event.InDoubt
	}
	e.Interrupts = questions(p)
	return e
}
