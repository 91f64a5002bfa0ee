package client

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
)

// A Rewriter tells a stream to a client that throws at events that it does not know. With a nil
// Line it changes nothing: the client reads everything, or is unknown.
//
//   - Chunks are told as the events that they stand for.
//   - Other events that the client does not know are left out. The texts of a snapshot are told as
//     messages, see SnapshotTexts.
//   - To a client that parses results, a result that is plain text is told as a JSON string.
//
// What is recorded and judged is what the backend sent, not this.
type Rewriter struct {
	Line  *clients.Line
	NewID func() string // returns the id of a text that has none
	text  string        // the message that chunks have begun last
	open  bool          // it has no end yet
	call  string        // the call that chunks have begun last
	calls []string      // those without an end
}

// Passes reports whether pieces of a text or of arguments reach the client as they are.
func (s *Rewriter) Passes(t agui.Type) bool { return s.Line.Reads(t) }

// typeFor returns the type that a client finds in an event. One that cannot be acted on counts as
// Unknown everywhere else, but the client says what is wrong with it.
func typeFor(ev agui.Event) agui.Type {
	if ev.Type == agui.Unknown {
		return agui.PeekType(ev.JSON)
	}
	return ev.Type
}

// Tell gives the client an event in the form that it reads. An event that passes costs nothing.
func (s *Rewriter) Tell(ev agui.Event, give func(agui.Event)) {
	if s.Line.ReadsAll() {
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
	if s.Line.Reads(t) {
		give(ev)
	}
}

// SnapshotTexts returns texts of a MESSAGES_SNAPSHOT as events, for a client that takes no messages
// from there: what the assistant has said since the last message of the user, and what the stream
// has not told. Some backends tell the text of a step in no other way.
func (s *Rewriter) SnapshotTexts(ev agui.Event, t Transcript) []agui.Event {
	if s.Line.TakesSnapshots() {
		return nil
	}
	if _, whole := t.Messages(); !whole {
		return nil // it is unknown what was told
	}
	var events []agui.Event
	ev.Get("messages").ForEach(func(_, m gjson.Result) bool {
		id, text := m.Get("id").Str, m.Get("content")
		switch role := m.Get("role").Str; {
		case role == "user":
			events = nil
		case role == "assistant" && id != "" && text.Type == gjson.String && text.Str != "" && !t.Holds(id):
			events = append(events, textMessage(strings.Clone(id), text.Str)...)
		}
		return true
	})
	return events
}

// result returns the result as its client can parse it.
func (s *Rewriter) result(ev agui.Event) agui.Event {
	if !s.Line.ParsesResults() {
		return ev
	}
	content := agui.View(ev.JSON).Get("content")
	if content.Type != gjson.String || content.Str == "" || agui.ValidText(content.Str) {
		return ev
	}
	return ev.With(agui.SetKeys(ev.JSON, agui.Edit{Key: "content", Text: string(agui.MustMarshal(content.Str))}))
}

// closeText ends the text that chunks have begun.
func (s *Rewriter) closeText(give func(agui.Event)) {
	if s.open {
		s.open = false
		give(textEnd(s.text))
	}
}

// closeCalls ends the calls that chunks have begun.
func (s *Rewriter) closeCalls(give func(agui.Event)) {
	for _, id := range s.calls {
		give(agui.NewEvent(agui.MustMarshal(struct {
			Type agui.Type `json:"type"`
			ID   string    `json:"toolCallId"`
		}{agui.CallEnd, id})))
	}
	s.calls = nil
}

// textChunk tells a piece of a text. One without an id belongs to the text before it.
func (s *Rewriter) textChunk(ev agui.Event, give func(agui.Event)) {
	id := cmp.Or(strings.Clone(ev.Get("messageId").Str), s.text)
	if id == "" {
		id = "text-" + s.NewID()
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
func (s *Rewriter) callChunk(ev agui.Event, give func(agui.Event)) {
	id := cmp.Or(strings.Clone(ev.Get("toolCallId").Str), s.call)
	if !slices.Contains(s.calls, id) {
		name := ev.Get("toolCallName").Str
		if id == "" || name == "" {
			return
		}
		if s.Line.TakesOneCall() {
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
