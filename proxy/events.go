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

// LeaseTime is how long a claim lasts unless it is renewed. If this process crashes, it is in doubt
// after that time whether the answers of its claimed pauses were carried out. No lease is longer.
const LeaseTime = ledger.LeaseTime

// LastTime bounds how long the streams that Drain has ended wait for the store, in all of their
// steps together. A server that closes connections after Drain must wait longer than that.
const LastTime = ledger.LastTime

// EndedByTime returns the event of a pause that ended because its time was over, for
// engine.Options.OnEnded. It returns nil if there is no event to report. Any process may report the
// event, because agent, tenant, thread and run are from the record. In records of older versions,
// thread and run are from the terminal event.
func EndedByTime(key store.Key, result *store.Result) *event.Event {
	return ledger.EndedByTime(key, result)
}

// interpret returns what each answer to a question of the pause means, in the order of the answers.
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
			defer dialect.CatchPanic("Interpret", &err)
			d.Interpret(asked, answers, list)
			return nil
		}()
		if err != nil {
			// dialectFailed logs the error; the meaning is only shown
			_ = t.dialectFailed("Interpret", err)
		}
	}
	return list
}

// readings returns what each answer of the request means. If the record does not contain the
// question of an answer, its element is zero.
func (t *thread) readings(answers []agui.Answer) []agui.Reading {
	list, known := make([]agui.Reading, len(answers)), make([]bool, len(answers))
	for _, p := range history.Pauses(&t.record, t.linkedPauses) {
		indexed := p.Indexed() // an index, because the request may have very many answers
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

// maxNamedInEvent bounds how many questions the event of a refused request names. The request can
// name very many, whether they exist or not.
const maxNamedInEvent = 32

// reportRuling reports the event of a request that was not sent to the backend. code is the code of
// its refusal, or "" for a replay.
func (t *thread) reportRuling(kind event.Kind, pause *agui.Pause, code agui.Code) {
	if !t.ledger.Reporter.IsReporting() {
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
		q := event.Interrupt{ID: agui.Shorten(a.ID), Status: string(a.Status), AnswerDigest: a.AnsweredDigest(), Payload: a.Payload}
		if t.isSecret(pause, a.ID) {
			q.AnswerDigest, q.Payload = "", nil
		}
		if pause != nil {
			if i := pause.Interrupt(a.ID); i != nil {
				q.ID, q.Reason, q.Tools = i.ID, i.Reason(), ledger.Question(i).Tools
				q.Verdict, q.Edited = agui.VerdictOf(a, read[n]), read[n].Edited
			}
		}
		of = append(of, q)
	}
	_ = t.ledger.Report(ledger.Occurrence{Kind: kind, Pause: pause, Code: string(code), Interrupts: of})
}

// isSecret reports whether the answer to the question id is a secret. If the record does not
// contain the question, isSecret returns true. pause is the pause that the request answers, or nil.
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

// reportRefusal reports the event of a request that was refused with code.
func (t *thread) reportRefusal(code agui.Code) {
	kind := event.RunRefused
	if _, command := t.request.input.CommandResume(); len(t.answers.list) > 0 || t.answers.readError != nil || t.request.input.HasResume || command {
		kind = event.Refused
	}
	t.reportRuling(kind, t.record.Pause, code)
}
