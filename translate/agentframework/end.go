package agentframework

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// An answeredExchange is an exchange with the backend that sends answers.
type answeredExchange struct {
	*resumption
	replies []reply // the answers of this exchange
	// ids of answered calls whose result the backend has sent or never will
	done       map[string]bool
	snapshot   bool       // a MESSAGES_SNAPSHOT was received
	hasContent bool       // an event other than RUN_STARTED and CUSTOM was received
	hasResult  bool       // the backend sent the result of an approved call
	hasMissing bool       // an approved call did not run, or may not have run
	toldDenied bool       // tellDenied has sent its results, and must not again
	resends    bool       // sends again the answers that the previous exchange ignored
	finish     agui.Event // if resends: the terminal event of the previous exchange

	direct, ordered func(agui.Event) // set and used by emitBehindResults
}

// tellDenied sends the results that the backend leaves out: those of denied calls, of confirmed
// changes, and of the other calls of a batch, which 1.0.0rc7 does not run. It sends them only once,
// before any event that follows them in the conversation.
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

// sendResult sends the client a result for the call of the reply r. It sends nothing if the client
// already has a result of the call, or does not have the call.
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

// clientHasCall reports whether the client has the call, and the call's tool is not the client's
// own.
func (a *answeredExchange) clientHasCall(r reply) bool { return a.shown[r.Call] }

// markDone notes that the backend has finished with the call, if an answer of this exchange is
// about it.
func (a *answeredExchange) markDone(call string) {
	if slices.ContainsFunc(a.replies, func(r reply) bool { return r.Call == call }) {
		a.done[call] = true
	}
}

// result notes the TOOL_CALL_RESULT of an approved call. It reports whether the client already has
// a result of that call, so that the event must not be sent.
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

// endResumed returns the result of an exchange that sent answers to the backend.
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
		// If one of several approved calls was run, sending all answers again would run it twice.
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
// sends the answers that have not been sent yet. If all have been sent, it sends the new messages
// that came with the answers. If an approved call has no result, the answers are in doubt, because
// every version with the interrupt outcome sends all results (RAN).
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

// unactedAnswers returns the answers of this exchange that the backend accepted without acting on
// them.
func (a *answeredExchange) unactedAnswers() []reply {
	if a.kept.Row != rowOutcome {
		return nil
	}
	var list []reply
	for _, r := range a.replies {
		// the stream would show if the backend had acted on this answer
		visible := r.yes || a.snapshot && !isFrom110(a.replies)
		if r.Kind != approval || r.Hosted || a.done[r.Call] || !visible {
			continue
		}
		list = append(list, r)
	}
	return list
}

// leftByFailure returns the answers that the backend did not act on before the run failed. A failed
// run sends no snapshot, so a denial without a snapshot counts as not acted on.
func (a *answeredExchange) leftByFailure() []reply {
	if a.kept.Row == rowOutcome && !isFrom110(a.replies) {
		a.snapshot = true
	}
	return a.unactedAnswers()
}

// missingResult reports whether the client has the approved call of the reply r, but no result of
// it.
func (a *answeredExchange) missingResult(r reply) bool {
	_, done := a.sent[r.Call]
	return r.Kind == approval && r.yes && !r.Hosted && !done && a.clientHasCall(r)
}

// isPart reports whether left has some but not all answers of this exchange. If the exchange sent
// only one answer, isPart is false, so that this answer is never sent again.
func (a *answeredExchange) isPart(left []reply) bool {
	return len(left) > 0 && len(left) < len(a.replies)
}

// resendLeft returns a result whose next exchange sends the ignored answers left again.
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

// stillOpen returns the earlier questions that stay open beside the new questions in the parameter
// open. Their answers were ignored, or not sent yet. Holdpoint asks the client these questions
// again, because the backend waits for the answers to all of them at once.
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

// tellMissing sends the client a result for each approved call that has none. If 1.0.0rc7 does not
// know the question, it silently drops the answer, and the run looks like a success. 1.0.0b260225
// to b260311 send the same stream although they ran the call (RAN). If the backend is known to keep
// its questions (kept.Registry), it is 1.0.0rc7, so the call did not run. Otherwise this is
// unknown.
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

// tellUnasked sends a result for each call whose question the client does not get because the run
// ends with an error. If the history had no result of the call, the model might make the call
// again.
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

// tellOpen sends a result for each call that has none when the run has failed. If the history had
// no result of the call, the model might make the call again. Up to 1.0.1 the backend leaves out
// the result of a tool if the model fails after the tool ran (RAN).
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

// modelRefused reports whether the backend ran all approved calls, and then its model failed
// because the request had only the answers. Providers refuse a result whose call is not in the
// request.
func (a *answeredExchange) modelRefused(ev agui.Event) bool {
	return a.withoutHistory && ev.Valid() && !strings.Contains(ev.Get("code").Str, "_RESUME_") && len(a.stages) == 0 &&
		a.replies[0].Kind == approval && !slices.ContainsFunc(a.resumption.replies, a.missingResult)
}

// withConversation returns an exchange that sends the conversation with all results. It follows an
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

// notFound reports whether the RUN_ERROR says that the backend does not know the question.
func notFound(failed agui.Event) bool {
	return strings.HasSuffix(failed.Get("code").Str, "_RESUME_NOT_FOUND")
}

// endFailed returns the result of an exchange that ended with the RUN_ERROR ev. 1.0.0rc8 and later
// check all answers before they act on any of them (codes: agent-framework 7570).
func (a *answeredExchange) endFailed(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code, _ := strings.CutPrefix(strings.TrimPrefix(ev.Get("code").Str, "WORKFLOW_"), "APPROVAL_")
	switch {
	case !ev.Valid():
		return res
	case len(a.done) > 0:
		// The backend ran something. The answers that it did not act on are sent again even so,
		// because the thread accepts nothing else.
		if left := a.leftByFailure(); a.isPart(left) {
			return a.resendLeft(left, ev)
		}
		return res
	case a.hasContent:
		return res
	case code == "RESUME_NOT_FOUND" && a.resends:
		return a.goOn(a.finish) // so the previous exchange did accept these answers
	case code == "RESUME_NOT_FOUND" || a.forgotWorkflow(ev):
		if len(a.resumption.replies) > len(a.replies) {
			return res // an earlier exchange has already acted on an answer
		}
		return translate.Result{Fate: translate.Lost}
	case code == "RESUME_CANCELLED":
		return a.continueCancelled(ev)
	}
	switch code {
	case "RESUME_INVALID", "RESUME_INVALID_RESPONSE", "RESUME_MISSING_INTERRUPT", "RESUME_REQUIRED", "TOOL_UNAVAILABLE", "INVOCATION_DISABLED":
		// The question stays open, and the client can answer it again. If all answers of the
		// exchange are cancels, it does not.
		if slices.ContainsFunc(a.replies, func(r reply) bool { return r.answer.Status != agui.Cancelled }) {
			res.Fate = translate.Untouched
		}
	}
	return res
}

// forgotWorkflow reports whether the error means that the workflow waits for no answer, as after a
// restart of the backend (RAN). 1.0.0rc7 and 1.0.0rc8 send the first of these two messages after a
// CUSTOM event. 1.7.0 sends only the second, a general error.
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

// continueCancelled returns the result of an exchange that ended with the error by which 1.0.0rc8
// to 1.0.1 confirm a cancel. They send it when a workflow's question is cancelled, or a question
// about the client's call. They then forget the cancelled questions and ignore the other answers of
// the request, so those are sent again.
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
