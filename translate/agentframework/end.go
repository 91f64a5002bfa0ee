package agentframework

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// answeredExchange is an exchange that carries answers.
type answeredExchange struct {
	*resumption
	replies    []reply         // the answers of this exchange
	done       map[string]bool // ids of answered calls that the backend has finished with
	snapshot   bool            // a MESSAGES_SNAPSHOT was received
	hasContent bool            // an event other than RUN_STARTED and CUSTOM was received
	hasResult  bool            // the backend sent the result of an approved call
	hasMissing bool            // an approved call was not run
	toldDenied bool            // tellDenied has sent its results
	resends    bool            // this exchange sends answers again that the exchange before ignored
	finish     agui.Event      // the end of the exchange before, if resends

	direct, ordered func(agui.Event) // see emitBehindResults
}

// tellDenied sends the results that the backend leaves out: those of denied calls, of confirmed
// changes, and of siblings that 1.0.0rc7 does not run. They must precede all that follows them in
// the conversation. It does so once.
func (a *answeredExchange) tellDenied(emit func(agui.Event)) {
	if a.toldDenied {
		return
	}
	a.toldDenied = true
	all := slices.Clone(a.replies)
	for _, s := range a.stages {
		all = append(all, s.replies...)
	}
	for _, r := range all {
		switch {
		case r.isClients():
		case r.Kind == confirm && r.yes:
			a.sendResult(r, resultAccepted, emit)
		case r.Kind != request && !r.yes:
			a.sendResult(r, resultRejected, emit)
		}
	}
	if a.kept.Row != rowOutcome {
		for _, call := range a.kept.Siblings {
			a.sendResult(reply{ask: ask{Call: call}, answer: agui.Answer{ID: call}}, resultSkipped, emit)
		}
	}
}

// sendResult sends the result of a backend's call to the client, unless the client has it or does
// not have the call.
func (a *answeredExchange) sendResult(r reply, content string, emit func(agui.Event)) {
	if _, done := a.sent[r.Call]; done || r.Call == "" {
		return
	}
	if !a.clientHasCall(r) {
		return
	}
	t := sentResult{"result-" + r.answer.ID, content}
	a.sent[r.Call] = t
	emit(kit.ToolReply{ID: t.id, Call: r.Call, Content: t.content}.Event())
}

// clientHasCall reports whether the client has the call, and the call is not one of the client's
// own tools.
func (a *answeredExchange) clientHasCall(r reply) bool { return a.shown[r.Call] }

// markDone notes that the backend has finished with a call of this exchange.
func (a *answeredExchange) markDone(call string) {
	if slices.ContainsFunc(a.replies, func(r reply) bool { return r.Call == call }) {
		a.done[call] = true
	}
}

// result notes a TOOL_CALL_RESULT. It reports whether the client already has a result of the call.
func (a *answeredExchange) result(ev agui.Event) bool {
	if !ev.Valid() {
		return false
	}
	id := agui.View(ev.JSON).Get("toolCallId").Str
	at := slices.IndexFunc(a.resumption.replies, func(r reply) bool { return r.Call == id && r.Kind == approval })
	if at < 0 {
		return false
	}
	call := a.resumption.replies[at].Call
	a.markDone(call)
	a.hasResult = true
	if _, done := a.sent[call]; done {
		return true
	}
	a.sent[call] = sentResult{ev.Get("messageId").Str, ev.Get("content").String()}
	return false
}

// endResumed returns the result of an exchange that carried answers.
func (run *run) endResumed(e translate.End, emit func(agui.Event)) translate.Result {
	a := run.answered
	switch e.Event.Type {
	case agui.RunErrored:
		if a.modelRefused(e.Event) {
			if !run.started {
				emit(agui.StartedEvent(a.r.Input.ThreadID, a.r.Input.RunID, ""))
			}
			a.tellDenied(emit)
			return translate.Result{Finish: e.Event, Next: a.withConversation()}
		}
		res := a.endFailed(e.Event)
		switch {
		case res.Fate == translate.Lost:
			run.tellOpen(resultLost, emit)
		case res.Fate == translate.InDoubt:
			run.tellOpen(resultUntold, emit)
		case res.Fate != translate.Untouched && res.Next == nil && res.Finish.Type == agui.RunErrored:
			run.tellOpen(resultInDoubt, emit)
		}
		return res
	case agui.RunFinished:
	default:
		return translate.Result{}
	}
	a.tellDenied(emit)
	if a.tellMissing(emit); a.hasMissing {
		a.release(emit)
		run.tellUnasked(e.Event, emit)
		// If one of several calls was run, another attempt with all answers would run it twice.
		if a.kept.Registry && !a.hasResult {
			return translate.Result{Fate: translate.Lost}
		}
		return translate.Result{Fate: translate.InDoubt}
	}
	if run.asksTooOld(e.Event) {
		a.release(emit)
		return run.refuseTooOld(e.Event, emit)
	}
	if open, k := run.open(e.Event); len(open) > 0 {
		return run.paused(append(open, a.stillOpen(open)...), k, e.Event)
	}
	if left := a.unactedAnswers(); len(a.done) > 0 && a.isPart(left) {
		return a.resendLeft(left, e.Event)
	}
	res := a.goOn(e.Event)
	if res.Fate == translate.InDoubt {
		run.tellOpen(resultUntold, emit)
	}
	return res
}

// goOn returns the result of an exchange whose answers the backend accepted. The next exchange
// carries the answers that are left, or else the messages in addition to the answers. If an
// approved call has no result, the answers are in doubt, because every version with the outcome
// sends all results (RAN).
func (a *answeredExchange) goOn(finish agui.Event) translate.Result {
	if a.kept.Row == rowOutcome && slices.ContainsFunc(a.resumption.replies, a.missingResult) {
		return translate.Result{Fate: translate.InDoubt}
	}
	if len(a.stages) > 0 {
		next, err := a.next()
		if err == nil {
			return translate.Result{Finish: finish, Next: next}
		}
	}
	if len(a.r.NewMessages) > 0 {
		run := a.d.plainRun(a.r)
		run.extraMessages = a.r.NewMessages
		return translate.Result{Finish: finish, Next: &translate.Exchange{Out: newMessages(a.r), Run: run}}
	}
	return translate.Result{Finish: finish}
}

// unactedAnswers returns the answers that the backend accepted without acting on them.
func (a *answeredExchange) unactedAnswers() []reply {
	if a.kept.Row != rowOutcome {
		return nil
	}
	var list []reply
	for _, r := range a.replies {
		visible := r.yes || a.snapshot && !isFrom110(a.replies) // the stream would show that it was acted on
		if r.Kind != approval || r.Hosted || a.done[r.Call] || !visible {
			continue
		}
		list = append(list, r)
	}
	return list
}

// leftByFailure returns the unacted answers of a run that failed. A failed run sends no snapshot,
// so none is awaited.
func (a *answeredExchange) leftByFailure() []reply {
	if a.kept.Row == rowOutcome && !isFrom110(a.replies) {
		a.snapshot = true
	}
	return a.unactedAnswers()
}

// missingResult reports whether the client still lacks the result of an approved call.
func (a *answeredExchange) missingResult(r reply) bool {
	_, done := a.sent[r.Call]
	return r.Kind == approval && r.yes && !r.Hosted && !done && a.clientHasCall(r)
}

// isPart reports whether left has some but not all answers of this exchange. So an answer that was
// sent alone is never sent again.
func (a *answeredExchange) isPart(left []reply) bool {
	return len(left) > 0 && len(left) < len(a.replies)
}

// resendLeft returns a result whose next exchange sends the ignored answers again.
func (a *answeredExchange) resendLeft(left []reply, finish agui.Event) translate.Result {
	a.stages = append([]stage{{byArray, left}}, a.stages...)
	next, err := a.next()
	if err != nil {
		return translate.Result{Finish: finish}
	}
	more := next.Run.(*run).answered
	more.resends, more.finish = true, finish.Clone()
	return translate.Result{Finish: finish, Next: next}
}

// stillOpen returns the questions that stay open in addition to the new ones: those whose answers
// were ignored or not sent yet. They are asked again, because the backend waits for all of them at
// once.
func (a *answeredExchange) stillOpen(open []agui.Interrupt) []agui.Interrupt {
	var still []reply
	for _, r := range a.unactedAnswers() {
		if r.yes || len(a.done) > 0 {
			still = append(still, r)
		}
	}
	for _, s := range a.stages {
		still = append(still, s.replies...)
	}
	var list []agui.Interrupt
	for _, r := range still {
		again := func(i agui.Interrupt) bool {
			asked, _ := askOf(i)
			return i.Native == r.ID || r.Call != "" && asked.Call == r.Call
		}
		if slices.ContainsFunc(open, again) {
			continue
		}
		list = append(list, agui.Interrupt{Native: r.ID, Object: agui.DeleteKey(r.interrupt.Object, "id"), Private: r.interrupt.Private})
	}
	return list
}

// tellMissing sends a result for each approved call that has none. 1.0.0rc7 silently drops the
// answer to a question that it does not know, and the run looks like a success. 1.0.0b260225 to
// b260311 send the same stream after they ran the call (RAN). The backend is 1.0.0rc7 if it is
// known to keep its questions.
func (a *answeredExchange) tellMissing(emit func(agui.Event)) {
	if a.kept.Row != rowList {
		return
	}
	for _, r := range a.replies {
		if _, done := a.sent[r.Call]; r.Kind != approval || !r.yes || r.Hosted || done {
			continue
		}
		switch {
		case a.kept.Registry || a.hasResult:
			a.hasMissing = true
			a.sendResult(r, resultLost, emit)
		default:
			a.hasMissing = true
			a.sendResult(r, resultUntold, emit)
		}
	}
}

// tellUnasked sends a result for each call whose question is not shown, because the run ends in an
// error. Without a result in the history, the model may make the call again.
func (run *run) tellUnasked(finish agui.Event, emit func(agui.Event)) {
	open, _ := run.open(finish)
	for _, i := range open {
		asked, _ := askOf(i)
		done := asked.Call == "" || !run.hasCall(asked.Call) || run.r.Input.Declares(asked.Name)
		if run.answered != nil && !done {
			_, done = run.answered.sent[asked.Call]
		}
		if !done {
			emit(kit.ToolReply{ID: "result-" + asked.Call, Call: asked.Call, Content: resultNotRun}.Event())
		}
	}
}

// tellOpen sends a result for each call that a failed run left open. Without a result in the
// history, the model may make the call again. Up to 1.0.1 the backend does not send the result of a
// tool if the model fails after it (RAN).
func (run *run) tellOpen(content string, emit func(agui.Event)) {
	a := run.answered
	var list []agui.Event
	keep := func(ev agui.Event) { list = append(list, ev) }
	a.tellDenied(keep)
	for _, r := range a.resumption.replies {
		if r.Kind == approval && r.yes {
			a.sendResult(r, content, keep)
		}
	}
	if len(list) == 0 {
		return
	}
	if !run.started {
		emit(agui.StartedEvent(a.r.Input.ThreadID, a.r.Input.RunID, ""))
	}
	for _, ev := range list {
		emit(ev)
	}
}

// modelRefused reports whether a run that carried only the answers failed at the model, after the
// backend had run all approved calls. Providers refuse a result whose call is not in the request.
func (a *answeredExchange) modelRefused(ev agui.Event) bool {
	return a.withoutHistory && ev.Valid() && !strings.Contains(ev.Get("code").Str, "_RESUME_") && len(a.stages) == 0 &&
		a.replies[0].Kind == approval && !slices.ContainsFunc(a.resumption.replies, a.missingResult)
}

// withConversation returns the exchange that sends the conversation with all results, after an
// exchange that sent only the answers.
func (a *answeredExchange) withConversation() *translate.Exchange {
	asked := map[string]bool{}
	var results []agui.Message
	for call, t := range a.sent {
		asked[call], results = true, append(results, t.message(call))
	}
	in := a.r.Input
	in.Messages = kit.HistoryAfter(a.r, asked).AfterCalls(results)
	in.Raw = kit.WithoutAnswers(in, in.Messages)
	return &translate.Exchange{Out: translate.Out{Body: harmless(in).Raw, TakesNew: true}, Run: a.d.plainRun(a.r)}
}

// notFound reports whether the error means that the backend does not know the question.
func notFound(failed agui.Event) bool {
	return strings.HasSuffix(failed.Get("code").Str, "_RESUME_NOT_FOUND")
}

// endFailed returns the result of an exchange that ended in RUN_ERROR. 1.0.0rc8 and later check all
// answers before they act on any (codes: agent-framework 7570).
func (a *answeredExchange) endFailed(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code, _ := strings.CutPrefix(strings.TrimPrefix(ev.Get("code").Str, "WORKFLOW_"), "APPROVAL_")
	switch {
	case !ev.Valid():
		return res
	case len(a.done) > 0:
		// Something ran. The unacted answers are sent anyway, because the thread accepts nothing else.
		if left := a.leftByFailure(); a.isPart(left) {
			return a.resendLeft(left, ev)
		}
		return res
	case a.hasContent:
		return res
	case code == "RESUME_NOT_FOUND" && a.resends:
		return a.goOn(a.finish) // the backend had accepted these answers after all
	case code == "RESUME_NOT_FOUND" || a.forgotWorkflow(ev):
		if len(a.resumption.replies) > len(a.replies) {
			return res // an exchange before this one has done something
		}
		return translate.Result{Fate: translate.Lost}
	case code == "RESUME_CANCELLED":
		return a.continueCancelled(ev)
	}
	switch code {
	case "RESUME_INVALID", "RESUME_INVALID_RESPONSE", "RESUME_MISSING_INTERRUPT", "RESUME_REQUIRED", "TOOL_UNAVAILABLE", "INVOCATION_DISABLED":
		// The question stays open for another answer, unless all answers of the exchange are cancels.
		if slices.ContainsFunc(a.replies, func(r reply) bool { return r.answer.Status != agui.Cancelled }) {
			res.Fate = translate.Untouched
		}
	}
	return res
}

// forgotWorkflow reports whether the error means that a workflow waits for nothing, as after a
// restart (RAN). 1.0.0rc7 and 1.0.0rc8 send this message after a CUSTOM event. 1.7.0 sends only a
// general error.
func (a *answeredExchange) forgotWorkflow(ev agui.Event) bool {
	if !slices.ContainsFunc(a.replies, func(r reply) bool { return r.Kind == request }) {
		return false
	}
	switch ev.Get("message").Str {
	case "No pending requests found in workflow context.":
		return true
	case "Workflow execution failed.":
		return ev.Get("code").Str == "RuntimeError"
	}
	return false
}

// continueCancelled returns the result after the error with which 1.0.0rc8 to 1.0.1 confirm the
// cancel of a workflow's question, or of a question about the client's call. They forget the
// cancelled questions and ignore the other answers of the request.
func (a *answeredExchange) continueCancelled(ev agui.Event) translate.Result {
	var left []reply
	for _, r := range a.replies {
		if !r.isClients() && (r.Kind != request || r.answer.Status != agui.Cancelled) {
			left = append(left, r)
		}
	}
	finish := agui.FinishedEvent(a.r.Input.ThreadID, a.r.Input.RunID)
	switch {
	case len(left) == 0:
		return a.goOn(finish)
	case a.isPart(left):
		return a.resendLeft(left, finish)
	}
	return translate.Result{Finish: ev}
}
