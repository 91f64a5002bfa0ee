package proxy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/client"
)

// A readable is the stream of a client that throws at events that it does not know. Its zero value
// is that of a client that reads everything, or of an unknown one, and changes nothing.
//
//   - Chunks are told as the events that they stand for.
//   - Other events that the client does not know are left out. The texts of a snapshot are told as
//     messages, see snapshotTexts.
//   - To a client that parses results, a result that is plain text is told as a JSON string.
//
// What is recorded and judged is what the backend sent, not this.
type readable struct {
	line  *client.Line // nil: nothing is changed
	newID func() string
	text  string   // the message that chunks have begun last
	open  bool     // it has no end yet
	call  string   // the call that chunks have begun last
	calls []string // those without an end
}

// passes reports whether pieces of a text or of arguments reach the client as they are.
func (s *readable) passes(t agui.Type) bool { return s.line.Reads(t) }

// typeFor returns the type that a client finds in an event. One that cannot be acted on counts as
// Unknown everywhere else, but the client says what is wrong with it.
func typeFor(ev agui.Event) agui.Type {
	if ev.Type == agui.Unknown {
		return agui.PeekType(ev.JSON)
	}
	return ev.Type
}

// tell gives the client an event in the form that it reads. An event that passes costs nothing.
func (s *readable) tell(ev agui.Event, give func(agui.Event)) {
	if s.line.ReadsAll() {
		give(ev)
		return
	}
	t := typeFor(ev)
	switch t {
	case agui.TextChunk:
		s.textChunk(ev, give)
		return
	case agui.CallChunk:
		s.callChunk(ev, give)
		return
	case agui.TextStart:
		s.closeText(give)
	case agui.TextEnd:
		if s.open && ev.Get("messageId").Str == s.text {
			s.open = false
		}
	case agui.CallStart:
		s.closeCalls(give)
	case agui.CallEnd:
		if len(s.calls) > 0 {
			id := ev.Get("toolCallId").Str
			s.calls = slices.DeleteFunc(s.calls, func(open string) bool { return open == id })
		}
	case agui.CallResult:
		s.closeCalls(give)
		ev = s.result(ev)
	case agui.RunFinished, agui.RunErrored:
		s.closeText(give)
		s.closeCalls(give)
	}
	if s.line.Reads(t) {
		give(ev)
	}
}

// result is the result as its client can parse it.
func (s *readable) result(ev agui.Event) agui.Event {
	if !s.line.ParsesResults() {
		return ev
	}
	content := agui.View(ev.JSON).Get("content")
	if content.Type != gjson.String || content.Str == "" || agui.ValidText(content.Str) {
		return ev
	}
	return ev.With(agui.SetKeys(ev.JSON, agui.Edit{Key: "content", Text: string(agui.MustMarshal(content.Str))}))
}

// closeText ends the text that chunks have begun.
func (s *readable) closeText(give func(agui.Event)) {
	if s.open {
		s.open = false
		give(textEnd(s.text))
	}
}

// closeCalls ends the calls that chunks have begun.
func (s *readable) closeCalls(give func(agui.Event)) {
	for _, id := range s.calls {
		give(agui.NewEvent(agui.MustMarshal(struct {
			Type agui.Type `json:"type"`
			ID   string    `json:"toolCallId"`
		}{agui.CallEnd, id})))
	}
	s.calls = nil
}

// textChunk tells a piece of a text. One without an id belongs to the text before it.
func (s *readable) textChunk(ev agui.Event, give func(agui.Event)) {
	id := cmp.Or(strings.Clone(ev.Get("messageId").Str), s.text)
	if id == "" {
		id = "text-" + s.newID()
	}
	if !s.open || id != s.text {
		s.closeText(give)
		give(textStart(id, cmp.Or(ev.Get("role").Str, "assistant")))
		s.text, s.open = id, true
	}
	if delta := ev.Get("delta").Str; delta != "" {
		give(textContent(id, delta))
	}
}

// callChunk tells a piece of a call. One without an id belongs to the call before it, and one that
// begins a call has a name. A client that takes one call at a time is not told a piece of a call
// that another one has followed.
func (s *readable) callChunk(ev agui.Event, give func(agui.Event)) {
	id := cmp.Or(strings.Clone(ev.Get("toolCallId").Str), s.call)
	if !slices.Contains(s.calls, id) {
		name := ev.Get("toolCallName").Str
		if id == "" || name == "" {
			return
		}
		if s.line.TakesOneCall() {
			s.closeCalls(give)
		}
		give(agui.NewEvent(agui.MustMarshal(struct {
			Type   agui.Type `json:"type"`
			ID     string    `json:"toolCallId"`
			Name   string    `json:"toolCallName"`
			Parent string    `json:"parentMessageId,omitempty"`
		}{agui.CallStart, id, name, ev.Get("parentMessageId").Str})))
		s.calls = append(s.calls, id)
	}
	s.call = id
	if delta := ev.Get("delta").Str; delta != "" {
		give(agui.NewEvent(agui.MustMarshal(struct {
			Type  agui.Type `json:"type"`
			ID    string    `json:"toolCallId"`
			Delta string    `json:"delta"`
		}{agui.CallArgs, id, delta})))
	}
}

func textStart(id, role string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type agui.Type `json:"type"`
		ID   string    `json:"messageId"`
		Role string    `json:"role"`
	}{agui.TextStart, id, role}))
}

func textContent(id, text string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type  agui.Type `json:"type"`
		ID    string    `json:"messageId"`
		Delta string    `json:"delta"`
	}{agui.TextContent, id, text}))
}

func textEnd(id string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type agui.Type `json:"type"`
		ID   string    `json:"messageId"`
	}{agui.TextEnd, id}))
}

// textMessage returns the events of a message of the assistant.
func textMessage(id, text string) []agui.Event {
	return []agui.Event{textStart(id, "assistant"), textContent(id, text), textEnd(id)}
}

// snapshotTexts returns texts of a MESSAGES_SNAPSHOT that its client does not take from there, as
// events: what the assistant has said since the last message of the user, and nobody has told. Some
// backends tell the text of a step in no other way.
func (r *run) snapshotTexts(ev agui.Event) []agui.Event {
	if r.readable.line.TakesSnapshots() {
		return nil
	}
	if _, whole := r.transcript.Messages(); !whole {
		return nil // nobody knows what was told
	}
	var events []agui.Event
	ev.Get("messages").ForEach(func(_, m gjson.Result) bool {
		id, text := m.Get("id").Str, m.Get("content")
		switch role := m.Get("role").Str; {
		case role == "user":
			events = nil
		case role == "assistant" && id != "" && text.Type == gjson.String && text.Str != "" && !r.transcript.Holds(id):
			events = append(events, textMessage(strings.Clone(id), text.Str)...)
		}
		return true
	})
	return events
}
