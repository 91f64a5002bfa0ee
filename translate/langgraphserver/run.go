package langgraphserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// A step is the purpose of an exchange with the server.
type step int

const (
	creating      step = iota // gets the thread, before an ordinary run
	readingState              // reads the state before the run
	streaming                 // runs the thread
	searching                 // looks for the run's id, because its stream broke off without it
	joiningRun                // joins the run again, because its stream broke off
	addingResults             // adds the results of calls, before the thread's task is ended
	endingTask                // ends the thread's task
	settling                  // reads the state after the run
)

// maxJoins is the maximum number of times that Holdpoint joins a run again.
const maxJoins = 3

// A run translates one exchange of a chat.
type run struct {
	*chat
	step step
	body []byte // the body of a response that is not a stream
	skip int    // the frames of a joined stream that were already read
}

// Framing implements translate.Decoder.
func (run *run) Framing(mediaType string) translate.Framing {
	stream := run.step == streaming || run.step == joiningRun
	switch {
	case stream && mediaType == "text/event-stream":
		return translate.Frames
	case !stream && mediaType == "application/json":
		return translate.Whole
	}
	return translate.Unread
}

// Event implements translate.Run. It forwards the events that Decode makes unchanged.
func (*run) Event(ev agui.Event, emit func(agui.Event)) error {
	emit(ev)
	return nil
}

// Decode implements translate.Decoder.
func (run *run) Decode(p translate.Piece, emit func(agui.Event)) error {
	switch run.step {
	case streaming, joiningRun:
		if run.skip > 0 {
			run.skip--
			return nil
		}
		run.frames++
		run.frame(p, emit)
	case settling:
		if s, ok := readState(bytes.Clone(p.Data)); ok {
			run.after, run.afterKnown = s, true
			run.sendEnd(emit)
		}
	default:
		run.body = bytes.Clone(p.Data)
	}
	return nil
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	switch run.step {
	case creating:
		if run.body == nil {
			return run.preparationFailed(e), nil
		}
		run.aegra = gjson.GetBytes(run.body, "user_id").Exists()
		return run.next(run.readState(), readingState), nil
	case readingState:
		return run.continueFromState(e), nil
	case streaming:
		return run.continueAfterStream(e), nil
	case searching:
		return run.findRun(), nil
	case joiningRun:
		return run.continueAfterJoin(e), nil
	case addingResults, endingTask:
		return run.continueAfterUpdate(e), nil
	}
	return run.conclude(), nil
}

func (run *run) next(out translate.Out, s step) translate.Result {
	next := &exchange{chat: run.chat, step: s}
	if s == joiningRun {
		next.skip = run.frames
		run.joinAttempts++
	}
	return translate.Result{Next: &translate.Exchange{Out: out, Run: next}}
}

// exchange is another name of the type run. Methods whose receiver is named run need it, because
// the receiver hides the type's name.
type exchange = run

// preparationFailed returns the result of an exchange that failed before the run was sent.
func (run *run) preparationFailed(e translate.End) translate.Result {
	switch e.Status {
	case 0:
		return translate.Result{}
	case 401, 403:
		return failure(agui.UpstreamStatus, textUnauthorized, e.Status)
	}
	return failure(agui.UpstreamStatus, textUnavailable, e.Status)
}

func failure(code agui.Code, format string, args ...any) translate.Result {
	return translate.Result{Finish: agui.Errorf(code, format, args...).Event()}
}

// continueFromState returns the result of the exchange that read the state before the run. Usually
// its Next is the exchange that sends the answers or starts the run.
func (run *run) continueFromState(e translate.End) translate.Result {
	s, ok := readState(run.body)
	switch {
	case e.Status == 404 && run.resumes:
		return translate.Result{Fate: translate.Lost} // the server has lost its threads
	case !ok:
		return run.preparationFailed(e)
	}
	run.before = s
	if run.resumes {
		if !run.stillAsks(s) && run.r.EndOnly { // the task has already ended
			run.after, run.afterKnown = s, true
			var res translate.Result
			run.sendEnd(func(ev agui.Event) { res.HeldEvents = append(res.HeldEvents, ev) })
			return run.noteConclusion(res)
		}
		if !run.stillAsks(s) {
			return translate.Result{Fate: translate.Lost} // somebody continued the thread without Holdpoint
		}
		return translate.Result{Next: run.answer(s)}
	}
	if open := s.natives(); len(open) > 0 { // a new run would discard the open question
		run.after, run.afterKnown = s, true
		_, sent, err := newMessages(run.r.Input.Messages, s)
		if err != nil {
			sent = nil
		}
		res := translate.Result{UnacceptedMessages: sent}
		run.unsent = sent
		run.sendEnd(func(ev agui.Event) { res.HeldEvents = append(res.HeldEvents, ev) })
		if run.aegra {
			res.Backend = aegra
		}
		markUnseen(s, open)
		return run.paused(res, open)
	}
	next, err := run.begin(false)
	if err != nil {
		return translate.Result{Finish: err.Event()}
	}
	return translate.Result{Next: next}
}

// markUnseen sets RivalCalls of questions if more calls wait for results than questions are open.
// It is for a run whose stream showed no tasks. The answer to such a question may reach another
// call than the one that asked.
func markUnseen(s state, natives []langgraphapi.Native) {
	calls := len(s.callsWithoutResult())
	if calls < 2 || len(natives) >= calls {
		return
	}
	for n := range natives {
		v := gjson.ParseBytes(natives[n].Value)
		one := natives[n]
		one.Shape = one.ShapeOf()
		if !one.AskedByNode() && !v.Get("tool_call_id").Exists() && !v.Get("toolCallId").Exists() {
			natives[n].RivalCalls = langgraphapi.ParallelCalls(nil)
		}
	}
}

// continueAfterStream returns the result of the exchange that streamed the run.
func (run *run) continueAfterStream(e translate.End) translate.Result {
	switch {
	case e.Status != 0:
		return run.endRefused(e)
	case e.Event.Type == agui.RunErrored:
		return run.endErrored(e)
	case !e.Cut: // a complete stream has no terminal event
		return run.next(run.readState(), settling)
	case e.Refused:
		return translate.Result{}
	case run.run != "":
		return run.next(run.join(), joiningRun)
	case run.nonce != "":
		return run.next(run.list(), searching)
	}
	return run.endLost()
}

// endLost returns the result of a run if Holdpoint does not know how the run ended.
func (run *run) endLost() translate.Result {
	var res translate.Result
	run.out.close(func(ev agui.Event) { res.HeldEvents = append(res.HeldEvents, ev) })
	if run.resumes {
		res.Fate = translate.InDoubt
		return res
	}
	return res
}

// findRun looks for the run in the list of the thread's runs. If it finds the run, the next
// exchange joins the run's stream. Otherwise the run is lost.
func (run *run) findRun() translate.Result {
	if agui.ValidJSON(run.body) {
		for _, one := range gjson.ParseBytes(run.body).Array() {
			if id := one.Get("run_id").Str; isUUID(id) && one.Get("metadata.holdpoint_run").Str == run.nonce {
				run.run = id
				return run.next(run.join(), joiningRun)
			}
		}
	}
	return run.endLost()
}

// continueAfterJoin returns the result of the exchange that streamed a joined run.
func (run *run) continueAfterJoin(e translate.End) translate.Result {
	switch {
	case e.Event.Type == agui.RunErrored:
		if run.frames == 1 || run.skip > 0 { // "Run not found": the server has lost it
			return run.endLost()
		}
		return run.endErrored(e)
	case e.Status == 0 && !e.Cut && run.skip == 0:
		return run.next(run.readState(), settling)
	case e.Status == 0 && e.Cut && run.joinAttempts < maxJoins:
		return run.next(run.join(), joiningRun)
	}
	return run.endLost()
}

// endErrored returns the result of a run that ended with an error of the graph. The error does not
// show whether the approved call ran. Only a result of the call shows it, and package proxy looks
// for that result.
func (run *run) endErrored(e translate.End) translate.Result {
	res := translate.Result{Finish: e.Event}
	if run.step == joiningRun && run.mayRun {
		res.Fate = translate.InDoubt
	}
	return res
}

// endRefused returns the result of a run that the server refused.
func (run *run) endRefused(e translate.End) translate.Result {
	var res translate.Result
	switch busy := bytes.Contains(e.Body, []byte("already running")); {
	case e.Status == 409, e.Status == 422 && busy:
		res = failure(agui.ThreadBusy, textBusy)
	case e.Status == 401, e.Status == 403:
		return run.preparationFailed(e)
	case e.Status == 400:
		res = failure(agui.UpstreamStatus, textRefused)
	case e.Status == 404, e.Status == 422:
		res = failure(agui.UpstreamStatus, textNoAssistant, e.Status)
	default:
		return translate.Result{}
	}
	if run.resumes {
		res.Fate = translate.Untouched
	}
	return res
}

// continueAfterUpdate returns the result of an exchange that updated the thread's state. If the
// server refuses the update, the next exchange sends the cancelled answers as a command.
func (run *run) continueAfterUpdate(e translate.End) translate.Result {
	switch {
	case run.body != nil && run.step == addingResults:
		return translate.Result{Next: run.end()}
	case run.body != nil:
		return run.next(run.readState(), settling)
	case e.Status >= 400 && run.command != nil:
		return translate.Result{Next: run.command1()}
	case e.Status >= 400 && run.r.EndOnly:
		res := failure(agui.UpstreamStatus, textNotEnded, e.Status)
		res.Fate = translate.Untouched
		return res
	}
	return translate.Result{}
}

// sendEnd ends the open messages and steps, and sends the state and the messages after the run.
func (run *run) sendEnd(emit func(agui.Event)) {
	run.out.close(emit)
	o := []byte{'{'}
	run.after.values.ForEach(func(k, v gjson.Result) bool {
		// If the stream showed members of the state, only these are sent.
		if len(run.keys) == 0 || run.keys[k.Str] {
			o = kit.AppendMember(o, oneLine(k.Raw), oneLine(v.Raw))
		}
		return true
	})
	if run.after.values.IsObject() {
		run.out.snapshot(append(o, '}'), emit)
	}
	if list, ok := run.after.messages(); ok {
		emit(agui.SnapshotEvent(withClientMessages(fromLangChain(list, run.thread), list, run.unsent)))
	}
}

// withClientMessages returns the snapshot with those messages of the parameter more that list does
// not have. list are the server's messages in the snapshot. A client deletes a message that a
// snapshot lacks.
func withClientMessages(snapshot []byte, list []gjson.Result, more []agui.Message) []byte {
	has := make(map[string]bool, len(list))
	for _, m := range list {
		has[m.Get("id").Str] = true
	}
	for _, m := range more {
		if m.ID == "" || has[m.ID] {
			continue
		}
		snapshot = snapshot[:len(snapshot)-1]
		if len(snapshot) > 1 {
			snapshot = append(snapshot, ',')
		}
		snapshot = append(append(snapshot, oneLine(string(m.JSON))...), ']')
	}
	return snapshot
}

// conclude returns the result of a run whose stream ended without an error.
func (run *run) conclude() translate.Result {
	var res translate.Result
	if !run.afterKnown {
		run.out.close(func(ev agui.Event) { res.HeldEvents = append(res.HeldEvents, ev) })
	}
	return run.noteConclusion(res)
}

// noteConclusion adds to res how the run ended: the questions that are open now, a doubt, or the
// next exchange.
func (run *run) noteConclusion(res translate.Result) translate.Result {
	natives := run.open()
	if run.aegra {
		res.Backend = aegra
	}
	switch {
	case run.endsTask && run.command != nil && run.afterKnown && run.stillAsks(run.after):
		// The server accepted the end of the task, but the task did not end (RAN aegra-api 0.6.0).
		run.endsTask, run.afterKnown = false, false
		return translate.Result{Next: run.command1()}
	case len(natives) > 0:
		return run.paused(res, natives)
	case run.isUnderway() && run.run != "" && run.joinAttempts < maxJoins:
		return run.next(run.join(), joiningRun)
	case run.isUnderway() && run.mayRun:
		return run.endLost()
	}
	res.Finish = agui.FinishedEvent(run.r.Input.ThreadID, run.r.Input.RunID)
	if run.resumes && len(run.r.NewMessages) > 0 {
		return run.addExtraMessages(res)
	}
	return res
}

// isUnderway reports whether the run may still be running after its answers were sent. It may, if
// its thread has further steps, asks nothing, and is not at a breakpoint. In this case a proxy
// between Holdpoint and the server ended the stream too early, or the server stopped.
func (run *run) isUnderway() bool {
	return run.resumes && run.afterKnown && !run.endsTask && !run.atStaticBreakpoint && len(run.after.next) > 0
}

// addExtraMessages adds to res an exchange that sends the new messages which the client sent
// together with its answers.
func (run *run) addExtraMessages(res translate.Result) translate.Result {
	if !run.afterKnown {
		res.Finish.JSON = agui.SetString(res.Finish.JSON, "metadata.holdpoint.code", string(agui.MessagesNotTaken))
		return res
	}
	c := run.d.newChat(run.r.Plain())
	c.before, c.out = run.after, run.out
	next, err := c.begin(true)
	if err != nil {
		res.Finish = err.Event()
		return res
	}
	res.Next = next
	return res
}

// open returns the questions that are open after the run. The frames of the run are the best
// source, because the state may also show questions that were answered. But the frames are not
// complete if the server sends no ids, or no updates frames (RAN aegra-api 0.6.0). If ids are
// missing, open reads the questions from the state. If updates frames are missing, it reads them
// from the state too, unless the state shows a question that was just answered: the run may have
// stopped before the answer took effect.
func (run *run) open() []langgraphapi.Native {
	natives := run.asked
	if run.afterKnown && len(natives) > 0 {
		nodes := run.after.nodes()
		for n := range natives {
			natives[n].Meta = run.after.addTo(natives[n].Meta, nodes[natives[n].ID])
		}
	}
	without := slices.ContainsFunc(natives, func(n langgraphapi.Native) bool { return n.ID == "" })
	unsaid := len(natives) == 0 && (run.endsTask || !run.hasUpdates && !(run.resumes && run.showsAnswered(run.after)))
	if run.afterKnown && (without || unsaid) {
		natives = run.after.natives()
	}
	if len(natives) == 0 && run.atStaticBreakpoint && run.afterKnown && len(run.after.next) > 0 {
		natives = []langgraphapi.Native{breakpointQuestion(run.after)}
	}
	return natives
}

// breakpointQuestion returns the question that Holdpoint asks at a static breakpoint.
func breakpointQuestion(s state) langgraphapi.Native {
	o := kit.Question{Reason: "langgraph:breakpoint", Message: textBreakpoint + strings.Join(s.next, ", ") + "?", Schema: kit.ApprovalSchema}
	return langgraphapi.Native{AnswerForm: breakpoint, Value: o.Object(), Meta: s.addTo([]byte("{}"), s.next[0])}
}

// paused adds the pause with the questions to res.
func (run *run) paused(res translate.Result, natives []langgraphapi.Native) translate.Result {
	run.markRivalCalls(natives)
	if run.aegra { // Aegra's stream does not show which tools run
		markUnseen(run.after, natives)
	}
	var calls []agui.Call
	if run.r.Transcript != nil {
		calls = run.r.Transcript.Calls()
	}
	res.Finish = agui.FinishedEvent(run.r.Input.ThreadID, run.r.Input.RunID)
	res.Asked = translate.AskedPause{
		Interrupts: langgraphapi.Publish(natives, calls, run.r.EndedPauses), KeepsFirstAnswer: true, CancelEnds: true,
		NativeEvents: announcedQuestions(natives), NativeFinish: slices.Clone(res.Finish.JSON),
	}
	tasks := run.trail.Outermosts()
	if run.resumes {
		tasks = append(tasks, run.kept.Tasks...)
	}
	res.Asked.Private = agui.MustMarshal(private{Natives: natives, Checkpoint: run.after.checkpoint, Tasks: tasks})
	return res
}

// markRivalCalls marks questions of tasks in which several calls ran at the same time. LangGraph
// may give the answer to another of these calls (langgraph issue 6533).
func (run *run) markRivalCalls(natives []langgraphapi.Native) {
	askedIn := map[string]int(nil)
	for _, calls := range run.trail.RivalCalls(func(task string) bool {
		return slices.Contains(run.kept.Tasks, langgraphapi.OutermostTask(task))
	}) {
		if askedIn == nil {
			askedIn = run.trail.IDs()
		}
		langgraphapi.Mark(natives, askedIn, calls)
	}
	for n := range natives {
		if run.trail.Full && natives[n].RivalCalls == nil {
			natives[n].RivalCalls = langgraphapi.ParallelCalls(nil)
		}
		for _, old := range run.kept.Natives {
			if natives[n].RivalCalls == nil && old.ID != "" && old.ID == natives[n].ID {
				natives[n].RivalCalls = old.RivalCalls
			}
		}
	}
}

// announcedQuestions returns the questions as CUSTOM on_interrupt events, as the AG-UI adapters
// send them. They are for clients that support only these events.
func announcedQuestions(natives []langgraphapi.Native) []json.RawMessage {
	var list []json.RawMessage
	for _, n := range natives {
		if n.AnswerForm == breakpoint {
			continue
		}
		text := string(n.Value)
		if v := gjson.ParseBytes(n.Value); v.Type == gjson.String {
			text = v.Str
		}
		raw := []byte{'{'}
		if n.ID != "" {
			raw = kit.AppendText(raw, "id", n.ID)
		}
		if len(n.Value) > 0 {
			raw = kit.AppendMember(raw, `"value"`, string(n.Value))
		}
		o := kit.AppendText([]byte(`{"type":"CUSTOM"`), "name", agui.OnInterrupt)
		o = kit.AppendText(o, "value", text)
		list = append(list, append(kit.AppendMember(o, `"rawEvent"`, string(append(raw, '}'))), '}'))
	}
	return list
}
