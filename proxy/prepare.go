package proxy

import (
	"errors"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/internal/tanstack"
	"holdpoint/proxy/internal/client"
	"holdpoint/proxy/internal/dialect"
	"holdpoint/proxy/internal/history"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/store"
	"holdpoint/translate"
)

// readyPass prepares a run without answers. It decides which input the dialect gets.
func (j *judge) readyPass(v contract.Ruling) preparedRun {
	y := preparedRun{notTaken: v.AnswersUnused, standing: v.Standing, missedEnd: j.catchUp(v.MissedEnd, v.NewMessages), deltas: j.habit().deltas}
	j.cleanPass(v.OmittedParts)
	// This is done before the transcript is made, because the backend gets the transcript's
	// messages with the next answer.
	j.disarm()
	whole := j.in.Messages
	if j.withholdOpenCalls(nil) != nil {
		y.withheldFrom = whole
	}
	y.transcript = transcript.New(j.opts.TranscriptBytes, j.in.Messages, j.in.State)
	return y
}

// readyResume prepares a run with answers. It decides which input the dialect gets. If it returns
// an error, the run is refused.
func (j *judge) readyResume(v contract.Ruling) (preparedRun, *agui.RunError) {
	y := preparedRun{notTaken: v.AnswersUnused, standing: v.Standing, deltas: j.habit().deltas}
	p, answers := j.record.Pause, v.Answers
	list, refused := j.restoreCalls(p, answers, j.cleanMessages(p))
	if refused != nil {
		return y, refused
	}
	j.withMessages(list)
	if asked := tanstack.InterruptedRun(p.Interrupts[0].Object); asked != "" {
		// TanStack AI's server reads in the field parentRunId which run the answers are for. The
		// client may have got the question in a later run, so it may send the id of the wrong run.
		// The field is missing in requests that Holdpoint itself sends.
		j.in = j.in.WithParentRun(asked)
	}
	j.disarm()
	list = j.in.Messages
	edited := j.withholdOpenCalls(p)
	j.logUnclear(p, answers)
	y.transcript, y.hidden = j.resumeTranscript(p), j.snapshotsToHide(p)
	l := j.listener()
	y.knownCalls = l.KnownCalls(p, answers, y.transcript)
	y.extra = history.NewAmong(list, v.NewMessages)
	for n, m := range y.extra {
		if now, ok := edited[string(m.JSON)]; ok {
			y.extra[n] = now
		}
	}
	return y, nil
}

func (j *judge) askBegin(y *preparedRun, request *translate.Request) (t translation, err error) {
	defer dialect.CatchPanic("Begin", &err)
	t.dialect = request.Pause.Dialect
	if request.Answers, err = history.WriteYesNo(&request.Pause, request.Answers, request.EndOnly); err != nil {
		return t, err
	}
	t.Out, t.Run, err = j.opts.Dialect.Begin(request)
	y.extra.withoutTaken(&t.Out)
	if err == nil {
		t.Run = j.compare(request, t.Run)
	}
	return t, err
}

func (j *judge) forDialect(y *preparedRun, resumedPause *agui.Pause, v contract.Ruling) *translate.Request {
	request := &translate.Request{
		Input: j.in, ClientMessages: j.request.input.Messages, Show: j.show, AsksFirst: j.request.client.AsksFirst(), Transcript: y.transcript,
		Answers: v.Answers, EndOnly: v.EndOnly, NewMessages: y.extra, EndedPauses: j.endedPauses(resumedPause), Valid: j.valid,
	}
	request.Backend, request.NewID = j.backend(), j.opts.NewID
	if request.Backend == "" {
		request.SharedRunID = j.sharesRunID()
	}
	if resumedPause != nil {
		y.newOnly = !j.opts.Sessions && j.sendsNewOnly(resumedPause)
		if request.Sessions = j.opts.Sessions || y.newOnly; request.Sessions {
			request.Input = j.in.WithMessages(y.extra) // the backend already has the other messages
		}
		request.Pause = *resumedPause
		request.Pause.Contested = resumedPause.Contested || len(j.record.Occupants) > 0 || j.runs.hasOtherRun(j.ledger.Key, j.life)
	} else {
		request.NamedInterrupts = j.namedBefore()
		request.Pause.Dialect = j.dialectOfThread()
	}
	return request
}

// endedPauses returns the ended pauses whose questions the record still has, the newest first. If
// the run has no answers, the open pause is included, because this run ends it. Tombstones are left
// out, with one exception: if the backend does not speak AG-UI, the tombstone of a failed pause is
// included without its questions, because the backend may have the answers and act on them.
func (j *judge) endedPauses(resumedPause *agui.Pause) []translate.EndedPause {
	if j.record.Pause == nil && len(j.record.Results) == 0 && len(j.linkedPauses) == 0 {
		return nil
	}
	list := make([]translate.EndedPause, 0, 1+min(len(j.record.Results), store.MaxReplayable))
	if p := j.record.Pause; p != nil && resumedPause == nil {
		list = append(list, translate.EndedPause{Pause: *p})
	}
	for _, result := range j.record.Results {
		if result.Pause != nil && !result.Tombstone {
			list = append(list, translate.EndedPause{Pause: *result.Pause, Failed: contract.EndedBadly(result)})
		} else if result.Failed && j.opts.isForeign() {
			list = append(list, translate.EndedPause{Pause: agui.Pause{ID: result.PauseID}, Failed: true})
		}
	}
	for _, one := range j.linkedPauses {
		if resumedPause == nil || one.Pause.ID != resumedPause.ID {
			list = append(list, translate.EndedPause{Pause: *one.Pause, Failed: one.Result != nil && contract.EndedBadly(one.Result)})
		}
	}
	return list
}

// begin calls Begin of the dialect. The parameter resumedPause is the pause that the answers are
// for, or nil for a run without answers. If the dialect cannot express the answers to its backend,
// begin returns a refusal. It is called before the pause is claimed.
func (j *judge) begin(y *preparedRun, resumedPause *agui.Pause, v contract.Ruling) (t translation, refusal *contract.Ruling) {
	t, err := j.askBegin(y, j.forDialect(y, resumedPause, v))
	if err == nil {
		return t, nil
	}
	var told *agui.RunError
	if !errors.As(err, &told) {
		told = j.dialectFailed("Begin", err)
	}
	return t, &contract.Ruling{Do: contract.Refuse, Refusal: told, AsksAgain: j.record.Pause != nil}
}

// extraMessages are new messages that the backend has not received. Either the client sent them
// together with answers, or the backend did not read them because it waited for an answer. If an
// exchange sends some of them, these are removed from the list. The others do not count as known,
// so the client can send them again as new input.
type extraMessages []agui.Message

// withoutTaken removes the messages that the exchange with the request out sends to the backend.
func (b *extraMessages) withoutTaken(out *translate.Out) {
	if out.TakesNew && len(*b) > 0 {
		*b = out.UnsentMessages
	}
}

// A preparedRun has what a judge has prepared for a run, in addition to the exchange.
type preparedRun struct {
	extra extraMessages
	// the end that the chat has missed, and that the client gets first; nil if the chat missed none
	missedEnd *missedEnd
	// why the answers that the client sent with its message do not count; nil if they count
	notTaken *agui.RunError
	// the answer that counts instead of the client's answers; nil if there is no such answer
	standing   *contract.Standing
	transcript *transcript.Transcript
	// The messages as they were before Holdpoint removed calls; nil if it removed no call.
	withheldFrom []agui.Message
	knownCalls   client.KnownCalls
	hidden       hiddenSnapshots
	deltas       int8 // sendingHabit.deltas of the client, with this request counted
	// the client sends only new messages, so the answers are sent without the conversation
	newOnly bool
}
