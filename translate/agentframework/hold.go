package agentframework

import (
	"cmp"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/microsoft"
)

// maxHeld bounds the bytes of all held calls together. When a call exceeds the bound, its events
// are sent to the client, and it counts as a call that does not ask.
const maxHeld = 1 << 20

// A heldCall is a call that the framework may have made up to ask a question. Its events are held
// until its TOOL_CALL_END. All other events are forwarded meanwhile.
type heldCall struct {
	call agui.Call
	half rune // see agui.AppendPiece, for call.Args
}

// hold begins to hold a call if the framework may have made it up to ask a question. It returns
// false if the call is not held. A call of a tool that the request declares is the client's own,
// and is never held.
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

// remove takes the call h out of the held calls, and returns the events that were held for it.
func (run *run) remove(h *heldCall) []agui.Event {
	run.held = slices.DeleteFunc(run.held, func(other *heldCall) bool { return other == h })
	return run.events.Release(h)
}

// handleHeld handles a TOOL_CALL_ARGS or TOOL_CALL_END event. It returns true if the caller must
// not forward the event now, because the event belongs to a held call, or is a TOOL_CALL_END
// without its TOOL_CALL_START.
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
		h.call.Args = string(agui.AppendPiece([]byte(h.call.Args), agui.View(ev.JSON).Get("delta").Raw, &h.half))
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

// isOpen reports whether the call has begun and not ended. Its TOOL_CALL_START may have been
// forwarded before Holdpoint recognized the dialect.
func (run *run) isOpen(id string) bool {
	if run.openCalls.holds(id) {
		return true
	}
	if c := run.transcriptCall(id); c != nil {
		return !c.Ended
	}
	// the TOOL_CALL_START was forwarded, and the TOOL_CALL_END has not come
	return run.hasPassed(id)
}

// isOpenAlready reports whether the TOOL_CALL_START is for a call that is already open. If a call
// of the client precedes a call that needs an approval, 1.7.0 sends the start and the end of the
// client's call twice (RAN). Clients fail at the second start, so it must be dropped.
func (run *run) isOpenAlready(start agui.Event) bool {
	return len(run.openCalls.ids) > 0 && start.Valid() && run.openCalls.holds(agui.View(start.JSON).Get("toolCallId").String())
}

// release forwards the events of a held call that turned out not to ask.
func (run *run) release(h *heldCall, emit func(agui.Event)) {
	for _, ev := range run.remove(h) {
		run.pass(ev, emit)
	}
}

// addQuestion notes the question of a call that the framework made up. If a confirm_changes call is
// about a call that already waits for an approval, both become one question.
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

// settleLone decides about a TOOL_CALL_END that came without its TOOL_CALL_START. If the parameter
// next is the approval request for the same call, it drops the TOOL_CALL_END; otherwise it forwards
// it. Every version sends such an end before the approval request for a call that it did not stream
// (tellCall sends that call). 1.0.0rc8 and later also send it before the approval request for a
// call that the client has.
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

// tellCall sends the client a call that waits for an approval but was not streamed, because the
// model's provider runs it.
func (run *run) tellCall(a ask, emit func(agui.Event)) {
	run.pass(agui.MakeEvent(agui.CallStart, "toolCallId", a.Call, "toolCallName", a.Name), emit)
	run.pass(agui.MakeEvent(agui.CallArgs, "toolCallId", a.Call, "delta", a.arguments()), emit)
	run.pass(agui.MakeEvent(agui.CallEnd, "toolCallId", a.Call), emit)
}

// synthetic reports whether a call in a history is a confirm_changes call that the framework made
// up. Its arguments show this.
func synthetic(c agui.Call) bool {
	if c.Name != microsoft.ConfirmChanges {
		return false
	}
	a, ok := readCall(c)
	return ok && a.Call != ""
}
