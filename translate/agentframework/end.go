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
	replies  []reply         // those that it carries
	settled  map[string]bool // calls of which it was seen that they are done
	snapshot bool            // a MESSAGES_SNAPSHOT came
	streamed bool            // anything but RUN_STARTED and CUSTOM events
	resulted bool            // the backend told the result of an approved call
	missed   bool            // an approved call was not run
	denied   bool            // what has no result of its own was told
	rest     bool            // it carries what an exchange before left behind
	finish   agui.Event      // the end of that one

	direct, ordered func(agui.Event) // see behind
}

// What stands for a result that the backend does not tell. The first is its own wording in the
// snapshots of all versions.
const (
	rejected = "Error: Tool call invocation was rejected by user."
	accepted = "The user confirmed the changes."
	skipped  = "The call was not run: this version of the backend runs nothing beside a call that has to be approved."
	gone     = "The call was approved, but the backend did not know the question any more: it has not run."
	doubtful = "The call was approved; the backend does not tell whether it has run."
	unknown  = "The call was approved, and the run failed: whether it has run is not known."
	unasked  = "The call was not run."
)

// tellDenied tells the results that the backend leaves out, before anything that comes after them
// in the conversation: of what was denied, and of what the person confirmed.
func (a *answeredExchange) tellDenied(emit func(agui.Event)) {
	if a.denied {
		return
	}
	a.denied = true
	all := slices.Clone(a.replies)
	for _, s := range a.stages {
		all = append(all, s.replies...)
	}
	for _, r := range all {
		switch {
		case r.isClients():
		case r.Kind == confirm && r.yes:
			a.tell(r, accepted, emit)
		case r.Kind != request && !r.yes:
			a.tell(r, rejected, emit)
		}
	}
	if a.kept.Row != rowOutcome {
		for _, call := range a.kept.Siblings {
			a.tell(reply{ask: ask{Call: call}, answer: agui.Answer{ID: call}}, skipped, emit)
		}
	}
}

// tell tells the result of a call that the client has seen and that is the backend's own.
func (a *answeredExchange) tell(r reply, content string, emit func(agui.Event)) {
	if _, done := a.told[r.Call]; done || r.Call == "" {
		return
	}
	if !a.tells(r) {
		return
	}
	t := toldResult{"result-" + r.answer.ID, content}
	a.told[r.Call] = t
	emit(kit.ToolReply{ID: t.id, Call: r.Call, Content: t.content}.Event())
}

// tells reports whether the client has the call, and it is not a tool of its own.
func (a *answeredExchange) tells(r reply) bool { return a.shown[r.Call] }

// settle notes that a call of this exchange is done.
func (a *answeredExchange) settle(call string) {
	if slices.ContainsFunc(a.replies, func(r reply) bool { return r.Call == call }) {
		a.settled[call] = true
	}
}

// result notes a result. true: the client has one already.
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
	a.settle(call)
	a.resulted = true
	if _, done := a.told[call]; done {
		return true
	}
	a.told[call] = toldResult{ev.Get("messageId").Str, ev.Get("content").String()}
	return false
}

// endResumed returns the end of an exchange that carries answers.
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
		res := a.failed(e.Event)
		switch {
		case res.Fate == translate.Lost:
			run.tellOpen(gone, emit)
		case res.Fate == translate.InDoubt:
			run.tellOpen(doubtful, emit)
		case res.Fate != translate.Untouched && res.Next == nil && res.Finish.Type == agui.RunErrored:
			run.tellOpen(unknown, emit)
		}
		return res
	case agui.RunFinished:
	default:
		return translate.Result{}
	}
	a.tellDenied(emit)
	if a.tellMissed(emit); a.missed {
		a.release(emit)
		run.tellUnasked(e.Event, emit)
		// Where one call of several was run, to ask for all of it again would run that one twice.
		if a.kept.Registry && !a.resulted {
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
	if left := a.unactedAnswers(); len(a.settled) > 0 && a.fewer(left) {
		return a.resendLeft(left, e.Event)
	}
	res := a.goOn(e.Event)
	if res.Fate == translate.InDoubt {
		run.tellOpen(doubtful, emit)
	}
	return res
}

// goOn returns what comes after an exchange that took its answers: the next answers, then the
// messages beside them. An approved call whose result did not come is in doubt: all versions with
// the outcome tell it (RAN).
func (a *answeredExchange) goOn(finish agui.Event) translate.Result {
	if a.kept.Row == rowOutcome && slices.ContainsFunc(a.resumption.replies, a.untold) {
		return translate.Result{Fate: translate.InDoubt}
	}
	if len(a.stages) > 0 {
		next, err := a.next()
		if err == nil {
			return translate.Result{Finish: finish, Next: next}
		}
	}
	if len(a.r.New) > 0 {
		run := a.d.plainRun(a.r)
		run.beside = a.r.New
		return translate.Result{Finish: finish, Next: &translate.Exchange{Out: newMessages(a.r), Run: run}}
	}
	return translate.Result{Finish: finish}
}

// unactedAnswers returns the answers that the backend took and did not act on.
func (a *answeredExchange) unactedAnswers() []reply {
	if a.kept.Row != rowOutcome {
		return nil
	}
	var list []reply
	for _, r := range a.replies {
		told := r.yes || a.snapshot && !newer(a.replies) // whether it would have been seen if it were done
		if r.Kind != approval || r.Hosted || a.settled[r.Call] || !told {
			continue
		}
		list = append(list, r)
	}
	return list
}

// leftByFailure returns those of a run that failed, which shows no snapshot.
func (a *answeredExchange) leftByFailure() []reply {
	if a.kept.Row == rowOutcome && !newer(a.replies) {
		a.snapshot = true
	}
	return a.unactedAnswers()
}

// untold reports whether the result of an approved call is missing.
func (a *answeredExchange) untold(r reply) bool {
	_, done := a.told[r.Call]
	return r.Kind == approval && r.yes && !r.Hosted && !done && a.tells(r)
}

// fewer reports whether some, but not all of this exchange is left: what was sent alone is never
// sent again.
func (a *answeredExchange) fewer(left []reply) bool {
	return len(left) > 0 && len(left) < len(a.replies)
}

// resendLeft sends what was left behind again.
func (a *answeredExchange) resendLeft(left []reply, finish agui.Event) translate.Result {
	a.stages = append([]stage{{byArray, left}}, a.stages...)
	next, err := a.next()
	if err != nil {
		return translate.Result{Finish: finish}
	}
	more := next.Run.(*run).answered
	more.rest, more.finish = true, finish.Clone()
	return translate.Result{Finish: finish, Next: next}
}

// stillOpen returns the questions that stay open beside new ones: what was answered and not acted
// on, or not sent yet. They are asked again, for the backend waits for all of them at once.
func (a *answeredExchange) stillOpen(open []agui.Interrupt) []agui.Interrupt {
	var still []reply
	for _, r := range a.unactedAnswers() {
		if r.yes || len(a.settled) > 0 {
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

// tellMissed tells of approved calls without a result. 1.0.0rc7 drops an answer to what it does not
// know (any more) without a word, and the run looks like a success. 1.0.0b260225 to b260311 look
// the same when they ran the call (RAN). The backend is 1.0.0rc7 if it is known to keep what it
// asks.
func (a *answeredExchange) tellMissed(emit func(agui.Event)) {
	if a.kept.Row != rowList {
		return
	}
	for _, r := range a.replies {
		if _, done := a.told[r.Call]; r.Kind != approval || !r.yes || r.Hosted || done {
			continue
		}
		switch {
		case a.kept.Registry || a.resulted:
			a.missed = true
			a.tell(r, gone, emit)
		default:
			a.missed = true
			a.tell(r, doubtful, emit)
		}
	}
}

// tellUnasked tells of calls that nobody will be asked about, because the run ends in an error. A
// history in which they stand without a result invites the model to call them again.
func (run *run) tellUnasked(finish agui.Event, emit func(agui.Event)) {
	open, _ := run.open(finish)
	for _, i := range open {
		asked, _ := askOf(i)
		done := asked.Call == "" || !run.knows(asked.Call) || run.r.Input.Declares(asked.Name)
		if run.answered != nil && !done {
			_, done = run.answered.told[asked.Call]
		}
		if !done {
			emit(kit.ToolReply{ID: "result-" + asked.Call, Call: asked.Call, Content: unasked}.Event())
		}
	}
}

// tellOpen tells of the calls that a run has left open which failed: a history in which they stand
// without a result invites the model to call them again. Up to 1.0.1 the result of a tool is not
// told if the model fails behind it (RAN).
func (run *run) tellOpen(content string, emit func(agui.Event)) {
	a := run.answered
	var list []agui.Event
	keep := func(ev agui.Event) { list = append(list, ev) }
	a.tellDenied(keep)
	for _, r := range a.resumption.replies {
		if r.Kind == approval && r.yes {
			a.tell(r, content, keep)
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

// modelRefused reports whether a run that brought the answers alone ended in an error of the
// model's, with all that was approved done. Providers refuse a result whose call they were not
// shown.
func (a *answeredExchange) modelRefused(ev agui.Event) bool {
	return a.bare && ev.Valid() && !strings.Contains(ev.Get("code").Str, "_RESUME_") && len(a.stages) == 0 &&
		a.replies[0].Kind == approval && !slices.ContainsFunc(a.resumption.replies, a.untold)
}

// withConversation returns the exchange that brings the conversation behind the answers, with all
// results.
func (a *answeredExchange) withConversation() *translate.Exchange {
	asked := map[string]bool{}
	var results []agui.Message
	for call, t := range a.told {
		asked[call], results = true, append(results, t.message(call))
	}
	in := a.r.Input
	in.Messages = kit.After(a.r, asked).Behind(results)
	in.Raw = kit.Unanswered(in, in.Messages)
	return &translate.Exchange{Out: translate.Out{Body: harmless(in).Raw, TakesNew: true}, Run: a.d.plainRun(a.r)}
}

// notFound reports whether the backend does not know what was answered.
func notFound(failed agui.Event) bool {
	return strings.HasSuffix(failed.Get("code").Str, "_RESUME_NOT_FOUND")
}

// failed returns the end of an exchange in RUN_ERROR. 1.0.0rc8 and later judge all answers before
// they act on one (codes: agent-framework 7570).
func (a *answeredExchange) failed(ev agui.Event) translate.Result {
	res := translate.Result{Finish: ev}
	code, _ := strings.CutPrefix(strings.TrimPrefix(ev.Get("code").Str, "WORKFLOW_"), "APPROVAL_")
	switch {
	case !ev.Valid():
		return res
	case len(a.settled) > 0:
		// Something ran. What is left is sent all the same: the thread would take nothing else.
		if left := a.leftByFailure(); a.fewer(left) {
			return a.resendLeft(left, ev)
		}
		return res
	case a.streamed:
		return res
	case code == "RESUME_NOT_FOUND" && a.rest:
		return a.goOn(a.finish) // it was taken after all
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
		// The question is given back, unless there is nothing but its cancel that could be said.
		if slices.ContainsFunc(a.replies, func(r reply) bool { return r.answer.Status != agui.Cancelled }) {
			res.Fate = translate.Untouched
		}
	}
	return res
}

// forgotWorkflow reports whether a workflow waits for nothing (RAN: a restart. 1.0.0rc7 and
// 1.0.0rc8 say so behind a CUSTOM event; 1.7.0 says only that it failed, and nothing else).
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

// continueCancelled goes on after the error by which 1.0.0rc8 to 1.0.1 say that a question is
// cancelled, a workflow's or one about a call of the client's. They forget those that were
// cancelled and look at no other answer of the request.
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
	case a.fewer(left):
		return a.resendLeft(left, finish)
	}
	return translate.Result{Finish: ev}
}
