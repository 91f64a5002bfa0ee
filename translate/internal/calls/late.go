package calls

import "holdpoint/internal/agui"

// A teller tells the client the answers of a resume as results of the calls that asked. The
// backend's own client would have the answering messages in its history. Told as results, they are
// in this client's history too, so no later run brings a call without its result.
//
// A backend that runs the call itself tells a result of its own. So an answer waits until the run
// says something else. The zero value tells nothing.
type teller struct {
	answered *AnsweredCalls
	waiting  map[string]bool // by their calls
}

// beforeEvent is called for every event but the terminal one, before it is emitted.
func (t *teller) beforeEvent(ev agui.Event, emit func(agui.Event)) {
	if len(t.waiting) == 0 {
		return
	}
	switch ev.Type {
	case agui.CallResult:
		delete(t.waiting, ev.Get("toolCallId").Str)
	case agui.CallStart, agui.CallChunk:
		c := agui.Call{ID: ev.Get("toolCallId").Str, Parent: ev.Get("parentMessageId").Str}
		if !t.waiting[c.ID] || !t.answered.Again(c) {
			t.tell(emit)
		}
	case agui.TextStart, agui.TextChunk, agui.MessagesSnapshot: // which has the answer, if the backend keeps it
		t.tell(emit)
	}
}

func (t *teller) tell(emit func(agui.Event)) {
	for _, one := range t.rest() {
		emit(one)
	}
}

// passes reports whether before would do nothing for an event of the type.
func (t *teller) passes(of agui.Type) bool {
	if len(t.waiting) == 0 {
		return true
	}
	switch of {
	case agui.CallResult, agui.CallStart, agui.CallChunk, agui.TextStart, agui.TextChunk, agui.MessagesSnapshot:
		return false
	}
	return true
}

// rest returns the answers that were not told when the run ended.
func (t *teller) rest() []agui.Event {
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
