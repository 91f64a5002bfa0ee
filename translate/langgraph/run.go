package langgraph

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// startNode is the step by which Python's adapter shows that a graph runs from its beginning.
const startNode = "__start__"

// A run translates one exchange. It holds the CUSTOM on_interrupt events until the end, because no client may learn of
// a question before it is saved, and counts what else there was.
type run struct {
	d *Dialect
	r translate.Request

	customs []json.RawMessage
	// What was seen, and what of it after the first CUSTOM.
	steps, states, messages, others int
	statesAfter, messagesAfter      int

	first    string            // the first step
	answered []native          // on a resume: what the answers were for
	before   private           // on a resume: what the pause kept
	again    *translate.Result // the pause that made us ask once more, see askAgain
	stale    []native          // what was answered before we asked once more
	beside   []agui.Message    // and what came beside the answers
	lost     bool
}

// Event implements translate.Run. Only CUSTOM events and the first step of a resume are looked into.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	switch ev.Type {
	case agui.Custom:
		switch translate.Announced(ev) {
		case translate.LangGraph, translate.Unsigned:
			if json.Valid(ev.JSON) {
				run.customs = append(run.customs, slices.Clone(ev.JSON))
				return nil
			}
		}
		run.others++
	case agui.StepStarted:
		run.steps++
		if run.steps > 1 {
			break
		}
		run.first = ev.Get("stepName").Str
		if run.answered != nil && run.others == 0 && run.first == startNode {
			return run.forgotten()
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
		if run.answered != nil && run.beganAnew(ev) {
			return run.forgotten()
		}
	case agui.RunStarted, agui.StepFinished, agui.Raw:
	default:
		run.others++
	}
	emit(ev)
	return nil
}

// Passes implements translate.Passer. What there was counts on a resume only, and there only whether there was any.
func (run *run) Passes(t agui.Type) bool {
	switch t {
	case agui.Custom:
		return false
	case agui.StepStarted:
		return run.steps > 0
	case agui.RunStarted, agui.StepFinished, agui.Raw:
		return true
	}
	if run.answered == nil {
		return true
	}
	switch t {
	case agui.StateSnapshot:
		return run.states > 0 && (run.customs == nil || run.statesAfter > 0)
	case agui.MessagesSnapshot:
		return false
	}
	return run.others > 0
}

// forgotten ends a resume that the backend took for a new run. Nothing more of it is wanted: it runs without the
// conversation, and its snapshot would delete the client's.
func (run *run) forgotten() error {
	run.lost = true
	return agui.Errorf(agui.BackendLostInterrupt, "the backend does not know the thread any more and began anew")
}

// beganAnew says whether a snapshot on a resume shows that the graph runs from its beginning though no __start__ told
// so, as a graph whose START has a plain edge does (create_agent, RAN 0.0.42 and 0.0.43 after a restart): it begins
// with the step that the paused run began with, and knows no message of the person's. Graphs may trim their messages;
// the person's last one goes last, and a resume that really goes on begins elsewhere.
func (run *run) beganAnew(snapshot agui.Event) bool {
	if run.first == "" || run.before.First != run.first {
		return false // or the pause's own run was not seen: then a thread without the conversation may be as it should
	}
	held := map[string]bool{}
	for _, m := range snapshot.Get("messages").Array() {
		held[m.Get("id").Str] = true
	}
	person := false
	for _, s := range run.r.Pause.Seen {
		if s.ID == "" || s.Digest == "" { // only what a person said has a digest
			continue
		}
		if held[s.ID] {
			return false
		}
		person = true
	}
	return person
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	switch {
	case run.lost:
		return translate.Result{Lost: true}, nil
	case e.Event.Type == agui.RunFinished:
	case run.again != nil:
		return *run.again, nil // asking once more was our own idea; the question stands as it was
	default:
		// What was held goes: nothing that a failed run asked can be answered, and the backend asks again.
		return translate.Result{Finish: e.Event}, nil
	}
	natives := run.natives(e.Event)
	if len(natives) == 0 {
		return run.finished(e.Event), nil
	}
	natives = run.withoutStale(natives)
	res := run.paused(natives, e.Event)
	if out, ok := run.askAgain(natives, e.Event); ok {
		next := run.d.plainRun(&run.r)
		next.again, next.stale, next.first, next.before, next.beside = &res, run.answered, run.first, run.before, run.r.New
		return translate.Result{Next: &translate.Exchange{Out: out, Run: next}}, nil
	}
	return res, nil
}

// askAgain says whether the backend is to be asked once more what it waits for, and how. Python's adapter up to 0.0.42
// reports only the first task's interrupt at the end of a run, and after its answer the same one once more, for ever,
// while another waits unseen; a run without an answer reports all of them and executes nothing (RAN 0.0.42: A; then A
// again; a run without an answer: A and B). Asked is only such an adapter, known by the order of its events (snapshots
// after the CUSTOM event, as in no later one), and only where every question is one that was just answered. A graph
// that asks the same again on purpose is asked for nothing: it says the same.
func (run *run) askAgain(natives []native, finish agui.Event) (translate.Out, bool) {
	if run.answered == nil || run.statesAfter == 0 || run.messagesAfter == 0 || finish.Get("outcome").Exists() {
		return translate.Out{}, false
	}
	for _, n := range natives {
		repeats := func(a native) bool { return a.Way == byID && a.ID == n.ID && equalJSON(a.Value, n.Value) }
		if !slices.ContainsFunc(run.answered, repeats) {
			return translate.Out{}, false
		}
	}
	// With fewer messages than its checkpoint has, an adapter would begin anew.
	messages, ok := translate.KnownMessages(run.r)
	if !ok {
		return translate.Out{}, false
	}
	return translate.Out{Body: translate.Unanswered(run.r.Input, messages)}, true
}

// withoutStale leaves out, of what the backend says when it is asked once more, the questions that were answered just
// before: a finished task's interrupt stays in the state beside the open ones (langgraph.md, section 1, fact 10). If
// one of them was asked anew all the same, the next run reports it.
func (run *run) withoutStale(natives []native) []native {
	if run.again == nil {
		return natives
	}
	var open []native
	for _, n := range natives {
		if !slices.ContainsFunc(run.stale, func(a native) bool { return a.ID == n.ID && equalJSON(a.Value, n.Value) }) {
			open = append(open, n)
		}
	}
	if len(open) == 0 {
		return natives
	}
	return open
}

func (run *run) natives(finish agui.Event) []native {
	var customs, outcome []native
	for _, c := range run.customs {
		customs = append(customs, readCustom(c, run.d.nsIDs))
	}
	if finish.Valid() && json.Valid(finish.JSON) {
		outcome = readOutcome(finish)
	}
	return union(customs, outcome)
}

// paused is the result of a run that asks.
func (run *run) paused(natives []native, finish agui.Event) translate.Result {
	var calls []agui.Call
	if run.r.Transcript != nil {
		calls = run.r.Transcript.Calls()
	}
	// Sticky: LangGraph keeps the first value that a task was resumed with and replays it (RAN 0.0.42 and 0.0.43,
	// e2e TestDirectFirstAnswerSticks).
	p := agui.Pause{Dialect: Name, Interrupts: publish(natives, calls), Native: run.announced(natives), Sticky: true}
	p.Private = agui.MustMarshal(private{Natives: natives, First: run.beginning()})
	p.NativeFinish = slices.Clone(finish.JSON)
	if !finish.Valid() {
		// Opaque, so it cannot be what the client is told. What was asked is known all the same.
		finish = agui.NewEvent(agui.MustMarshal(map[string]string{
			"type": string(agui.RunFinished), "threadId": run.r.Input.ThreadID, "runId": run.r.Input.RunID,
		}))
		p.NativeFinish = finish.JSON
	}
	return translate.Result{Finish: translate.WithoutOutcome(finish), Pause: p}
}

// finished is the result of a run that ended without asking: the backend's own end, then what came beside the answers.
func (run *run) finished(finish agui.Event) translate.Result {
	if len(run.beside) > 0 { // nothing was open any more when we asked once more
		r := run.r
		r.New = run.beside
		return translate.Result{Finish: finish, Next: &translate.Exchange{Out: translate.NewMessages(r), Run: run.d.plainRun(&r)}}
	}
	if run.answered == nil {
		return translate.Result{Finish: finish}
	}
	// A graph that took an answer has run at least the node that asked, and the adapters show every node as a step
	// (RAN, all versions), unless the client chose another streamMode. Snapshots alone are what they send where nothing
	// waited for an answer (RAN Python 0.0.42 and 0.0.43): the thread was resumed, or taken on, behind our back.
	chosen := gjson.GetBytes(run.r.Input.ForwardedProps, "streamMode").Exists()
	if run.steps == 0 && run.others == 0 && run.states > 0 && run.messages > 0 && !chosen {
		return translate.Result{Lost: true}
	}
	res := translate.Result{Finish: finish}
	if len(run.r.New) > 0 {
		res.Next = &translate.Exchange{Out: translate.NewMessages(run.r), Run: run.d.plainRun(&run.r)}
	}
	return res
}

// announced are the backend's own events for what is told, without those for what is stale.
func (run *run) announced(natives []native) []json.RawMessage {
	if run.again == nil {
		return run.customs
	}
	return slices.DeleteFunc(slices.Clone(run.customs), func(c json.RawMessage) bool {
		own := readCustom(c, run.d.nsIDs)
		return !slices.ContainsFunc(natives, func(n native) bool { return n.ID == own.ID && equalJSON(n.Value, own.Value) })
	})
}

// beginning is the step that the thread's run began with: of a resumed run the paused one's.
func (run *run) beginning() string {
	if run.before.First != "" {
		return run.before.First
	}
	return run.first
}

// private is what a pause keeps for its resume.
type private struct {
	Natives []native `json:"natives"`
	First   string   `json:"first,omitempty"` // the step that the run began with
}

// keptOf is what the pause keeps; zero where another dialect made it.
func keptOf(p agui.Pause) private {
	var kept private
	if json.Unmarshal(p.Private, &kept) != nil {
		return private{}
	}
	return kept
}
