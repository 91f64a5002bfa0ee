package agentframework

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// Providers accept a history only if each result directly follows its call. So the client must get
// the results of approved calls before the model's text about them. The backend sends some results
// late, or not at all. Holdpoint sends those at the end of the run. Most results arrive first, so
// usually no event must be held.

// emitBehindResults returns the emit function for events that must follow the results of approved
// calls. It returns emit itself if no result is missing.
func (a *answeredExchange) emitBehindResults(emit func(agui.Event)) func(agui.Event) {
	if len(a.waitingEvents) == 0 && !a.awaitsResult() {
		return emit
	}
	a.direct = emit
	if a.ordered == nil {
		a.ordered = a.order // so that it is not made for every event
	}
	return a.ordered
}

// order sends the event to the client at once, or holds it until release is called.
func (a *answeredExchange) order(ev agui.Event) {
	switch {
	case ev.Type == agui.RunStarted, ev.Type == agui.CallResult && a.answersCall(ev.Get("toolCallId").Str):
		a.direct(ev)
	case !a.awaitsResult():
		a.release(a.direct)
		a.direct(ev)
	case len(a.waitingEvents) == 0 && !beginsMessage(ev.Type):
		a.direct(ev)
	default:
		a.waitingEvents = append(a.waitingEvents, ev.Clone())
		a.lateSize += len(ev.JSON)
		a.stopsWaiting = a.lateSize > maxHeld
	}
}

// passes reports whether order would send an event of type t at once, and tellDenied has no result
// to send before it. It must not be called for RUN_STARTED and TOOL_CALL_RESULT.
func (a *answeredExchange) passes(t agui.Type) bool {
	return a.hasContent && len(a.waitingEvents) == 0 && (!beginsMessage(t) || !a.awaitsResult())
}

// release sends the events that order holds.
func (a *answeredExchange) release(emit func(agui.Event)) {
	for _, ev := range a.waitingEvents {
		emit(ev)
	}
	a.waitingEvents = nil
}

// awaitsResult reports whether the result of an approved call is still missing.
func (a *answeredExchange) awaitsResult() bool {
	return !a.stopsWaiting && slices.ContainsFunc(a.resumption.replies, a.missingResult)
}

func (a *answeredExchange) answersCall(call string) bool {
	return slices.ContainsFunc(a.resumption.replies, func(r reply) bool { return r.Call == call })
}

// beginsMessage reports whether events of the type begin a message or call that a client keeps in
// its history.
func beginsMessage(t agui.Type) bool {
	switch t {
	case agui.TextStart, agui.TextChunk, agui.CallStart, agui.CallChunk, agui.ReasoningStart:
		return true
	}
	return false
}

// Clients keep the order of their messages. If a message was sent together with the answers, a
// client has it between the call and its result, and providers do not accept this order. So
// Holdpoint sends a snapshot without the message before the result, and a snapshot with the message
// after it.

// emitSorted emits the events in tell. Before and after them it emits a snapshot, and these move
// the messages in extraMessages behind the results. It emits only tell if extraMessages is empty,
// or if it does not know the client's messages.
func emitSorted(r *translate.Request, extraMessages []agui.Message, tell []agui.Event, emit func(agui.Event)) {
	first, last := splitMessages(r, extraMessages)
	told, ok := foldMessages(tell)
	ok = ok && len(last) > 0
	if ok {
		emit(agui.MessagesEvent(first))
	}
	for _, ev := range tell {
		emit(ev)
	}
	if ok {
		emit(agui.MessagesEvent(slices.Concat(first, told, last)))
	}
}

// strandsMessages reports whether new messages of this request would stay between a call and its
// result at the client. That is so if the run failed, and no later exchange moves them.
func (a *answeredExchange) strandsMessages(res translate.Result) bool {
	failed := res.Fate == translate.Lost || res.Fate == translate.InDoubt || res.Finish.Type == agui.RunErrored && res.Fate != translate.Untouched
	return failed && res.Next == nil && len(a.r.NewMessages) > 0 && len(a.sent) > 0
}

// sortedAtEnd returns the events in tell, with the two snapshots of emitSorted around them. If tell
// begins with RUN_STARTED, that event stays first.
func sortedAtEnd(r *translate.Request, tell []agui.Event) (list []agui.Event) {
	if len(tell) > 0 && tell[0].Type == agui.RunStarted {
		list, tell = tell[:1:1], tell[1:]
	}
	emitSorted(r, r.NewMessages, tell, func(ev agui.Event) { list = append(list, ev) })
	return list
}

// tellHistory sends a snapshot of the conversation to a client that lacks the calls of the
// questions, because it sent fewer messages than it had been shown. Without the snapshot the client
// would have results without their calls.
func (a *answeredExchange) tellHistory(emit func(agui.Event)) {
	if a.historyTold || a.r.Transcript == nil {
		return
	}
	a.historyTold = true
	list, ok := a.r.Transcript.Messages()
	if !ok {
		return
	}
	has := lastCalls(a.r.Input.Messages)
	for _, r := range a.resumption.replies {
		if _, there := has[r.Call]; !there && r.Call != "" && a.clientHasCall(r) {
			var all []agui.Message
			for _, m := range list {
				all = append(all, agui.ParseMessage(m))
			}
			emit(agui.MessagesEvent(all))
			return
		}
	}
}

// foldMessages returns the messages that the events make. The events must be results and texts:
// foldMessages returns false if there is any other event.
func foldMessages(events []agui.Event) (list []agui.Message, ok bool) {
	type words struct {
		id   string
		at   int // index in list
		text []byte
		half rune // see agui.AppendPiece
	}
	var all []*words
	for _, ev := range events {
		id := ev.Get("messageId").Str
		switch ev.Type {
		case agui.CallResult:
			list = append(list, sentResult{id, ev.Get("content").String()}.message(ev.Get("toolCallId").Str))
		case agui.TextStart:
			all = append(all, &words{id: id, at: len(list)})
			list = append(list, agui.Message{})
		case agui.TextContent:
			if len(all) == 0 || all[len(all)-1].id != id {
				return nil, false
			}
			w := all[len(all)-1]
			w.text = agui.AppendPiece(w.text, agui.View(ev.JSON).Get("delta").Raw, &w.half)
		case agui.TextEnd, agui.RunStarted:
		default:
			return nil, false
		}
	}
	for _, w := range all {
		object := agui.SetString([]byte(`{"role":"assistant"}`), "content", string(w.text))
		list[w.at] = agui.ParseMessage(agui.SetString(object, "id", w.id))
	}
	return list, true
}

func splitMessages(r *translate.Request, extraMessages []agui.Message) (first, last []agui.Message) {
	if r.Transcript == nil || len(extraMessages) == 0 {
		return nil, nil
	}
	list, ok := r.Transcript.Messages()
	if !ok {
		return nil, nil
	}
	for _, raw := range list {
		m := agui.ParseMessage(raw)
		if slices.ContainsFunc(extraMessages, func(b agui.Message) bool { return agui.NewSeenMessage(b) == agui.NewSeenMessage(m) }) {
			last = append(last, m)
		} else {
			first = append(first, m)
		}
	}
	return first, last
}
