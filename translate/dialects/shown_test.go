package dialects

import (
	"encoding/json"

	"holdpoint/internal/agui"
)

// shown is a transcript, as good as is needed here: whole messages, texts, calls and their results.
type shown struct {
	messages []json.RawMessage
	calls    map[string]*agui.Call
	order    []string
}

// newShown is the transcript of a run at its beginning; before is that of the run before it, or
// nil.
func newShown(in agui.RunInput, before *shown) *shown {
	s := &shown{calls: map[string]*agui.Call{}}
	if before != nil {
		s.calls, s.order = before.calls, before.order
	}
	for _, m := range in.Messages {
		s.messages = append(s.messages, m.JSON)
		for _, c := range agui.View(m.JSON).Get("toolCalls").Array() {
			s.call(agui.Call{ID: c.Get("id").Str, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Str, Parent: m.ID, Ended: true})
		}
	}
	return s
}

func (s *shown) call(c agui.Call) {
	if s.calls[c.ID] == nil {
		s.order = append(s.order, c.ID)
		s.calls[c.ID] = &c
	}
}

func (s *shown) Messages() ([]json.RawMessage, bool) { return s.messages, true }
func (*shown) State() (json.RawMessage, bool)        { return nil, true }

func (s *shown) Calls() []agui.Call {
	var list []agui.Call
	for _, id := range s.order {
		list = append(list, *s.calls[id])
	}
	return list
}

func (s *shown) add(ev agui.Event) {
	id := ev.Get("toolCallId").Str
	call := s.calls[id]
	switch ev.Type {
	case agui.TextStart:
		m := agui.SetString([]byte(`{"role":"assistant"}`), "id", ev.Get("messageId").Str)
		s.messages = append(s.messages, agui.SetString(m, "content", ""))
	case agui.TextContent:
		for n, m := range s.messages {
			if m := agui.ParseMessage(m); m.ID == ev.Get("messageId").Str {
				text := agui.View(m.JSON).Get("content").Str + ev.Get("delta").Str
				s.messages[n] = agui.SetString(m.JSON, "content", text)
			}
		}
	case agui.CallStart:
		s.call(agui.Call{ID: id, Name: ev.Get("toolCallName").Str, Parent: ev.Get("parentMessageId").Str, Fresh: true})
	case agui.CallArgs:
		if call != nil {
			call.Args += ev.Get("delta").Str
		}
	case agui.CallEnd:
		if call != nil {
			call.Ended = true
		}
	case agui.CallResult:
		if call != nil {
			call.Answered = true
		}
		s.messages = append(s.messages, agui.MustMarshal(map[string]string{
			"id": ev.Get("messageId").Str, "role": "tool", "toolCallId": id, "content": ev.Get("content").Str,
		}))
	case agui.MessagesSnapshot:
		s.messages = nil
		for _, m := range ev.Get("messages").Array() {
			s.messages = append(s.messages, json.RawMessage(m.Raw))
		}
	}
}
