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

	answered []native          // on a resume: what the answers were for
	again    *translate.Result // the pause that made us ask once more, see askAgain
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
		if run.answered != nil && run.steps == 1 && run.others == 0 && ev.Get("stepName").Str == startNode {
			run.lost = true
			return agui.Errorf(agui.BackendLostInterrupt, "the backend does not know the thread any more and began anew")
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
	case agui.RunStarted, agui.StepFinished, agui.Raw:
	default:
		run.others++
	}
	emit(ev)
	return nil
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
	res := run.paused(natives, e.Event)
	if out, ok := run.askAgain(natives, e.Event); ok {
		next := run.d.plainRun(run.r)
		next.again = &res
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
	messages, ok := knownMessages(run.r)
	if !ok {
		return translate.Out{}, false
	}
	return translate.Out{Body: unanswered(run.r.Input, messages)}, true
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
	p := agui.Pause{Dialect: Name, Interrupts: publish(natives, calls), Native: run.customs}
	p.Private = agui.MustMarshal(private{natives})
	p.NativeFinish = slices.Clone(finish.JSON)
	if !finish.Valid() {
		// Opaque, so it cannot be what the client is told. What was asked is known all the same.
		finish = agui.NewEvent(agui.MustMarshal(map[string]string{
			"type": string(agui.RunFinished), "threadId": run.r.Input.ThreadID, "runId": run.r.Input.RunID,
		}))
		p.NativeFinish = finish.JSON
	}
	finish = finish.Clone()
	if finish.Get("outcome").Exists() {
		finish = finish.With(agui.DeleteKey(finish.JSON, "outcome"))
	}
	return translate.Result{Finish: finish, Pause: p}
}

// finished is the result of a run that ended without asking: the backend's own end, then what came beside the answers.
func (run *run) finished(finish agui.Event) translate.Result {
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
		res.Next = &translate.Exchange{Out: run.d.newMessages(run.r), Run: run.d.plainRun(run.r)}
	}
	return res
}

// private is what a pause keeps for its resume.
type private struct {
	Natives []native `json:"natives"`
}
