package ledger

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/store"
)

// The ledger reports an event after each step of the store that begins or ends a question. Because
// the ledger is the only caller of the store, it misses no step. A refusal and a replay make no
// step, so the code that decides on them reports their events.

// raisedOccurrence returns the occurrence that the pause was opened, in a list. It returns nil if
// no events are reported.
func (l *Ledger) raisedOccurrence(p *agui.Pause) []Occurrence {
	if !l.Reporter.IsReporting() {
		return nil
	}
	return []Occurrence{{event.Raised, p, "", askedIn(p)}}
}

// WithdrawnPause returns the occurrence that the pause was withdrawn, because the backend continued
// without an answer.
func WithdrawnPause(p *agui.Pause) Occurrence {
	return Occurrence{event.Withdrawn, p, "", questions(p)}
}

// InDoubt returns the occurrence that the pause is in doubt: it is not known whether the backend
// carried out the answers.
func InDoubt(p *agui.Pause) Occurrence {
	return Occurrence{event.InDoubt, p, "", questions(p)}
}

// GivenUp returns the occurrences that the questions of a pause were given up, each with its
// cancel. read has the meaning of each cancel, and now decides which questions have expired.
func GivenUp(p *agui.Pause, cancels []agui.Answer, read []agui.Reading, now time.Time) []Occurrence {
	return answeredIn(p, cancels, read, now).questionsByEnd("")
}

// Question returns a question as events report it, without its object.
func Question(i *agui.Interrupt) event.Interrupt {
	q := event.Interrupt{ID: i.ID, Reason: i.Reason()}
	for _, c := range i.Calls {
		if c.Name != "" {
			q.Tools = append(q.Tools, c.Name)
		}
	}
	return q
}

// questions returns the questions of a pause as events report them, without their objects.
func questions(p *agui.Pause) []event.Interrupt {
	list := make([]event.Interrupt, len(p.Interrupts))
	for n := range p.Interrupts {
		list[n] = Question(&p.Interrupts[n])
	}
	return list
}

// askedIn returns the questions of a pause as events report them, with their objects.
func askedIn(p *agui.Pause) []event.Interrupt {
	list := questions(p)
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		list[n].Object, list[n].Calls = i.Object, i.AskedCalls()
		list[n].QuestionDigest = p.Origin.AskedDigest(i)
	}
	return list
}

// decidedIn returns the questions that were decided, each with its decision, as events report them.
// list has the decisions.
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
		q := Question(i)
		q.QuestionDigest, q.Status, q.AnswerDigest, q.Payload = d.QuestionDigest, string(d.Status), i.ShownDigest(&a), i.PayloadToShow(d.Payload)
		q.Verdict, q.Edited, q.Comment = d.Verdict, d.Edited, d.Comment
		of = append(of, q)
	}
	return of
}

// answers has the questions of a pause, each with the answer to it.
type answers struct {
	pause   *agui.Pause
	list    []event.Interrupt // in the order of the questions
	expired map[string]bool   // ids of questions that had expired and were then cancelled
}

// answeredIn returns the questions of a pause, each with the answer to it. list has the answers,
// and read the meaning of each answer. A cancelled question counts as expired if its deadline is
// before now.
func answeredIn(p *agui.Pause, list []agui.Answer, read []agui.Reading, now time.Time) *answers {
	told := &answers{pause: p, expired: map[string]bool{}}
	given := make(map[string]int, len(list))
	for n := range list {
		given[list[n].ID] = n
	}
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		q := Question(i)
		if at, is := given[i.ID]; is {
			a := &list[at]
			q.Status, q.AnswerDigest, q.Payload = string(a.Status), i.ShownDigest(a), bytes.Clone(i.PayloadToShow(a.Payload)) // a copy, because it shares memory with the request
			q.Verdict, q.Edited = agui.VerdictOf(a, read[at]), read[at].Edited
		}
		if d := p.Decision(i.ID); d != nil {
			q.Door, q.By = event.Door(d.Door), d.By
		}
		if at, expires := i.Expires(); expires && now.After(at) && q.Status == string(agui.Cancelled) {
			told.expired[i.ID] = true
		}
		told.list = append(told.list, q)
	}
	return told
}

// endOccurrences returns the occurrences that report the end of a claimed pause. There is one
// occurrence for each way in which questions of the pause ended.
func (a *answers) endOccurrences(result *store.Result) []Occurrence {
	code := ""
	if agui.PeekType(result.Finish) == agui.RunErrored {
		code = agui.Shorten(gjson.GetBytes(result.Finish, "code").Str)
	}
	switch result.EndKind {
	case store.Lost:
		return []Occurrence{{event.Lost, a.pause, string(agui.BackendLostInterrupt), a.list}}
	case store.Doubtful:
		return []Occurrence{{event.InDoubt, a.pause, code, a.list}}
	}
	return a.questionsByEnd(code)
}

// questionsByEnd returns up to three occurrences: one with the questions that were resolved, one
// with those that were cancelled, and one with those that had expired.
func (a *answers) questionsByEnd(code string) []Occurrence {
	ways := map[event.Kind][]event.Interrupt{}
	for _, q := range a.list {
		way := event.Resolved
		switch {
		case a.expired[q.ID]:
			way = event.Expired
		case q.Status != string(agui.Resolved):
			way = event.Cancelled
		}
		ways[way] = append(ways[way], q)
	}
	var list []Occurrence
	for _, way := range []event.Kind{event.Resolved, event.Cancelled, event.Expired} {
		if ways[way] != nil {
			list = append(list, Occurrence{way, a.pause, code, ways[way]})
		}
	}
	return list
}

// EndedByTime returns the event of a pause that ended although no caller of the store ended it: its
// retention was over, its lease lapsed, or another question replaced it. It is used as
// engine.Options.OnEnded. It returns nil if the record does not have the pause. Any process may
// report the event: agent, tenant, thread and run come from the record. In records of older
// versions, thread and run come from the terminal event.
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
		e.Agent, e.Tenant, e.Thread, e.Run = o.Agent, o.Tenant, o.Thread, agui.Shorten(o.Run)
	} else {
		e.Thread, e.Run = gjson.GetBytes(p.Finish, "threadId").Str, agui.Shorten(gjson.GetBytes(p.Finish, "runId").Str)
	}
	if result.EndKind == store.Doubtful {
		e.Kind = event.InDoubt
	}
	e.Interrupts = questions(p)
	return e
}
