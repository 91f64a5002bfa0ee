package agentframework

import (
	"cmp"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/microsoft"
)

// maxHeld bounds the bytes of all held calls together. If there are more, the call that exceeds the
// bound is released and asks nothing.
const maxHeld = 1 << 20

// A heldCall is a call that may be synthetic. Its events wait for its END, and all other events
// pass.
type heldCall struct{ call agui.Call }

// hold begins to hold a call if it may be synthetic. A tool that the request declares is the
// client's own and is never held.
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

// remove takes a call out of the held calls and returns its events.
func (run *run) remove(h *heldCall) []agui.Event {
	run.held = slices.DeleteFunc(run.held, func(other *heldCall) bool { return other == h })
	return run.events.Release(h)
}

// handleHeld handles an ARGS or END event. It reports whether the event belongs to a held call, or
// is an END without START, and so must not be passed on now.
func (run *run) handleHeld(ev agui.Event, emit func(agui.Event)) bool {
	if len(run.held) == 0 && ev.Type == agui.CallArgs || !ev.Valid() {
		return false
	}
	id := agui.View(ev.JSON).Get("toolCallId").String()
	at := slices.IndexFunc(run.held, func(h *heldCall) bool { return h.call.ID == id })
	if at < 0 {
		if ev.Type != agui.CallEnd || run.isOpen(id) {
			return false
		}
		if c := run.transcriptCall(id); c != nil && c.StreamedInRun && c.Ended {
			return true
		}
		run.loneEnd = ev.Clone()
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
	run.addQuestion(a)
	size := 0
	for _, ev := range run.remove(h) {
		size += len(ev.JSON)
		run.drop(ev)
	}
	run.tooMany = cmp.Or(run.tooMany, run.asking.Add(size))
	return true
}

// isOpen reports whether a call has begun and not ended. Its START may have passed before Holdpoint
// recognized the dialect.
func (run *run) isOpen(id string) bool {
	if run.openCalls.holds(id) {
		return true
	}
	if c := run.transcriptCall(id); c != nil {
		return !c.Ended
	}
	return run.hasPassed(id) // its START has passed, and its END has not been seen
}

// isOpenAlready reports whether a START is of a call that is already open. If a call of the client
// precedes a call that needs an approval, 1.7.0 sends the START and END of the client's call twice
// (RAN), and clients fail at the second START.
func (run *run) isOpenAlready(start agui.Event) bool {
	return len(run.openCalls.ids) > 0 && start.Valid() && run.openCalls.holds(agui.View(start.JSON).Get("toolCallId").String())
}

// release passes the events of a held call on, because it does not ask.
func (run *run) release(h *heldCall, emit func(agui.Event)) {
	for _, ev := range run.remove(h) {
		run.pass(ev, emit)
	}
}

// addQuestion notes the question of a synthetic call. A confirm_changes call about an approval
// becomes part of the approval.
func (run *run) addQuestion(a ask) {
	run.removedCalls[a.ID] = true
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

// settleLone passes an END without START on, or drops it if the next event is an approval of its
// call. Every version sends such an END before the approval of a call that it did not stream
// (tellCall sends that call), and 1.0.0rc8 and later also before the approval of a call that the
// client has.
func (run *run) settleLone(next agui.Event, emit func(agui.Event)) {
	if run.loneEnd.Type == agui.Unknown {
		return
	}
	end := run.loneEnd
	run.loneEnd = agui.Event{}
	if a, ok := readCustom(next); !ok || a.Kind != approval || a.Call != end.Get("toolCallId").Str {
		run.pass(end, emit)
	}
}

// tellCall sends the client a call that is to be approved but was not streamed, because the model's
// provider runs it.
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

// synthetic reports whether a call in a history is a confirm_changes call of the framework, by its
// arguments.
func synthetic(c agui.Call) bool {
	if c.Name != microsoft.ConfirmChanges {
		return false
	}
	a, ok := readCall(c)
	return ok && a.Call != ""
}
