package plaincalls

import (
	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A Teller tells the client the answers of a resume as results of the calls that asked. The
// backend's own client would have the answering messages in its history. Told as results, they are
// in this client's history too, so no later run brings a call without its result.
//
// A backend that runs the call itself tells a result of its own. So an answer waits until the run
// says something else. The zero value tells nothing.
type Teller struct {
	resume  Resume
	waiting map[string]bool // by their calls
}

// NewTeller begins before the first event of the run.
func NewTeller(r Resume) Teller { return Teller{r, kit.CallsOf(r.Replies)} }

// Before is called for every event but the terminal one, before it is emitted.
func (t *Teller) Before(ev agui.Event, emit func(agui.Event)) {
	if len(t.waiting) == 0 {
		return
	}
	switch ev.Type {
	case agui.CallResult:
		delete(t.waiting, ev.Get("toolCallId").Str)
	case agui.CallStart, agui.CallChunk:
		if call := ev.Get("toolCallId").Str; !t.waiting[call] || !t.resume.Again(call, ev.Get("parentMessageId").Str) {
			t.tell(emit)
		}
	case agui.TextStart, agui.TextChunk, agui.MessagesSnapshot: // which has the answer, if the backend keeps it
		t.tell(emit)
	}
}

func (t *Teller) tell(emit func(agui.Event)) {
	for _, one := range t.Rest() {
		emit(one)
	}
}

// Passes says whether Before would do nothing for an event of the type.
func (t *Teller) Passes(of agui.Type) bool {
	if len(t.waiting) == 0 {
		return true
	}
	switch of {
	case agui.CallResult, agui.CallStart, agui.CallChunk, agui.TextStart, agui.TextChunk, agui.MessagesSnapshot:
		return false
	}
	return true
}

// Rest are the answers that were not told when the run ended.
func (t *Teller) Rest() []agui.Event {
	var list []agui.Event
	for _, one := range t.resume.Replies {
		if t.waiting[one.Call] {
			list = append(list, one.Event())
		}
	}
	t.waiting = nil
	return list
}
