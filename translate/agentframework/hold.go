package agentframework

import (
	"cmp"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/microsoft"
)

// maxHeld bounds what is held of all calls together. One that goes beyond it asks nothing.
const maxHeld = 1 << 20

// heldCall is a call that may be synthetic: its events wait for its end, all others flow on.
type heldCall struct{ call agui.Call }

// hold begins to hold a call. A tool that the request declares is the client's own.
func (run *run) hold(ev agui.Event) bool {
	call := agui.View(ev.JSON)
	name, id := call.Get("toolCallName").String(), call.Get("toolCallId").String()
	if id == "" || !mayAsk(name) || run.r.Input.Declares(name) || run.events.Full() || !ev.Valid() {
		return false
	}
	h := &heldCall{call: agui.Call{ID: strings.Clone(id), Name: strings.Clone(name)}}
	run.held = append(run.held, h)
	run.events.Add(h, ev)
	return true
}

// remove takes a call from those that are held, and returns its events.
func (run *run) remove(h *heldCall) []agui.Event {
	run.held = slices.DeleteFunc(run.held, func(other *heldCall) bool { return other == h })
	return run.events.Release(h)
}

// holding takes the next event of a held call, or an END whose START never came.
func (run *run) holding(ev agui.Event, emit func(agui.Event)) bool {
	if len(run.held) == 0 && ev.Type == agui.CallArgs || !ev.Valid() {
		return false
	}
	id := agui.View(ev.JSON).Get("toolCallId").String()
	at := slices.IndexFunc(run.held, func(h *heldCall) bool { return h.call.ID == id })
	if at < 0 {
		if ev.Type != agui.CallEnd || run.isOpen(id) {
			return false
		}
		if c := run.transcriptCall(id); c != nil && c.Fresh && c.Ended {
			return true
		}
		run.lone = ev.Clone()
		return true
	}
	h := run.held[at]
	run.events.Add(h, ev)
	if ev.Type == agui.CallArgs {
		h.call.Args += ev.Get("delta").Str
		if run.events.Full() {
			run.release(h, emit)
		}
		return true
	}
	a, ok := readCall(h.call)
	if !ok {
		run.release(h, emit)
		return true
	}
	run.take(a)
	size := 0
	for _, ev := range run.remove(h) {
		size += len(ev.JSON)
		run.drop(ev)
	}
	run.tooMany = cmp.Or(run.tooMany, run.asking.Add(size))
	return true
}

// isOpen reports whether a call was begun and not ended. Its START may have passed before the
// stream was found to be ours.
func (run *run) isOpen(id string) bool {
	if run.begun.holds(id) {
		return true
	}
	if c := run.transcriptCall(id); c != nil {
		return !c.Ended
	}
	return run.passed(id) // it waits
}

// repeats reports whether a START is of a call that is open. If a call of the client precedes one
// that wants an approval, 1.7.0 tells the START and the END of the client's call twice (RAN), and
// clients fail at the second START.
func (run *run) repeats(start agui.Event) bool {
	return len(run.begun.ids) > 0 && start.Valid() && run.begun.holds(agui.View(start.JSON).Get("toolCallId").String())
}

// release lets a held call go: it asks nothing.
func (run *run) release(h *heldCall, emit func(agui.Event)) {
	for _, ev := range run.remove(h) {
		run.pass(ev, emit)
	}
}

// take notes what a synthetic call asks. The confirm_changes of an approval is part of it.
func (run *run) take(a ask) {
	run.gone[a.ID] = true
	if a.Kind == confirm {
		for i := range run.asks {
			if of := &run.asks[i]; of.Kind == approval && of.Call == a.Call && of.Confirm == "" {
				of.Confirm = a.Confirm
				return
			}
		}
	}
	if run.asked(a.ID) == nil {
		run.ask(a)
	}
}

// settleLone decides on an END whose START never came, by the event that follows. Before an
// approval it says nothing that a client could take: 1.0.0rc8 and later ask so about a call that
// the client has, and every version about one that it has not, see tellCall.
func (run *run) settleLone(next agui.Event, emit func(agui.Event)) {
	if run.lone.Type == agui.Unknown {
		return
	}
	end := run.lone
	run.lone = agui.Event{}
	if a, ok := readCustom(next); !ok || a.Kind != approval || a.Call != end.Get("toolCallId").Str {
		run.pass(end, emit)
	}
}

// tellCall tells a call that is asked about and was never streamed, for the model's provider is to
// run it.
func (run *run) tellCall(a ask, emit func(agui.Event)) {
	for _, event := range []any{
		struct {
			Type agui.Type `json:"type"`
			ID   string    `json:"toolCallId"`
			Name string    `json:"toolCallName"`
		}{agui.CallStart, a.Call, a.Name},
		struct {
			Type  agui.Type `json:"type"`
			ID    string    `json:"toolCallId"`
			Delta string    `json:"delta"`
		}{agui.CallArgs, a.Call, a.arguments()},
		struct {
			Type agui.Type `json:"type"`
			ID   string    `json:"toolCallId"`
		}{agui.CallEnd, a.Call},
	} {
		run.pass(agui.NewEvent(agui.MustMarshal(event)), emit)
	}
}

// synthetic reports whether a call in a history is one of confirm_changes by its arguments.
func synthetic(c agui.Call) bool {
	if c.Name != microsoft.ConfirmChanges {
		return false
	}
	a, ok := readCall(c)
	return ok && a.Call != ""
}
