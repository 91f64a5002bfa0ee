package strands

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// A failure is the content of an error frame: its text, and the type of the error.
type failure struct{ text, kind string }

// fail handles an error frame. The first error frame ends the run, because the agent sends nothing
// after it.
func (run *run) fail(text, kind gjson.Result, emit func(agui.Event)) {
	if run.failed != nil || text.Type == gjson.Null {
		return
	}
	run.failed = &failure{text.String(), kind.String()}
	emit(run.failed.event(run.forceStopped))
}

// event returns the RUN_ERROR for the error frame. It has the backend's text.
func (f *failure) event(isForced bool) agui.Event {
	code, message := strandsapi.CodeError, f.text
	if isForced {
		code = strandsapi.CodeForceStop
	}
	if f.kind != "" {
		message = f.kind + ": " + f.text
	}
	return agui.Errorf(code, "%s", agui.Shorten(message)).Event()
}

// Parts of error texts of Strands that Holdpoint reacts to.
const (
	// While a Python agent waits, it refuses a prompt that is not a list, with "prompt_type=<class
	// 'str'> | must resume from interrupt with list of ..."
	saysWaiting = "must resume from interrupt"
	// While a TypeScript agent waits, it refuses a prompt with this text. It does not repeat its
	// question.
	saysWaitingTS = "Agent is in an interrupted state"
	// A waiting agent refuses an answer with an unknown id with this text.
	saysUnknown = "no interrupt found"
)

// busyErrors are the types of the error if a second call arrives during the first one: the type in
// Python and the type in TypeScript. The second call did nothing.
var busyErrors = map[string]bool{"ConcurrencyException": true, "ConcurrentInvocationError": true}

// saysLost are parts of the errors that backends send if they do not wait for the answer. They are,
// in this order: Python up to 1.40, newer Python, an unknown id, and an unknown id in a graph of
// TypeScript.
var saysLost = []string{"Input prompt must be of type", "agent is not in interrupt state", saysUnknown, "no node found with matching interrupt"}

func isLost(text string) bool {
	return slices.ContainsFunc(saysLost, func(s string) bool { return strings.Contains(text, s) })
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	if e.Status != 0 {
		return run.status(e), nil
	}
	complete := !e.Cut && run.failed == nil && !run.forceStopped && !run.started
	switch {
	case run.questions.over:
		return refuse(strandsapi.CodeInterruptUnreadable, textTooManyQuestions, maxQuestions, maxQuestionBytes), nil
	case len(run.questions.list) > 0 && (run.stopReason == interrupted || complete && run.stopReason == ""):
		// An error frame may follow the end of the run, for example if the reason of an interrupt
		// cannot be copied (RAN 1.40 and 1.62). The agent waits nevertheless.
		return run.paused(), nil
	case run.stopReason == interrupted && run.body:
		return run.endLostInBody(), nil
	case run.stopReason == interrupted:
		return refuse(strandsapi.CodeInterruptUnreadable, textUnreadable), nil
	case run.failed != nil:
		return run.endFailed(e), nil
	case run.forceStopped:
		return refuse(strandsapi.CodeForceStop, textForceStop), nil
	case e.Cut && run.resumed == nil && !run.shown:
		if next := run.askBroken(); next != nil {
			return translate.Result{Next: next}, nil
		}
		return brokeOff(), nil
	case e.Cut:
		return translate.Result{}, nil
	}
	return run.endFinished(), nil
}

// brokeOff returns the result if the backend broke off its response to a prompt.
func brokeOff() translate.Result {
	return refuse(agui.UpstreamEOF, textBrokeOff)
}

// endLostInBody returns the result if the response is one JSON text without the agent's question.
// The error shows the line of code with which a server streams its events.
func (run *run) endLostInBody() translate.Result {
	lines := codeStreamPython
	if run.isTypeScript {
		lines = codeStreamTypeScript
	}
	return refuse(strandsapi.CodeInterruptLost, textLostInBody, lines)
}

func refuse(code agui.Code, format string, args ...any) translate.Result {
	return translate.Result{Finish: agui.Errorf(code, format, args...).Event()}
}

// paused returns the result of a run that asks a question.
func (run *run) paused() translate.Result {
	closings := run.closings()
	calls, before := run.callsAskedAbout()
	res := translate.Result{
		HeldEvents: append(closings, before...),
		Finish:     run.finish(),
		Asked:      translate.AskedPause{Interrupts: run.publish(calls)},
	}
	if run.refused != nil {
		res.UnacceptedMessages = run.refused.sent
	}
	return res
}

func (run *run) finish(members ...string) agui.Event {
	finish := agui.FinishedEvent(run.r.Input.ThreadID, run.r.Input.RunID)
	for n := 0; n+1 < len(members); n += 2 {
		finish.JSON = agui.SetKey(finish.JSON, members[n], []byte(members[n+1]))
	}
	return finish
}

// untouchedFate returns the fate if the agent did not read the request. It is Untouched on a
// resume, because its answers were not read, and Finished otherwise.
func (run *run) untouchedFate() translate.Fate {
	if run.resumed == nil {
		return translate.Finished
	}
	return translate.Untouched
}

// idle reports whether the agent did nothing: no loop began, and no text, call or result was sent.
// An agent that refuses a prompt does so before all of these.
func (run *run) idle() bool { return !run.loopBegan && !run.shown && len(run.answered) == 0 }

// endFailed returns the result of a run that ended with an error frame.
func (run *run) endFailed(e translate.End) translate.Result {
	text := run.failed.text
	switch {
	case !run.idle() && run.askedAgain == nil && !strings.Contains(text, saysWaitingTS):
		// An agent that has begun to work, or a node of a graph, may fail with the text of a
		// refusal. In this case the agent accepted the prompt.
		return translate.Result{Finish: e.Event}
	case run.resumed != nil && isLost(text):
		if next := run.dropExchange(text); next != nil {
			return translate.Result{Next: next}
		}
		return translate.Result{Fate: translate.Lost}
	case run.askedAgain != nil && !run.brokeOff && run.idle() && isLost(text):
		return run.endContinued(text)
	case run.brokeOff && strings.Contains(text, saysUnknown):
		if next := run.askBroken(); next != nil {
			return translate.Result{Next: next}
		}
		return brokeOff()
	case run.brokeOff && isLost(text):
		return brokeOff() // the agent does not wait
	case strings.Contains(text, saysWaiting) && run.sentList:
		// The server did not give the agent the list as a list.
		res := refuse(strandsapi.CodeError, textNotList)
		res.Fate = run.untouchedFate()
		return res
	case strings.Contains(text, saysWaiting):
		return run.askWhat()
	case strings.Contains(text, saysWaitingTS):
		if res, known := run.askLost(); known {
			return res
		}
		return refuse(strandsapi.CodeInterruptLost, textLost)
	case busyErrors[run.failed.kind]:
		return translate.Result{Finish: e.Event, Fate: run.untouchedFate()}
	case run.askedAgain != nil:
		return cannotAskAgain(text)
	}
	return translate.Result{Finish: e.Event}
}

// cannotAskAgain returns the result if an agent waits but cannot be asked for its questions. It did
// not accept null for them, and an empty list is not safe after a failed resume. why is the agent's
// error.
func cannotAskAgain(why string) translate.Result {
	return refuse(strandsapi.CodeInterruptLost, textStuck, agui.Shorten(why))
}

// status returns the result of an HTTP response without a stream. With a zero Result, the client
// gets the response unchanged.
func (run *run) status(e translate.End) translate.Result {
	text := string(e.Body)
	// FastAPI repeats the input that it refuses, so the client may have written the text.
	echoes := e.Status == 400 || e.Status == 422
	switch {
	case e.Status/100 == 2 && run.resumed == nil:
		return refuse(agui.UpstreamStatus, textMediaType, e.Status)
	case run.resumed != nil && !echoes && isLost(text):
		return translate.Result{Fate: translate.Lost}
	case run.brokeOff && (e.Status == 500 || echoes):
		return brokeOff()
	case run.askedAgain != nil && e.Status == 500:
		return run.endContinued(text)
	case strings.Contains(text, saysWaiting) && !run.sentList && !echoes:
		return run.askWhat()
	case run.sentList && echoes:
		return refuse(agui.UpstreamStatus, textNoList, e.Status)
	}
	return translate.Result{}
}

// askWhat returns the result whose next exchange asks an agent for its questions, because Holdpoint
// does not know them. If a Python agent gets an empty list, it only sends its open questions again.
// But if a resume failed, the agent has stored the answers of that resume and would act on them.
// After a failed resume, the exchange sends null for each question instead, which the agent does
// not read as an answer (RAN 1.40 and 1.62).
func (run *run) askWhat() translate.Result {
	if run.refused != nil || run.repeatsPrompt {
		return refuse(strandsapi.CodeInterruptLost, textNoQuestion)
	}
	if len(run.r.EndedPauses) == 0 || !run.r.EndedPauses[0].Failed {
		next := newRun(run.d, run.r, run.ids)
		next.refused, next.sentList = run, true
		return translate.Result{Next: &translate.Exchange{Out: run.d.out(run.r, []byte("[]")), Run: next}}
	}
	var ids []string
	for _, i := range run.r.EndedPauses[0].Interrupts {
		ids = append(ids, i.Native)
	}
	if len(ids) == 0 {
		return cannotAskAgain(textIDsUnknown)
	}
	return translate.Result{Next: run.askAnew(newRun(run.d, run.r, run.ids), ids)}
}

// endContinued returns the result if the agent was asked to repeat its questions and does not wait
// for one of them.
func (run *run) endContinued(text string) translate.Result {
	if next := run.askRest(text); next != nil {
		return translate.Result{Next: next}
	}
	return cannotAskAgain(text)
}

// askRest returns the exchange that asks for the questions again, except for the one that the error
// names as unknown. If no other question is left, the agent acted on the old answers and then
// raised a new question, which Holdpoint never received. Such an agent has no old answers any more,
// so the exchange sends an empty list. askRest returns nil if the error names none of the
// questions, or if kit.MaxLost questions were already left out.
func (run *run) askRest(text string) *translate.Exchange {
	unknown, named := unknownID(text)
	if !named || !run.askedAgain[unknown] {
		return nil
	}
	asked := map[string]bool{}
	var rest []string
	for _, i := range run.r.EndedPauses[0].Interrupts {
		asked[i.Native] = true
		if run.askedAgain[i.Native] && i.Native != unknown {
			rest = append(rest, i.Native)
		}
	}
	if len(asked)-len(run.askedAgain) >= kit.MaxLost {
		return nil
	}
	next := newRun(run.d, run.r, run.ids)
	out := run.refused.askAnew(next, rest)
	if len(rest) == 0 {
		next.askedAgain = nil
	}
	return out
}

// answeredBefore reports whether the question was already answered in the last resume, and that
// resume failed.
func (run *run) answeredBefore(id string) bool {
	return run.askedAgain[id] && len(run.r.EndedPauses) > 0 && run.r.EndedPauses[0].Failed &&
		slices.ContainsFunc(run.r.EndedPauses[0].Interrupts, func(i agui.Interrupt) bool { return i.Native == id })
}

// askAnew returns the exchange that asks the agent to repeat the questions with these ids. next is
// the run of the exchange.
func (run *run) askAnew(next *run, ids []string) *translate.Exchange {
	next.refused, next.sentList = run, true
	next.askedAgain = map[string]bool{}
	prompt := []byte{'['}
	for _, id := range ids {
		if !next.askedAgain[id] {
			prompt = appendResponse(prompt, id, []byte("null"))
		}
		next.askedAgain[id] = true
	}
	return &translate.Exchange{Out: run.d.out(run.r, append(prompt, ']')), Run: next}
}

// endFinished returns the result of a response that ended without an error and without a question.
func (run *run) endFinished() translate.Result {
	switch {
	case run.lostPause, run.modelFirst && run.asksByTool():
		return translate.Result{Fate: translate.Lost}
	case run.endsInCall:
		return run.endLostInBody()
	case run.stopReason == failedStatus && run.refused != nil:
		return refuse(strandsapi.CodeInterruptLost, textFailsIfAsked)
	case run.stopReason == failedStatus:
		return refuse(strandsapi.CodeError, "%s", agui.Shorten(run.failureReason()))
	case run.stopReason != "" || run.d.server.Text && run.shown:
	case run.last == "tool_use" || run.last == "toolUse":
		return refuse(strandsapi.CodeInterruptLost, textNoResult)
	case run.last == "" || run.body || run.started:
		return run.endUnended()
	}
	res := translate.Result{HeldEvents: run.closings(), Finish: run.finish("outcome", `{"type":"success"}`)}
	if reason := run.stopReason; !usualReasons[reason] {
		res.HeldEvents = append(res.HeldEvents, agui.MakeEvent(agui.Custom, "name", "strands:stop_reason", "value", reason))
	}
	run.goOn(&res)
	return res
}

// failureReason returns the reason that a TypeScript graph gives for its failure, or a text of
// Holdpoint. A Python graph sends its reason as an error frame.
func (run *run) failureReason() string {
	if run.reason != "" {
		return run.reason
	}
	return textFailed
}

// usualReasons are the stop reasons that Holdpoint does not report to the client, because they are
// ordinary ends.
var usualReasons = map[string]bool{"": true, "end_turn": true, "endTurn": true, "stop_sequence": true, "stopSequence": true, "tool_use": true, "toolUse": true}

// endUnended returns the result of a response that ended without an error, but without the agent's
// result.
func (run *run) endUnended() translate.Result {
	switch {
	case run.resumed != nil:
		return translate.Result{} // it is unknown whether the agent acted on the answers
	case run.refused != nil:
		return refuse(strandsapi.CodeInterruptLost, textNoQuestionInStream)
	case run.body:
		return refuse(agui.UpstreamStatus, textUnknownJSON)
	case run.sawString:
		return refuse(agui.UpstreamEOF, textNoEnd)
	}
	return refuse(agui.UpstreamEOF, textNoAgentResult)
}

// goOn adds the next exchange to the result if a prompt is still unsent. After a resume, that is
// the text of the new messages that the client sent with its answers. After an exchange that asked
// the agent for its questions, it is the prompt that the agent had refused because it was waiting.
func (run *run) goOn(res *translate.Result) {
	switch {
	case run.refused != nil:
		next := newRun(run.d, run.r, run.ids)
		next.sent, next.repeatsPrompt = run.refused.sent, true
		res.Next = &translate.Exchange{Out: run.d.out(run.r, quotedBytes(run.refused.prompt)), Run: next}
	case run.resumed != nil && len(run.r.NewMessages) > 0:
		text, taken, err := promptOf(run.r.NewMessages)
		if err != nil {
			res.Finish = run.finish("outcome", `{"type":"success"}`, "metadata", `{"holdpoint":{"code":"`+string(agui.MessagesNotTaken)+`"}}`)
			return
		}
		next := newRun(run.d, run.r, run.ids)
		next.sent, next.prompt = taken, text
		out := run.d.out(run.r, quotedBytes(text))
		out.TakesNew = true
		res.Next = &translate.Exchange{Out: out, Run: next}
	}
	if res.Next != nil {
		res.Finish = agui.Event{}
	}
}

func quotedBytes(s string) []byte { return agui.MustMarshal(s) }

// asksByTool reports whether every question was raised by a tool call, or by middleware before the
// calls. After the answers to such questions, TypeScript continues with the calls. If a TypeScript
// agent does not wait for an answer, it ignores the answers and calls the model (RAN 1.19.0).
func (run *run) asksByTool() bool {
	if run.resumed == nil {
		return false
	}
	return !slices.ContainsFunc(run.resumed.Interrupts, func(i agui.Interrupt) bool {
		id, _ := strandsapi.ParseID(i.Native)
		return id.ToolUseID == "" && id.Kind != strandsapi.BeforeCalls
	})
}

// json reads a response whose body is one JSON text. An entrypoint that does not stream sends it.
func (run *run) json(data []byte, emit func(agui.Event)) {
	if checked := validJSON(data); checked != nil {
		run.answer(gjson.ParseBytes(checked), emit)
		return
	}
	// The body has lines, although its media type is that of JSON.
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		run.frame(bytes.TrimSpace(line), emit)
	}
}

// answer reads the body of a response that is not a stream. It is {"result":...},
// {"output":{"message":...}}, {"response":...}, {"message":...}, a string, or an AgentResult as
// TypeScript writes it.
func (run *run) answer(v gjson.Result, emit func(agui.Event)) {
	l := run.lane("", emit)
	run.body = true
	for range 3 {
		if v.Type == gjson.String || reasonIn(v) == interrupted || v.Get("role").Exists() || v.Get("stopReason").Exists() || v.Get("stop_reason").Exists() {
			run.result(v, l)
			return
		}
		if failed := v.Get("error"); failed.Exists() && failed.Type != gjson.Null {
			run.fail(failed, v.Get("error_type"), emit)
			return
		}
		inner := gjson.Result{}
		for _, name := range []string{"result", "output", "response", "message"} {
			if inner = v.Get(name); inner.Exists() {
				break
			}
		}
		v = inner
	}
}
