package calls

import "holdpoint/internal/agui"

// A resultSender sends the answers of a resume to the client, as results of the calls that asked. A
// client made for the backend has its answers in its own history, as tool messages. Any other
// client needs them as results. Otherwise a later run would contain a call without a result.
//
// A backend that runs the call sends a result of its own. So the sender waits until the run sends
// another event, and then sends the answer if no result has come. The zero value sends nothing.
type resultSender struct {
	answered *AnsweredCalls
	waiting  map[string]bool // ids of the calls whose answers were not sent yet
}

// beforeEvent must be called for every event that is not terminal, before the event is emitted.
func (t *resultSender) beforeEvent(ev agui.Event, emit func(agui.Event)) {
	if len(t.waiting) == 0 {
		return
	}
	switch ev.Type {
	case agui.CallResult:
		delete(t.waiting, ev.Get("toolCallId").Str)
	case agui.CallStart, agui.CallChunk:
		c := agui.Call{ID: ev.Get("toolCallId").Str, Parent: ev.Get("parentMessageId").Str}
		if !t.waiting[c.ID] || !t.answered.IsRepeated(c) {
			t.sendAll(emit)
		}
	// a backend's own result would precede these events
	case agui.TextStart, agui.TextChunk, agui.MessagesSnapshot:
		t.sendAll(emit)
	}
}

func (t *resultSender) sendAll(emit func(agui.Event)) {
	for _, one := range t.unsentAnswers() {
		emit(one)
	}
}

// passes reports whether beforeEvent does nothing for events of this type.
func (t *resultSender) passes(of agui.Type) bool {
	if len(t.waiting) == 0 {
		return true
	}
	switch of {
	case agui.CallResult, agui.CallStart, agui.CallChunk, agui.TextStart, agui.TextChunk, agui.MessagesSnapshot:
		return false
	}
	return true
}

// unsentAnswers returns the answers that were not sent yet. After it no answer is left to send.
func (t *resultSender) unsentAnswers() []agui.Event {
	if len(t.waiting) == 0 {
		return nil
	}
	var list []agui.Event
	for _, one := range t.answered.Replies {
		if t.waiting[one.Call] {
			list = append(list, one.Event())
		}
	}
	t.waiting = nil
	return list
}
