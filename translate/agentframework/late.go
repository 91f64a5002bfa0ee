package agentframework

import (
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// What the model says of approved calls comes behind their results for the client too: those that
// the backend tells late or not at all are told at the end of the run, and providers take a history
// only with each result directly behind its call. Where the backend tells its results first, as it
// mostly does, nothing waits.

// emitBehindResults is emit for what has to come behind the results; emit itself where all have
// come.
func (a *answeredExchange) emitBehindResults(emit func(agui.Event)) func(agui.Event) {
	if len(a.late) == 0 && !a.waits() {
		return emit
	}
	a.direct = emit
	if a.ordered == nil {
		a.ordered = a.order // made once, not for every event
	}
	return a.ordered
}

// order gives the client an event now, or keeps it.
func (a *answeredExchange) order(ev agui.Event) {
	switch {
	case ev.Type == agui.RunStarted, ev.Type == agui.CallResult && a.replied(ev.Get("toolCallId").Str):
		a.direct(ev)
	case !a.waits():
		a.release(a.direct)
		a.direct(ev)
	case len(a.late) == 0 && !speaks(ev.Type):
		a.direct(ev)
	default:
		a.late = append(a.late, ev.Clone())
		a.lateSize += len(ev.JSON)
		a.hasty = a.lateSize > maxHeld
	}
}

// passes reports whether an event of the type, RUN_STARTED and results apart, would neither be what
// the answers are told before nor have to wait behind them.
func (a *answeredExchange) passes(t agui.Type) bool {
	return a.streamed && len(a.late) == 0 && (!speaks(t) || !a.waits())
}

// release lets go what waited.
func (a *answeredExchange) release(emit func(agui.Event)) {
	for _, ev := range a.late {
		emit(ev)
	}
	a.late = nil
}

// waits reports whether a result is still to come.
func (a *answeredExchange) waits() bool {
	return !a.hasty && slices.ContainsFunc(a.resumption.replies, a.untold)
}

func (a *answeredExchange) replied(call string) bool {
	return slices.ContainsFunc(a.resumption.replies, func(r reply) bool { return r.Call == call })
}

// speaks reports whether events of the type begin something that a client keeps in its history.
func speaks(t agui.Type) bool {
	switch t {
	case agui.TextStart, agui.TextChunk, agui.CallStart, agui.CallChunk, agui.ReasoningStart:
		return true
	}
	return false
}

// Clients keep the order of the messages that they have. The messages that one sent beside its
// answers stand between the call and its result there, where no provider takes them: they go, and
// come again behind it.

// sortedBeside emits what the run has still to tell, and such snapshots around it; only that if
// there is nothing to sort, or the client's messages are not known.
func sortedBeside(r *translate.Request, beside []agui.Message, tell []agui.Event, emit func(agui.Event)) {
	first, last := parted(r, beside)
	told, ok := foldMessages(tell)
	ok = ok && len(last) > 0
	if ok {
		emit(messagesEvent(first))
	}
	for _, ev := range tell {
		emit(ev)
	}
	if ok {
		emit(messagesEvent(slices.Concat(first, told, last)))
	}
}

// untaken reports whether messages stand before results for good: those beside the answers of a run
// that failed.
func (a *answeredExchange) untaken(res translate.Result) bool {
	failed := res.Fate == translate.Lost || res.Fate == translate.InDoubt || res.Finish.Type == agui.RunErrored && res.Fate != translate.Untouched
	return failed && res.Next == nil && len(a.r.New) > 0 && len(a.told) > 0
}

// sortedAtEnd returns what a run has still to tell, with such snapshots around it.
func sortedAtEnd(r *translate.Request, tell []agui.Event) (list []agui.Event) {
	if len(tell) > 0 && tell[0].Type == agui.RunStarted {
		list, tell = tell[:1:1], tell[1:]
	}
	sortedBeside(r, r.New, tell, func(ev agui.Event) { list = append(list, ev) })
	return list
}

// tellHistory tells a client that sent fewer messages than it was shown, the calls with the
// questions not among them, what its conversation is: the results would have no call there.
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
		if _, there := has[r.Call]; !there && r.Call != "" && a.tells(r) {
			var all []agui.Message
			for _, m := range list {
				all = append(all, agui.ParseMessage(m))
			}
			emit(messagesEvent(all))
			return
		}
	}
}

// foldMessages returns the messages that events make: results and words. false if there is anything
// else in them.
func foldMessages(events []agui.Event) (list []agui.Message, ok bool) {
	type words struct {
		id   string
		at   int // in list
		text strings.Builder
	}
	var all []*words
	for _, ev := range events {
		id := ev.Get("messageId").Str
		switch ev.Type {
		case agui.CallResult:
			list = append(list, toldResult{id, ev.Get("content").String()}.message(ev.Get("toolCallId").Str))
		case agui.TextStart:
			all = append(all, &words{id: id, at: len(list)})
			list = append(list, agui.Message{})
		case agui.TextContent:
			if len(all) == 0 || all[len(all)-1].id != id {
				return nil, false
			}
			all[len(all)-1].text.WriteString(ev.Get("delta").Str)
		case agui.TextEnd, agui.RunStarted:
		default:
			return nil, false
		}
	}
	for _, w := range all {
		object := agui.SetString([]byte(`{"role":"assistant"}`), "content", w.text.String())
		list[w.at] = agui.ParseMessage(agui.SetString(object, "id", w.id))
	}
	return list, true
}

func parted(r *translate.Request, beside []agui.Message) (first, last []agui.Message) {
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

// messagesEvent returns a snapshot of messages that a client wrote in whatever layout.
func messagesEvent(list []agui.Message) agui.Event {
	return agui.SnapshotEvent(agui.AppendCompact(nil, agui.MessageList(list)))
}
