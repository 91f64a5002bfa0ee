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

// startNode is the step that shows, with Python's adapter, that a graph runs from its beginning.
const startNode = "__start__"

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. It holds the CUSTOM on_interrupt events until the end, because no
// client may learn of a question before it is saved. It counts all other events.
type run struct {
	d *Dialect
	r *translate.Request

	customs []json.RawMessage
	asked   kit.AskedQuestions // by them
	// These count what was seen, in all and after the first CUSTOM.
	steps, states, messages, others int
	statesAfter, messagesAfter      int

	trail    langgraphapi.Trail
	schemas  map[string]json.RawMessage // by the ids of questions, see learn
	answered []langgraphapi.Native      // on a resume: what the answers were for
	before   private                    // on a resume: what the pause kept
	again    *translate.Result          // the pause that made us ask once more, see askAgain
	stale    []langgraphapi.Native      // what was answered before we asked once more
	beside   []agui.Message             // and what came beside the answers

	// On a resume these say what became of the answers.
	placed bool // a task of the paused run goes on
	asking bool // the step that asked runs
	empty  bool // the last snapshot had no message of the person's, though the paused run's had
	lost   bool
	told   map[string]bool // which of the messages beside the answers the backend's snapshot has

	person        map[string]bool // ids of the person's messages, in an ordinary run that sent a snapshot
	spoke, silent bool            // a snapshot had one of them; there was a snapshot
}

// Event implements translate.Run. It looks into CUSTOM events, steps and RAW events, and on a
// resume into snapshots of the messages.
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
		run.asking = run.asking || step == run.before.asked()
	case agui.Raw:
		run.learn(ev)
		if task := run.trail.Raw(ev); task != "" && run.beganElsewhere(task) {
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

// Passes implements translate.Passer. Of most events the run only notes that there was one.
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

// endForgotten ends a resume that the backend took for a new run. The rest of that run is dropped.
// It runs without the conversation, and its snapshot would delete the client's.
func (run *run) endForgotten() error {
	run.lost = true
	return agui.Errorf(agui.BackendLostInterrupt, textForgotten)
}

// beganElsewhere reports whether a resume began with a task that the paused run did not have. task
// is the first one that the resume shows. A graph that goes on begins with unfinished tasks, so all
// of them were there before. A graph that runs from its beginning, on a new thread or from an
// earlier point of this one, has other tasks.
func (run *run) beganElsewhere(task string) bool {
	if run.answered == nil || run.placed || len(run.before.Tasks) == 0 {
		return false
	}
	run.placed = slices.Contains(run.before.Tasks, langgraphapi.Outermost(task))
	return !run.placed
}

// snapshot looks into a MESSAGES_SNAPSHOT. It returns true if the snapshot may be that of a graph
// which runs from its beginning, and no RAW events tell. Such a run begins with the step that the
// paused run began with. Its snapshot has no message of the person's, though the paused run's had
// some (create_agent, RAN 0.0.42 and 0.0.43 after a restart). It would delete the client's
// conversation, so it is held back. A graph that asked in its first step, took the answer and then
// replaced the conversation looks the same. The end says what became of the answer.
func (run *run) snapshot(ev agui.Event) bool {
	if run.answered == nil {
		run.hears(ev)
		return false
	}
	held := map[string]bool{}
	for _, m := range ev.Get("messages").Array() {
		held[m.Get("id").Str] = true
	}
	for _, m := range run.r.New {
		if m.ID != "" && held[m.ID] {
			if run.told == nil {
				run.told = map[string]bool{}
			}
			run.told[m.ID] = true
		}
	}
	person := false
	for _, s := range run.r.Pause.Seen {
		if s.ID == "" || s.Digest == "" { // only what a person said has a digest
			continue
		}
		if person = true; held[s.ID] {
			run.spoke, run.empty = true, false
			return false
		}
	}
	run.silent = run.silent || person
	run.empty = person && !run.placed && !run.before.Silent && len(run.trail.First) > 0 && string(run.trail.First) == run.before.First
	return run.empty
}

// hears notes whether a snapshot of an ordinary run has a message of the person's.
func (run *run) hears(ev agui.Event) {
	if run.person == nil {
		run.person = map[string]bool{}
		for _, m := range run.r.Input.Messages {
			if m.Role == "user" && m.ID != "" {
				run.person[m.ID] = true
			}
		}
	}
	run.silent = len(run.person) > 0
	if run.silent && !run.spoke {
		agui.View(ev.JSON).Get("messages").ForEach(func(_, m gjson.Result) bool {
			run.spoke = run.person[m.Get("id").Str]
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
	case run.again != nil:
		return *run.again, nil // asking once more was our own idea; the question stands as it was
	default:
		// What was held is dropped. Nobody can answer what a failed run asked, and the backend asks
		// again.
		return translate.Result{Finish: e.Event}, nil
	}
	natives := run.natives(e.Event)
	switch {
	case run.empty && !run.asking:
		return translate.Result{Fate: translate.Lost}, nil // the step that asked has not run since
	case len(natives) == 0 && run.empty:
		return translate.Result{Fate: translate.InDoubt}, nil
	case len(natives) == 0:
		return run.endFinished(e.Event), nil
	}
	natives = run.withoutStale(natives)
	run.tangle(natives)
	res := run.paused(natives, e.Event)
	if out, ok := run.askAgain(natives, e.Event); ok {
		next := run.d.plainRun(run.r)
		next.again, next.stale, next.before, next.beside = &res, run.answered, keptOf(res.Asked.Pause(Name)), run.r.New
		return translate.Result{Next: &translate.Exchange{Out: out, Run: next}}, nil
	}
	return res, nil
}

// askAgain reports whether to ask the backend again what it waits for, and how. Python's adapter
// up to 0.0.42 reports only the first task's interrupt at the end of a run. After its answer it
// reports the same one again, for ever, while another one waits unseen. A run without an answer
// reports all of them and executes nothing. (RAN 0.0.42: A; then A again; a run without an answer:
// A and B.) The dialect asks only such an adapter. It knows it by the order of its events: only
// there do snapshots follow the CUSTOM event. It asks only if every question is one that was just
// answered. A graph that asks the same again on purpose loses nothing by it: it says the same.
func (run *run) askAgain(natives []langgraphapi.Native, finish agui.Event) (translate.Out, bool) {
	if run.answered == nil || run.statesAfter == 0 || run.messagesAfter == 0 || finish.Get("outcome").Exists() {
		return translate.Out{}, false
	}
	for _, n := range natives {
		repeats := func(a langgraphapi.Native) bool {
			return a.Way == langgraphapi.ByID && a.ID == n.ID && agui.EqualJSON(a.Value, n.Value)
		}
		if !slices.ContainsFunc(run.answered, repeats) {
			return translate.Out{}, false
		}
	}
	// If an adapter gets fewer messages than its checkpoint has, it begins anew.
	messages, ok := kit.KnownMessages(run.r)
	if !ok {
		return translate.Out{}, false
	}
	return translate.Out{Body: kit.Unanswered(run.r.Input, messages)}, true
}

// withoutStale leaves out the questions that were answered just before the backend was asked again.
// A finished task's interrupt stays in the state beside the open ones (langgraph.md, section
// 1, fact 10). If the graph did ask one of them anew, the next run reports it.
func (run *run) withoutStale(natives []langgraphapi.Native) []langgraphapi.Native {
	if run.again == nil {
		return natives
	}
	var open []langgraphapi.Native
	for _, n := range natives {
		if !slices.ContainsFunc(run.stale, func(a langgraphapi.Native) bool { return a.ID == n.ID && agui.EqualJSON(a.Value, n.Value) }) {
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

// paused returns the result of a run that asks.
func (run *run) paused(natives []langgraphapi.Native, finish agui.Event) translate.Result {
	var calls []agui.Call
	if run.r.Transcript != nil {
		calls = run.r.Transcript.Calls()
	}
	// It is sticky, because LangGraph keeps the first value that a task was resumed with and
	// replays it (RAN 0.0.42 and 0.0.43, e2e TestDirectFirstAnswerSticks).
	asked := translate.AskedPause{
		Interrupts: langgraphapi.Publish(natives, calls, run.r.Ended), Own: run.announcements(natives), Sticky: true, FirstAsked: run.asksFirst(natives),
	}
	kept := run.pauseState(natives)
	kept.Array = run.takesArray(finish)
	asked.Private = agui.MustMarshal(kept)
	asked.OwnFinish = slices.Clone(finish.JSON)
	if !finish.Valid() {
		// An opaque end cannot be told to the client. What was asked is known all the same.
		finish = agui.NewEvent(agui.MustMarshal(map[string]string{
			"type": string(agui.RunFinished), "threadId": run.r.Input.ThreadID, "runId": run.r.Input.RunID,
		}))
		asked.OwnFinish = finish.JSON
	}
	return translate.Result{Finish: kit.WithoutOutcome(finish), Asked: asked, Untaken: run.untaken()}
}

// onlyAsks reports whether an ordinary run showed nothing but questions. Then the adapter told what
// is open and ran nothing.
func (run *run) onlyAsks() bool {
	return run.answered == nil && run.steps+run.states+run.messages+run.others == 0
}

// asksFirst reports whether the graph ran to questions that have no ids. An adapter runs no graph
// while a question is open: it tells the question again, without a step (RAN, all versions). So
// these are questions of new tasks, and LangGraph keeps no answer to them. Where there are ids,
// they tell the tasks.
func (run *run) asksFirst(natives []langgraphapi.Native) bool {
	withID := func(n langgraphapi.Native) bool { return n.ID != "" }
	return run.answered == nil && run.again == nil && run.steps > 0 && !slices.ContainsFunc(natives, withID)
}

// untaken returns the messages that the backend did not take. A run that only asks again executes
// nothing and sends no snapshot, and drops what came with it (RAN, all versions). Only the person's
// last words may be new. The backend knows the words that began the thread, or it would not wait.
// If it had some of the others too, its next snapshot tells.
func (run *run) untaken() []agui.Message {
	if run.again != nil || !run.onlyAsks() {
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

// endFinished returns the result of a run that ended without asking. It is the backend's own end,
// and then an exchange for what came beside the answers.
func (run *run) endFinished(finish agui.Event) translate.Result {
	if len(run.beside) > 0 { // nothing was open any more when we asked once more
		r := run.r.With(run.r.Input, run.beside)
		return translate.Result{Finish: finish, Next: &translate.Exchange{Out: kit.NewMessages(r), Run: run.d.plainRun(r)}}
	}
	if run.answered == nil {
		return translate.Result{Finish: finish}
	}
	// A graph that took an answer has run at least the node that asked. The adapters show every
	// node as a step (RAN, all versions), unless the client chose another streamMode. If nothing
	// waited for an answer, they send snapshots alone (RAN Python 0.0.42 and 0.0.43). Then somebody
	// resumed the thread, or went on with it, past Holdpoint.
	chosen := gjson.GetBytes(run.r.Input.ForwardedProps, "streamMode").Exists()
	if run.steps == 0 && run.others == 0 && run.states > 0 && run.messages > 0 && !chosen {
		return translate.Result{Fate: translate.Lost}
	}
	res := translate.Result{Finish: finish}
	left := slices.DeleteFunc(slices.Clone(run.r.New), func(m agui.Message) bool { return run.told[m.ID] })
	if len(left) > 0 {
		r := run.r.With(run.r.Input, left)
		res.Next = &translate.Exchange{Out: kit.NewMessages(r), Run: run.d.plainRun(r)}
	}
	return res
}

// announcements returns the backend's own events for what is told, without those for stale
// questions.
func (run *run) announcements(natives []langgraphapi.Native) []json.RawMessage {
	if run.again == nil {
		return run.customs
	}
	return slices.DeleteFunc(slices.Clone(run.customs), func(c json.RawMessage) bool {
		own := readCustom(c)
		return !slices.ContainsFunc(natives, func(n langgraphapi.Native) bool { return n.ID == own.ID && agui.EqualJSON(n.Value, own.Value) })
	})
}

// pauseState returns what the pause keeps for its resume. If a run only asked again, the rest stays
// as it was.
func (run *run) pauseState(natives []langgraphapi.Native) private {
	k := private{Natives: natives, First: run.before.First, Last: string(run.trail.Last), Tasks: run.trail.Outermosts(), Silent: run.silent && !run.spoke}
	if k.First == "" {
		k.First = string(run.trail.First)
	}
	if run.steps == 0 && len(run.trail.Tasks) == 0 {
		k.Last, k.Tasks, k.Silent = run.before.Last, run.before.Tasks, run.before.Silent
	}
	if k.Last == k.First {
		k.Last = ""
	}
	return k
}
