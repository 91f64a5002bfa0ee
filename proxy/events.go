package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/internal/event"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/ledger"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// LeaseTime is how long a claim holds without being renewed: after our crash the pause is in doubt
// that soon. No lease is longer.
const LeaseTime = ledger.LeaseTime

// LastTime is how long the streams that Drain ends may wait for the store, all their steps
// together. Whoever cuts connections after a Drain waits longer.
const LastTime = ledger.LastTime

// EndedByTime returns the event of a pause that nobody ended but time, as the store tells it; see
// engine.Options.Ended. It is nil if there is nothing to tell. Whose process tells it does not
// matter: agent, tenant, thread and run are those of the record. A record of before has thread and
// run in the terminal event only.
func EndedByTime(key store.Key, result *store.Result) *event.Event {
	return ledger.EndedByTime(key, result)
}

// interpret returns what answers to questions of a pause say, in the order of the answers.
func (t *thread) interpret(p *agui.Pause, answers []agui.Answer) []agui.Reading {
	asked := p.Indexed()
	list := make([]agui.Reading, len(answers))
	for n, a := range answers {
		if i := asked.Interrupt(a.ID); i != nil {
			list[n] = kit.Read(*i, a)
		}
	}
	if d, ok := t.opts.Dialect.(translate.Interpreter); ok {
		err := func() (err error) {
			defer dialect.Caught("Interpret", &err)
			d.Interpret(asked, answers, list)
			return nil
		}()
		if err != nil {
			_ = t.dialectFailed("Interpret", err) // it is logged, and decides nothing
		}
	}
	return list
}

// readings returns what answers of the request say to the questions that the record knows.
func (t *thread) readings(answers []agui.Answer) []agui.Reading {
	list, known := make([]agui.Reading, len(answers)), make([]bool, len(answers))
	for _, p := range history.Pauses(&t.record, t.linked) {
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
		for n, one := range t.interpret(p, of) {
			list[at[n]] = one
		}
	}
	return list
}

// maxNamedInEvent bounds the questions that a refused request names in its event: it can name very
// many, and none of them need exist.
const maxNamedInEvent = 32

// tellRuled tells of a request that is not handed on: code is that of its refusal, "" for a replay.
func (t *thread) tellRuled(kind event.Kind, pause *agui.Pause, code agui.Code) {
	if !t.ledger.Voice.Tells() {
		return
	}
	var of []event.Interrupt
	var read []agui.Reading
	named := t.answers.list[:min(len(t.answers.list), maxNamedInEvent)]
	if pause != nil {
		read = t.interpret(pause, named)
	}
	for n := range named {
		a := &named[n]
		q := event.Interrupt{ID: agui.Cut(a.ID), Status: string(a.Status), Answered: a.AnsweredDigest(), Payload: a.Payload}
		if t.isSecret(pause, a.ID) {
			q.Answered, q.Payload = "", nil
		}
		if pause != nil {
			if i := pause.Interrupt(a.ID); i != nil {
				q.ID, q.Reason, q.Tools = i.ID, i.Reason(), ledger.Question(i).Tools
				q.Says, q.Edited = agui.SaysOf(a, read[n]), read[n].Edited
			}
		}
		of = append(of, q)
	}
	_ = t.ledger.Tell(ledger.Occurrence{Kind: kind, Pause: pause, Code: string(code), Interrupts: of})
}

// isSecret reports whether the answer to a question is a secret, or may be one because the record
// does not know the question. pause is the one that the request answers, nil if there is none.
func (t *thread) isSecret(pause *agui.Pause, id string) bool {
	if pause != nil {
		if i := pause.Interrupt(id); i != nil {
			return i.Secret
		}
	}
	result := t.record.ResultOf(id)
	if result == nil || result.Pause == nil {
		return true
	}
	i := result.Pause.Interrupt(id)
	return i == nil || i.Secret
}

// tellRefused tells of a refusal.
func (t *thread) tellRefused(code agui.Code) {
	kind := event.RunRefused
	if _, command := t.request.input.CommandResume(); len(t.answers.list) > 0 || t.answers.unread != nil || t.request.input.HasResume || command {
		kind = event.Refused
	}
	t.tellRuled(kind, t.record.Pause, code)
}
