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

// A failure is an error frame.
type failure struct{ text, kind string }

// fail handles an error frame. It ends the run, because nothing behind it is the agent's.
func (run *run) fail(text, kind gjson.Result, emit func(agui.Event)) {
	if run.failed != nil || text.Type == gjson.Null {
		return
	}
	run.failed = &failure{text.String(), kind.String()}
	emit(run.failed.event(run.forced))
}

// event returns the RUN_ERROR that the frame stands for, in the backend's own words.
func (f *failure) event(forced bool) agui.Event {
	code, message := strandsapi.CodeError, f.text
	if forced {
		code = strandsapi.CodeForceStop
	}
	if f.kind != "" {
		message = f.kind + ": " + f.text
	}
	return agui.Errorf(code, "%s", agui.Cut(message)).Event()
}

// These are what backends say in an error, as far as it decides something.
const (
	// Python answers a prompt that is not a list so while it waits: "prompt_type=<class 'str'> | must
	// resume from interrupt with list of ..."
	saysWaiting = "must resume from interrupt"
	// TypeScript says this. It cannot be asked what it waits for.
	saysWaitingTS = "Agent is in an interrupted state"
	// An agent that waits says this to an id that it does not wait for.
	saysUnknown = "no interrupt found"
)

// busy are the errors of a second call while the first one runs, in Python and in TypeScript. The
// second call did nothing then.
var busy = map[string]bool{"ConcurrencyException": true, "ConcurrentInvocationError": true}

// saysLost are what backends say to an answer that they do not wait for: Python up to 1.40, newer
// Python, an unknown id, and an unknown id in a graph of TypeScript.
var saysLost = []string{"Input prompt must be of type", "agent is not in interrupt state", saysUnknown, "no node found with matching interrupt"}

func lost(text string) bool {
	return slices.ContainsFunc(saysLost, func(s string) bool { return strings.Contains(text, s) })
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	if e.Status != 0 {
		return run.status(e), nil
	}
	complete := !e.Cut && run.failed == nil && !run.forced && !run.started
	switch {
	case run.questions.over:
		return refuse(strandsapi.CodeInterruptUnreadable, textTooManyQuestions, maxQuestions, maxQuestionBytes), nil
	case len(run.questions.list) > 0 && (run.stop == interrupted || complete && run.stop == ""):
		// An error frame may follow the end (a reason that cannot be copied, RAN 1.40 and 1.62).
		// The agent waits all the same.
		return run.paused(), nil
	case run.stop == interrupted && run.body:
		return run.endLostInBody(), nil
	case run.stop == interrupted:
		return refuse(strandsapi.CodeInterruptUnreadable, textUnreadable), nil
	case run.failed != nil:
		return run.endFailed(e), nil
	case run.forced:
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

// brokeOff returns the result of a prompt at which the backend broke off.
func brokeOff() translate.Result {
	return refuse(agui.UpstreamEOF, textBrokeOff)
}

// endLostInBody returns the result of an answer that is one JSON text and does not say what the
// agent asks. The error names the two lines that make a stream of it.
func (run *run) endLostInBody() translate.Result {
	lines := "async for event in agent.stream_async(payload[\"prompt\"]): yield event"
	if run.camel {
		lines = "for await (const event of agent.stream(prompt)) res.write(JSON.stringify(event) + \"\\n\")"
	}
	return refuse(strandsapi.CodeInterruptLost, textLostInBody, lines)
}

func refuse(code agui.Code, format string, args ...any) translate.Result {
	return translate.Result{Finish: agui.Errorf(code, format, args...).Event()}
}

// paused returns the result of a run that asks.
func (run *run) paused() translate.Result {
	closings := run.closings()
	calls, before := run.callsAskedAbout()
	res := translate.Result{
		Before: append(closings, before...),
		Finish: run.finish(),
		Asked:  translate.AskedPause{Interrupts: run.publish(calls)},
	}
	if run.refused != nil {
		res.Untaken = run.refused.sent
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

// untouchedFate returns the fate of answers that the agent did not look at. A run without answers
// has no such fate.
func (run *run) untouchedFate() translate.Fate {
	if run.resumed == nil {
		return translate.Finished
	}
	return translate.Untouched
}

// idle reports whether nothing was done: no agent began, nothing was said, called or carried out.
// Whatever refuses a prompt does so before all that.
func (run *run) idle() bool { return !run.begun && !run.shown && len(run.answered) == 0 }

// endFailed returns the result of a run that an error frame ended.
func (run *run) endFailed(e translate.End) translate.Result {
	text := run.failed.text
	switch {
	case !run.idle() && run.taken == nil && !strings.Contains(text, saysWaitingTS):
		// An agent in the midst of its work, or a node of a graph, may fail with the same words.
		// What was sent has been taken then.
		return translate.Result{Finish: e.Event}
	case run.resumed != nil && lost(text):
		if next := run.dropExchange(text); next != nil {
			return translate.Result{Next: next}
		}
		return translate.Result{Fate: translate.Lost}
	case run.taken != nil && !run.broken && run.idle() && lost(text):
		return run.endContinued(text)
	case run.broken && strings.Contains(text, saysUnknown):
		if next := run.askBroken(); next != nil {
			return translate.Result{Next: next}
		}
		return brokeOff()
	case run.broken && lost(text):
		return brokeOff() // it does not wait
	case strings.Contains(text, saysWaiting) && run.listed:
		// The list did not arrive as a list.
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
	case busy[run.failed.kind]:
		return translate.Result{Finish: e.Event, Fate: run.untouchedFate()}
	case run.taken != nil:
		return stuck(text)
	}
	return translate.Result{Finish: e.Event}
}

// stuck returns the result of an agent that waits and does not take null. It was not asked with an
// empty list, because a resume failed.
func stuck(why string) translate.Result {
	return refuse(strandsapi.CodeInterruptLost, textStuck, agui.Cut(why))
}

// status returns the result of an answer that is not the agent's. It goes to the client as it is,
// unless it decides something.
func (run *run) status(e translate.End) translate.Result {
	text := string(e.Body)
	echoes := e.Status == 400 || e.Status == 422 // FastAPI repeats what it does not take, so that the words may be the client's
	switch {
	case e.Status/100 == 2 && run.resumed == nil:
		return refuse(agui.UpstreamStatus, textMediaType, e.Status)
	case run.resumed != nil && !echoes && lost(text):
		return translate.Result{Fate: translate.Lost}
	case run.broken && (e.Status == 500 || echoes):
		return brokeOff()
	case run.taken != nil && e.Status == 500:
		return run.endContinued(text)
	case strings.Contains(text, saysWaiting) && !run.listed && !echoes:
		return run.askWhat()
	case run.listed && echoes:
		return refuse(agui.UpstreamStatus, textNoList, e.Status)
	}
	return translate.Result{}
}

// askWhat returns the exchange that asks an agent what it waits for, if Holdpoint does not know its
// question. If Python gets an empty list, it raises its questions again and does nothing else. But
// it would act on answers that it has kept of a resume which failed. So after such a resume it gets
// null for each of them, and takes that for no answer yet (RAN 1.40 and 1.62).
func (run *run) askWhat() translate.Result {
	if run.refused != nil || run.insists {
		return refuse(strandsapi.CodeInterruptLost, textNoQuestion)
	}
	if len(run.r.Ended) == 0 || !run.r.Ended[0].Failed {
		next := newRun(run.d, run.r, run.ids)
		next.refused, next.listed = run, true
		return translate.Result{Next: &translate.Exchange{Out: run.d.out(run.r, []byte("[]")), Run: next}}
	}
	var ids []string
	for _, i := range run.r.Ended[0].Interrupts {
		ids = append(ids, i.Native)
	}
	if len(ids) == 0 {
		return stuck("they are not known any more")
	}
	return translate.Result{Next: run.askAnew(newRun(run.d, run.r, run.ids), ids)}
}

// endContinued returns the result of an agent that does not wait for a question which it was asked
// anew.
func (run *run) endContinued(text string) translate.Result {
	if next := run.askRest(text); next != nil {
		return translate.Result{Next: next}
	}
	return stuck(text)
}

// askRest returns the exchange that has the agent ask the questions anew without the one that its
// error calls unknown. If it waits for none of them, it has taken the old answers and gone on to a
// question that nobody heard. It keeps no answers then, and gets an empty list. The result is nil
// if the error names none of the questions, or if kit.MaxLost of them were left out.
func (run *run) askRest(text string) *translate.Exchange {
	unknown, named := unknownID(text)
	if !named || !run.taken[unknown] {
		return nil
	}
	asked := map[string]bool{}
	var rest []string
	for _, i := range run.r.Ended[0].Interrupts {
		asked[i.Native] = true
		if run.taken[i.Native] && i.Native != unknown {
			rest = append(rest, i.Native)
		}
	}
	if len(asked)-len(run.taken) >= kit.MaxLost {
		return nil
	}
	next := newRun(run.d, run.r, run.ids)
	out := run.refused.askAnew(next, rest)
	if len(rest) == 0 {
		next.taken = nil
	}
	return out
}

// answeredBefore reports whether the agent was asked anew about a question whose answer failed.
func (run *run) answeredBefore(id string) bool {
	return run.taken[id] && len(run.r.Ended) > 0 && run.r.Ended[0].Failed &&
		slices.ContainsFunc(run.r.Ended[0].Interrupts, func(i agui.Interrupt) bool { return i.Native == id })
}

// askAnew returns the exchange, with next as its run, that has the agent ask these questions anew.
func (run *run) askAnew(next *run, ids []string) *translate.Exchange {
	next.refused, next.listed = run, true
	next.taken = map[string]bool{}
	prompt := []byte{'['}
	for _, id := range ids {
		if !next.taken[id] {
			prompt = appendResponse(prompt, id, []byte("null"))
		}
		next.taken[id] = true
	}
	return &translate.Exchange{Out: run.d.out(run.r, append(prompt, ']')), Run: next}
}

// endFinished returns the result of an answer that ended cleanly and asks nothing.
func (run *run) endFinished() translate.Result {
	switch {
	case run.forgot, run.anew && run.asksByTool():
		return translate.Result{Fate: translate.Lost}
	case run.stop == untold:
		return run.endLostInBody()
	case run.stop == failedStatus && run.refused != nil:
		return refuse(strandsapi.CodeInterruptLost, textFailsIfAsked)
	case run.stop == failedStatus:
		return refuse(strandsapi.CodeError, "%s", agui.Cut(run.why()))
	case run.stop != "" || run.d.server.Text && run.shown:
	case run.last == "tool_use" || run.last == "toolUse":
		return refuse(strandsapi.CodeInterruptLost, textNoResult)
	case run.last == "" || run.body || run.started:
		return run.endUnended()
	}
	res := translate.Result{Before: run.closings(), Finish: run.finish("outcome", `{"type":"success"}`)}
	if reason := run.stop; !usual[reason] {
		res.Before = append(res.Before, agui.NewEvent(agui.MustMarshal(struct {
			Type  agui.Type `json:"type"`
			Name  string    `json:"name"`
			Value string    `json:"value"`
		}{agui.Custom, "strands:stop_reason", reason})))
	}
	run.goOn(&res)
	return res
}

// why returns what a graph of TypeScript says of its failure. A graph of Python says it in an
// error.
func (run *run) why() string {
	if run.reason != "" {
		return run.reason
	}
	return textFailed
}

// usual are the reasons to stop that need no mention.
var usual = map[string]bool{"": true, "end_turn": true, "endTurn": true, "stop_sequence": true, "stopSequence": true, "tool_use": true, "toolUse": true}

// endUnended returns the result of an answer that ended cleanly, but without an end of the agent's.
func (run *run) endUnended() translate.Result {
	switch {
	case run.resumed != nil:
		return translate.Result{} // nobody knows what became of the answers
	case run.refused != nil:
		return refuse(strandsapi.CodeInterruptLost, textNoQuestionInStream)
	case run.body:
		return refuse(agui.UpstreamStatus, textUnknownJSON)
	case run.bare:
		return refuse(agui.UpstreamEOF, textNoEnd)
	}
	return refuse(agui.UpstreamEOF, textNoAgentResult)
}

// goOn sends what is still to be sent. That is the messages beside the answers, or a prompt that
// was refused while the agent waited, if it waits no more.
func (run *run) goOn(res *translate.Result) {
	switch {
	case run.refused != nil:
		next := newRun(run.d, run.r, run.ids)
		next.sent, next.insists = run.refused.sent, true
		res.Next = &translate.Exchange{Out: run.d.out(run.r, quotedBytes(run.refused.prompt)), Run: next}
	case run.resumed != nil && len(run.r.New) > 0:
		text, taken, err := promptOf(run.r.New)
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

// asksByTool reports whether every question came from a call, or from what stands before it. Then
// TypeScript goes on with the calls. If nothing waits, it ignores the answers and calls the model
// (RAN 1.19.0).
func (run *run) asksByTool() bool {
	if run.resumed == nil {
		return false
	}
	return !slices.ContainsFunc(run.resumed.Interrupts, func(i agui.Interrupt) bool {
		id, _ := strandsapi.ParseID(i.Native)
		return id.ToolUseID == "" && id.Kind != strandsapi.BeforeCalls
	})
}

// json reads a body that is one JSON text. An entrypoint that does not stream returns one.
func (run *run) json(data []byte, emit func(agui.Event)) {
	if checked := valid(data); checked != nil {
		run.answer(gjson.ParseBytes(checked), emit)
		return
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) { // lines that somebody declared as JSON
		run.frame(bytes.TrimSpace(line), emit)
	}
}

// answer reads {"result":...}, {"output":{"message":...}}, {"response":...}, {"message":...}, a
// string, or an AgentResult as TypeScript writes it.
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
