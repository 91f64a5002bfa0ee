package agentframework

import (
	"encoding/json"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// What the model says of approved calls comes behind their results for the client too: those that the backend tells late
// or not at all are told at the end of the run, and providers take a history only with each result directly behind its
// call. Where the backend tells its results first, as it mostly does, nothing waits.

// behind is emit for what has to come behind the results.
func (a *answered) behind(emit func(agui.Event)) func(agui.Event) {
	return func(ev agui.Event) {
		switch {
		case ev.Type == agui.RunStarted, ev.Type == agui.CallResult && a.replied(ev.Get("toolCallId").Str):
			emit(ev)
		case !a.waits():
			a.release(emit)
			emit(ev)
		case len(a.late) == 0 && !speaks(ev.Type):
			emit(ev)
		default:
			a.late = append(a.late, ev.Clone())
			a.lateSize += len(ev.JSON)
			a.hasty = a.lateSize > maxHeld
		}
	}
}

// release lets go what waited.
func (a *answered) release(emit func(agui.Event)) {
	for _, ev := range a.late {
		emit(ev)
	}
	a.late = nil
}

// waits says whether a result is still to come.
func (a *answered) waits() bool {
	return !a.hasty && slices.ContainsFunc(a.resumption.replies, func(r reply) bool {
		_, done := a.told[r.Call]
		return r.Kind == approval && r.yes && !r.Hosted && !done && a.tells(r)
	})
}

func (a *answered) replied(call string) bool {
	return slices.ContainsFunc(a.resumption.replies, func(r reply) bool { return r.Call == call })
}

// speaks says whether events of the type begin something that a client keeps in its history.
func speaks(t agui.Type) bool {
	switch t {
	case agui.TextStart, agui.TextChunk, agui.CallStart, agui.CallChunk, agui.ReasoningStart:
		return true
	}
	return false
}

// Clients keep the order of the messages that they have. The messages that one sent beside its answers stand between the
// call and its result there, where no provider takes them: they go, and come again behind it.

// withoutBeside is a snapshot without the messages that came beside the answers, and withBeside one with them at the end
// and with more before them; false if there are none, or the client's messages are not known.
func withoutBeside(r translate.Request, beside []agui.Message) (agui.Event, bool) {
	first, last := parted(r, beside)
	return messagesEvent(first), len(last) > 0
}

func withBeside(r translate.Request, beside, more []agui.Message) agui.Event {
	first, last := parted(r, beside)
	return messagesEvent(slices.Concat(first, more, last))
}

func parted(r translate.Request, beside []agui.Message) (first, last []agui.Message) {
	if r.Transcript == nil || len(beside) == 0 {
		return nil, nil
	}
	list, ok := r.Transcript.Messages()
	if !ok {
		return nil, nil
	}
	for _, raw := range list {
		m := agui.ParseMessage(raw)
		if slices.ContainsFunc(beside, func(b agui.Message) bool { return agui.See(b) == agui.See(m) }) {
			last = append(last, m)
		} else {
			first = append(first, m)
		}
	}
	return first, last
}

func messagesEvent(list []agui.Message) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type     agui.Type       `json:"type"`
		Messages json.RawMessage `json:"messages"`
	}{agui.MessagesSnapshot, agui.MessageList(list)}))
}
