package langgraph

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/langgraphapi"
	"holdpoint/translate/kit"
)

// startNode is the step with which Python's adapter begins a graph that runs from its beginning.
const startNode = "__start__"

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. It holds the CUSTOM on_interrupt events back until the end of the
// run, because no client may see a question before it is saved. It forwards and counts all other
// events.
type run struct {
	d *Dialect
	r *translate.Request

	customs []json.RawMessage
	asked   kit.AskedQuestions // limits the number and size of the customs
	// The numbers of events of each type. statesAfter and messagesAfter count those after the first
	// CUSTOM.
	steps, states, messages, others int
	statesAfter, messagesAfter      int

	trail         langgraphapi.TaskTrace
	schemas       map[string]json.RawMessage // keyed by the ids of questions, see learn
	answered      []langgraphapi.Native      // on a resume: the questions that the answers are for
	previousPause private                    // on a resume: the state of the pause
	againResult   *translate.Result          // the result to return if askAgain's run adds nothing
	justAnswered  []langgraphapi.Native      // in the run of askAgain: the questions answered before it
	// extraMessages are, in the run of askAgain, the new messages that the client sent with its
	// answers.
	extraMessages []agui.Message

	// These fields show, on a resume, whether the backend acted on the answers.
	continues         bool // a task of the paused run continues
	reachedAskingStep bool // the step that asked runs again
	lacksPerson       bool // the last snapshot had no message of the user, but the paused run's had
	lost              bool
	// shownMessages are the ids of the client's new messages that a snapshot of the backend has.
	shownMessages map[string]bool

	personIDs map[string]bool // ids of the user's messages, in an ordinary run with a snapshot
	// spoke reports that a snapshot had a message of personIDs. silent reports that there was a
	// snapshot, and that personIDs is not empty.
	spoke, silent bool
}

// Event implements translate.Run. It reads CUSTOM, STEP_STARTED and RAW events. On a resume it also
// reads snapshots of the messages.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	switch ev.Type {
	case agui.Custom:
		switch kit.Announced(ev) {
		case kit.LangGraph, kit.Unsigned:
			if json.Valid(ev.JSON) {
				if err := run.asked.Add(len(ev.JSON)); err != nil {
					return err
				}
				run.customs = append(run.customs, slices.Clone(ev.JSON))
				return nil
			}
		}
		run.others++
	case agui.StepStarted:
		run.steps++
		step := agui.View(ev.JSON).Get("stepName").Str
		run.trail.Step(step)
		if run.answered != nil && run.steps == 1 && run.others == 0 && step == startNode {
			return run.endForgotten()
		}
		run.reachedAskingStep = run.reachedAskingStep || step == run.previousPause.askingStep()
	case agui.Raw:
		kind := langgraphapi.KindOf(ev)
		run.readSchemas(kind, ev)
		if task := run.trail.Raw(kind, ev); task != "" && run.beganElsewhere(task) {
			return run.endForgotten()
		}
	case agui.StateSnapshot:
		run.states++
		if run.customs != nil {
			run.statesAfter++
		}
	case agui.MessagesSnapshot:
		run.messages++
		if run.customs != nil {
			run.messagesAfter++
		}
		if run.snapshot(ev) {
			return nil
		}
	case agui.RunStarted, agui.StepFinished:
	default:
		run.others++
	}
	emit(ev)
	return nil
}

// Passes implements translate.Passer. Of most types, the run must only know whether there was an
// event, so further events of these types pass unread.
func (run *run) Passes(t agui.Type) bool {
	switch t {
	case agui.Custom, agui.StepStarted, agui.Raw, agui.MessagesSnapshot:
		return false
	case agui.RunStarted, agui.StepFinished:
		return true
	case agui.StateSnapshot:
		return run.states > 0 && (run.customs == nil || run.statesAfter > 0)
	}
	return run.others > 0
}

// endForgotten ends a resume that the backend treated as a new run. The other events of that run
// are dropped, because it runs without the conversation. Its snapshot would delete the conversation
// that the client shows.
func (run *run) endForgotten() error {
	run.lost = true
	return agui.Errorf(agui.BackendLostInterrupt, textForgotten)
}

// beganElsewhere reports whether a resume began with a task that the paused run did not have. task
// is the first task of the resume. A graph that continues begins with its unfinished tasks, which
// were all in the paused run. A graph that runs from its beginning, on a new thread or from an
// earlier checkpoint, has other tasks.
func (run *run) beganElsewhere(task string) bool {
	if run.answered == nil || run.continues || len(run.previousPause.Tasks) == 0 {
		return false
	}
	run.continues = slices.Contains(run.previousPause.Tasks, langgraphapi.OutermostTask(task))
	return !run.continues
}

// snapshot reads a MESSAGES_SNAPSHOT. It returns true if the snapshot must be held back, because
// the graph may run from its beginning and no RAW events show its tasks. Such a run begins with the
// same step as the paused run, and its snapshot has no message of the user, although the paused
// run's snapshot had some (create_agent, RAN 0.0.42 and 0.0.43 after a restart). The client would
// delete its conversation if it got that snapshot. But the stream is the same if a graph asked in
// its first step, accepted the answer and then replaced the conversation. The method End decides
// between the two.
func (run *run) snapshot(ev agui.Event) bool {
	if run.answered == nil {
		run.noteSnapshot(ev)
		return false
	}
	held := map[string]bool{}
	for _, m := range ev.Get("messages").Array() {
		held[m.Get("id").Str] = true
	}
	for _, m := range run.r.NewMessages {
		if m.ID != "" && held[m.ID] {
			if run.shownMessages == nil {
				run.shownMessages = map[string]bool{}
			}
			run.shownMessages[m.ID] = true
		}
	}
	person := false
	for _, s := range run.r.Pause.SeenMessages {
		if s.ID == "" || s.Digest == "" { // only messages of the user have a digest
			continue
		}
		if person = true; held[s.ID] {
			run.spoke, run.lacksPerson = true, false
			return false
		}
	}
	run.silent = run.silent || person
	run.lacksPerson = person && !run.continues && !run.previousPause.WithoutPerson && len(run.trail.First) > 0 && string(run.trail.First) == run.previousPause.First
	return run.lacksPerson
}

// noteSnapshot notes whether a snapshot of an ordinary run has a message of the user.
func (run *run) noteSnapshot(ev agui.Event) {
	if run.personIDs == nil {
		run.personIDs = map[string]bool{}
		for _, m := range run.r.Input.Messages {
			if m.Role == "user" && m.ID != "" {
				run.personIDs[m.ID] = true
			}
		}
	}
	run.silent = len(run.personIDs) > 0
	if run.silent && !run.spoke {
		agui.View(ev.JSON).Get("messages").ForEach(func(_, m gjson.Result) bool {
			run.spoke = run.personIDs[m.Get("id").Str]
			return !run.spoke
		})
	}
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	switch {
	case run.lost:
		return translate.Result{Fate: translate.Lost}, nil
	case e.Event.Type == agui.RunFinished:
	case run.againResult != nil:
		// Holdpoint itself started the run of askAgain, so its failure leaves the question
		// unchanged.
		return *run.againResult, nil
	default:
		// The held events are dropped. The questions of a failed run cannot be answered, and the
		// backend asks them again in the next run.
		return translate.Result{Finish: e.Event}, nil
	}
	natives := run.natives(e.Event)
	switch {
	case run.lacksPerson && !run.reachedAskingStep:
		return translate.Result{Fate: translate.Lost}, nil // the step that asked has not run again
	case len(natives) == 0 && run.lacksPerson:
		return translate.Result{Fate: translate.InDoubt}, nil
	case len(natives) == 0:
		return run.endFinished(e.Event), nil
	}
	natives = run.withoutStale(natives)
	run.markRivalCalls(natives)
	res := run.paused(natives, e.Event)
	if out, ok := run.askAgain(natives, e.Event); ok {
		next := run.d.plainRun(run.r)
		next.againResult, next.justAnswered, next.previousPause, next.extraMessages = &res, run.answered, keptOf(res.Asked.Pause(Name)), run.r.NewMessages
		return translate.Result{Next: &translate.Exchange{Out: out, Run: next}}, nil
	}
	return res, nil
}

// askAgain returns a request that asks the backend again which questions are open, and reports
// whether to send it. At the end of a run, Python's adapter up to 0.0.42 reports only the interrupt
// of the first task. After the client has answered it, the adapter reports the same interrupt
// forever, and never the interrupt of the second task. A run without an answer reports all open
// interrupts and runs nothing (RAN 0.0.42: A; then A again; a run without an answer: A and B).
// askAgain recognizes this adapter by the order of its events: only in its stream do snapshots
// follow the CUSTOM event. askAgain asks only if every reported question was just answered. If a
// graph repeated a question on purpose, the additional run reports it again, and the client gets
// it.
func (run *run) askAgain(natives []langgraphapi.Native, finish agui.Event) (translate.Out, bool) {
	if run.answered == nil || run.statesAfter == 0 || run.messagesAfter == 0 || finish.Get("outcome").Exists() {
		return translate.Out{}, false
	}
	for _, n := range natives {
		repeats := func(a langgraphapi.Native) bool {
			return a.AnswerForm == langgraphapi.ByID && a.ID == n.ID && agui.EqualJSON(a.Value, n.Value)
		}
		if !slices.ContainsFunc(run.answered, repeats) {
			return translate.Out{}, false
		}
	}
	// An adapter that gets fewer messages than its checkpoint has begins a new run.
	messages, ok := kit.KnownMessages(run.r)
	if !ok {
		return translate.Out{}, false
	}
	return translate.Out{Body: kit.WithoutAnswers(run.r.Input, messages)}, true
}

// withoutStale removes the questions that were just answered from the questions that the run of
// askAgain reported. LangGraph keeps the interrupt of a finished task in the state, together with
// the open ones (langgraph.md, section 1, fact 10). If the graph really asked one of them again,
// the next run reports it.
func (run *run) withoutStale(natives []langgraphapi.Native) []langgraphapi.Native {
	if run.againResult == nil {
		return natives
	}
	var open []langgraphapi.Native
	for _, n := range natives {
		if !slices.ContainsFunc(run.justAnswered, func(a langgraphapi.Native) bool { return a.ID == n.ID && agui.EqualJSON(a.Value, n.Value) }) {
			open = append(open, n)
		}
	}
	if len(open) == 0 {
		return natives
	}
	return open
}

func (run *run) natives(finish agui.Event) []langgraphapi.Native {
	var customs, outcome []langgraphapi.Native
	for _, c := range run.customs {
		customs = append(customs, readCustom(c))
	}
	if finish.Valid() && json.Valid(finish.JSON) {
		outcome = readOutcome(finish)
	}
	list := union(customs, outcome)
	for i := range list {
		if n := &list[i]; n.Schema == nil {
			n.Schema = run.schemas[n.ID]
		}
	}
	return list
}

// paused returns the result of a run that asks a question.
func (run *run) paused(natives []langgraphapi.Native, finish agui.Event) translate.Result {
	var calls []agui.Call
	if run.r.Transcript != nil {
		calls = run.r.Transcript.Calls()
	}
	// KeepsFirstAnswer is true because LangGraph keeps the first value that a task was resumed with
	// and replays it (RAN 0.0.42 and 0.0.43, e2e TestDirectFirstAnswerSticks).
	asked := translate.AskedPause{
		Interrupts: langgraphapi.Publish(natives, calls, run.r.EndedPauses), NativeEvents: run.announcements(natives), KeepsFirstAnswer: true, FirstAsked: run.asksFirst(natives),
	}
	kept := run.pauseState(natives)
	kept.Array = run.takesArray(finish)
	asked.Private = agui.MustMarshal(kept)
	asked.NativeFinish = slices.Clone(finish.JSON)
	if !finish.Valid() {
		// Holdpoint cannot send the client an end event that is not valid JSON, so it writes a new
		// one. The questions are known nevertheless.
		finish = agui.NewEvent(agui.MustMarshal(map[string]string{
			"type": string(agui.RunFinished), "threadId": run.r.Input.ThreadID, "runId": run.r.Input.RunID,
		}))
		asked.NativeFinish = finish.JSON
	}
	return translate.Result{Finish: kit.WithoutOutcome(finish), Asked: asked, UnacceptedMessages: run.unreadMessages()}
}

// onlyAsks reports whether the stream of an ordinary run has only questions. In such a run the
// adapter repeated its open questions and ran nothing.
func (run *run) onlyAsks() bool {
	return run.answered == nil && run.steps+run.states+run.messages+run.others == 0
}

// asksFirst reports whether an ordinary run of the graph reached questions without ids. While a
// question is open, an adapter does not run the graph: it repeats the question without a step (RAN,
// all versions). So questions after a step are of new tasks, for which LangGraph keeps no earlier
// answer. Questions with ids need no such check, because their ids identify their tasks.
func (run *run) asksFirst(natives []langgraphapi.Native) bool {
	withID := func(n langgraphapi.Native) bool { return n.ID != "" }
	return run.answered == nil && run.againResult == nil && run.steps > 0 && !slices.ContainsFunc(natives, withID)
}

// unreadMessages returns the messages of the request that the backend did not read. If a run only
// repeats questions, the backend runs nothing, sends no snapshot, and drops the messages of the
// request (RAN, all versions). Only the user messages at the end of the request may be new. If all
// messages of the request are user messages, the backend has at least the first, because it began
// the thread. If the backend has more of them, its next snapshot shows them.
func (run *run) unreadMessages() []agui.Message {
	if run.againResult != nil || !run.onlyAsks() {
		return nil
	}
	list := run.r.Input.Messages
	from := len(list)
	for from > 0 && list[from-1].Role == "user" {
		from--
	}
	if from == 0 && len(list) > 0 {
		from = 1
	}
	return list[from:]
}

// endFinished returns the result of a run that ended without a question. If the client sent new
// messages with its answers, the result's Next is an exchange that sends them.
func (run *run) endFinished(finish agui.Event) translate.Result {
	if len(run.extraMessages) > 0 { // the run of askAgain reported no open question
		r := run.r.With(run.r.Input, run.extraMessages)
		return translate.Result{Finish: finish, Next: &translate.Exchange{Out: kit.NewMessages(r), Run: run.d.plainRun(r)}}
	}
	if run.answered == nil {
		return translate.Result{Finish: finish}
	}
	// A graph that accepts an answer runs at least the node that asked. The adapters send a step
	// for every node (RAN, all versions), unless the client chose another streamMode. If no
	// question was open, they send only snapshots (RAN Python 0.0.42 and 0.0.43). So a stream of
	// only snapshots means that somebody resumed or continued the thread without Holdpoint.
	chosen := gjson.GetBytes(run.r.Input.ForwardedProps, "streamMode").Exists()
	if run.steps == 0 && run.others == 0 && run.states > 0 && run.messages > 0 && !chosen {
		return translate.Result{Fate: translate.Lost}
	}
	res := translate.Result{Finish: finish}
	left := slices.DeleteFunc(slices.Clone(run.r.NewMessages), func(m agui.Message) bool { return run.shownMessages[m.ID] })
	if len(left) > 0 {
		r := run.r.With(run.r.Input, left)
		res.Next = &translate.Exchange{Out: kit.NewMessages(r), Run: run.d.plainRun(r)}
	}
	return res
}

// announcements returns the backend's CUSTOM events for the questions in natives. It leaves out the
// events for questions that withoutStale removed.
func (run *run) announcements(natives []langgraphapi.Native) []json.RawMessage {
	if run.againResult == nil {
		return run.customs
	}
	return slices.DeleteFunc(slices.Clone(run.customs), func(c json.RawMessage) bool {
		own := readCustom(c)
		return !slices.ContainsFunc(natives, func(n langgraphapi.Native) bool { return n.ID == own.ID && agui.EqualJSON(n.Value, own.Value) })
	})
}

// pauseState returns the dialect's state of the new pause. If the run only repeated questions, its
// stream shows no steps or tasks, so pauseState copies those of the previous pause.
func (run *run) pauseState(natives []langgraphapi.Native) private {
	k := private{Natives: natives, First: run.previousPause.First, Last: string(run.trail.Last), Tasks: run.trail.Outermosts(), WithoutPerson: run.silent && !run.spoke}
	if k.First == "" {
		k.First = string(run.trail.First)
	}
	if run.steps == 0 && len(run.trail.Tasks) == 0 {
		k.Last, k.Tasks, k.WithoutPerson = run.previousPause.Last, run.previousPause.Tasks, run.previousPause.WithoutPerson
	}
	if k.Last == k.First {
		k.Last = ""
	}
	return k
}
