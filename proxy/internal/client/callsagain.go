package client

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// Some clients show a question only if its call streams in the same run, and ignore snapshots. When
// Holdpoint sends a question or an end to such a client again, it also streams the events that the
// client lacks. The client's request shows which these are.

// CallsAgain returns the events of the calls that open questions are about and that the request
// lacks. They are for a stream that sends the questions again to a client which ignores snapshots.
// The parameter known has the calls of the stream. If the request has no message of the
// conversation, it does not show what the client lacks, so CallsAgain returns nil.
func (l Listener) CallsAgain(p *agui.Pause, known *KnownCalls) []agui.Event {
	if l.showsNativeForm() || l.Line.TakesSnapshots() || !l.BringsConversation(p) {
		return nil
	}
	holds := map[string]bool{}
	// not ClientMessages, which may have results that the client made up
	for n := range l.In.Messages {
		if m := &l.In.Messages[n]; mayCall(m) {
			addCalls(holds, m)
		}
	}
	if l.Show == translate.ShowBoth {
		for _, own := range p.Native {
			holds[agui.View(own).Get("toolCallId").Str] = true
		}
	}
	var events []agui.Event
	open := p.Undecided()
	for n := range open.Interrupts {
		i := &open.Interrupts[n]
		call, is := namedCall(i)
		if c := known.clientLacks[call.ID]; !is || i.CallUnseen || holds[call.ID] || c != nil && c.begun {
			continue
		}
		holds[call.ID] = true
		events = append(events, callEvents(agui.Call{ID: call.ID, Name: call.Name, Args: call.Args})...)
	}
	return events
}

// LacksEnd reports whether the recorded end of a resume must be streamed to the client message by
// message. This is necessary if the client ignores the messages in snapshots. It is done only if
// the request names the question by an id that cannot be guessed.
func (l Listener) LacksEnd(result *store.Result) bool {
	return !l.showsNativeForm() && !l.Line.TakesSnapshots() && result.Pause != nil && l.namesPublished(result.Pause)
}

// namesPublished reports whether the request names a question of the pause by its published id,
// which has a random part that Holdpoint made.
func (l Listener) namesPublished(p *agui.Pause) bool {
	indexed := p.Indexed()
	return slices.ContainsFunc(l.In.Resume, func(e agui.ResumeEntry) bool {
		i := indexed.Interrupt(e.InterruptID)
		return i != nil && i.ID != i.Native && strings.Contains(i.ID, "~")
	})
}

// EndAgain returns the events of a recorded end that the request lacks (see LacksEnd). They are the
// messages since the question, with each call before its result. The parameter messages is the JSON
// list of messages that the store keeps for that end.
func (l Listener) EndAgain(result *store.Result, messages json.RawMessage) []agui.Event {
	p := result.Pause.Indexed()
	results, calls, held := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for n := range l.ClientMessages {
		m := &l.ClientMessages[n]
		held[m.ID] = m.ID != ""
		results[m.ToolCallID] = results[m.ToolCallID] || m.Role == "tool"
		if mayCall(m) {
			addCalls(calls, m)
		}
	}
	var events []agui.Event
	lacking := map[string]agui.Call{}
	tellCall := func(id string) {
		if c, is := lacking[id]; is {
			events = append(events, callEvents(c)...)
			delete(lacking, id)
		}
	}
	lacks := l.lacksCall(&p)
	gjson.ParseBytes(messages).ForEach(func(_, one gjson.Result) bool {
		m := agui.ParseMessage(json.RawMessage(one.Raw))
		asked := p.HasMessage(agui.NewSeenMessage(m))
		for _, c := range one.Get("toolCalls").Array() {
			id := agui.IDText(c.Get("id"))
			if !calls[id] && (!asked || lacks(id)) {
				lacking[id] = agui.Call{ID: id, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Str, Parent: m.ID}
			}
		}
		known := asked || held[m.ID]
		switch text := one.Get("content").Str; {
		case known:
		case m.Role == "assistant" && text != "":
			events = append(events, textMessage(m.ID, text)...)
		case m.Role == "tool" && !results[m.ToolCallID]:
			tellCall(m.ToolCallID)
			results[m.ToolCallID] = true
			events = append(events, kit.ToolReply{ID: m.ID, Call: m.ToolCallID, Content: text}.Event())
		}
		return true
	})
	return append(events, resultsAgain(result, lacks, results)...)
}
