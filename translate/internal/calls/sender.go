package calls

import "holdpoint/internal/agui"

// A resultSender sends the answers of a resume to the client, as results of the calls that asked.
// The backend's own client would have the answering messages in its history. As results they are in
// this client's history too, so no later run contains a call without its result.
//
// A backend that runs the call sends a result of its own. So an answer waits until the run sends
// something else. The zero value sends nothing.
type resultSender struct {
	answered *AnsweredCalls
	waiting  map[string]bool // the calls whose answers are not sent yet
}

// beforeEvent is called for every event that is not terminal, before the event is emitted.
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
	case agui.TextStart, agui.TextChunk, agui.MessagesSnapshot: // these follow the result, if the backend sends one
		t.sendAll(emit)
	}
}

func (t *resultSender) sendAll(emit func(agui.Event)) {
	for _, one := range t.unsentAnswers() {
		emit(one)
	}
}

// passes reports whether beforeEvent would do nothing for an event of the type.
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

// unsentAnswers returns the answers that are not sent yet, and marks them as sent.
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
