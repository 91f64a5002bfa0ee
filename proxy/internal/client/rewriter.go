package client

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
)

// A Rewriter adapts a stream to a client that throws at unknown events. If Line is nil, it changes
// nothing, because the client is unknown or reads everything.
//
//   - Chunks are replaced by the events that they abbreviate.
//   - Other events that the client does not know are dropped. The texts in a snapshot are sent as
//     messages, see SnapshotTexts.
//   - For a client that parses results, a result in plain text becomes a JSON string.
//
// The transcript and the record contain the events as the backend sent them.
type Rewriter struct {
	Line  *clients.Line
	NewID func() string // returns an id for a text without an id
	text  string        // the message to which the last text chunk belongs
	open  bool          // that message has not ended yet
	call  string        // the call to which the last call chunk belongs
	calls []string      // the calls that chunks have begun and that have not ended
}

// Passes reports whether events of the type t reach the client unchanged. t must be a piece of a
// text or of arguments.
func (s *Rewriter) Passes(t agui.Type) bool { return s.Line.Reads(t) }

// typeFor returns the type that the client reads in an event. Elsewhere an invalid event counts as
// Unknown. But the client reads its type, and reports what is wrong with it.
func typeFor(ev agui.Event) agui.Type {
	if ev.Type == agui.Unknown {
		return agui.PeekType(ev.JSON)
	}
	return ev.Type
}

// Send calls give with an event in the form that the client reads, or with several events in its
// place. An event that needs no change costs nothing.
func (s *Rewriter) Send(ev agui.Event, give func(agui.Event)) {
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

// SnapshotTexts returns texts of a MESSAGES_SNAPSHOT as events, for a client that ignores the
// messages in snapshots. The texts are the assistant's since the last user message, except those
// that the stream has already sent. Some backends send the text of a step only in a snapshot.
func (s *Rewriter) SnapshotTexts(ev agui.Event, t Transcript) []agui.Event {
	if s.Line.TakesSnapshots() {
		return nil
	}
	if _, whole := t.Messages(); !whole {
		return nil // it is not known which texts the stream has sent
	}
	var events []agui.Event
	ev.Get("messages").ForEach(func(_, m gjson.Result) bool {
		id, text := m.Get("id").Str, m.Get("content")
		switch role := m.Get("role").Str; {
		case role == "user":
			events = nil
		case role == "assistant" && id != "" && text.Type == gjson.String && text.Str != "" && !t.HasMessage(id):
			events = append(events, textMessage(strings.Clone(id), text.Str)...)
		}
		return true
	})
	return events
}

// result returns the event of a result in a form that the client can parse.
func (s *Rewriter) result(ev agui.Event) agui.Event {
	if !s.Line.ParsesResults() {
		return ev
	}
	content := agui.View(ev.JSON).Get("content")
	if content.Type != gjson.String || content.Str == "" || agui.ValidText(content.Str) {
		return ev
	}
	return ev.WithJSON(agui.SetKeys(ev.JSON, agui.Edit{Key: "content", Text: string(agui.MustMarshal(content.Str))}))
}

// closeText ends the text message that chunks have begun.
func (s *Rewriter) closeText(give func(agui.Event)) {
	if s.open {
		s.open = false
		give(textEnd(s.text))
	}
}

// closeCalls ends the calls that chunks have begun.
func (s *Rewriter) closeCalls(give func(agui.Event)) {
	for _, id := range s.calls {
		give(agui.MakeEvent(agui.CallEnd, "toolCallId", id))
	}
	s.calls = nil
}

// textChunk sends a chunk of a text. A chunk without an id belongs to the same text as the chunk
// before it.
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
	if delta := agui.View(ev.JSON).Get("delta"); delta.Str != "" {
		give(withDelta(agui.MakeEvent(agui.TextContent, "messageId", id), delta))
	}
}

// callChunk sends a chunk of a call. A chunk without an id belongs to the same call as the chunk
// before it. A chunk that begins a call has a name. Some clients accept only one call at a time.
// After another call has begun, they get no more chunks of the first call.
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
		members := []string{"toolCallId", id, "toolCallName", name}
		if parent := ev.Get("parentMessageId").Str; parent != "" {
			members = append(members, "parentMessageId", parent)
		}
		give(agui.MakeEvent(agui.CallStart, members...))
		s.calls = append(s.calls, id)
	}
	s.call = id
	if delta := agui.View(ev.JSON).Get("delta"); delta.Str != "" {
		give(withDelta(agui.MakeEvent(agui.CallArgs, "toolCallId", id), delta))
	}
}

// withDelta returns an event with a piece of text. The text keeps its JSON if it may have half of a
// surrogate pair, whose other half may be in the next piece (agui.AppendPiece). Go would replace
// the half by U+FFFD.
func withDelta(ev agui.Event, delta gjson.Result) agui.Event {
	if strings.ContainsRune(delta.Str, utf8.RuneError) && agui.ValidText(delta.Raw) {
		ev.JSON = agui.SetKey(ev.JSON, "delta", []byte(delta.Raw))
	} else {
		ev.JSON = agui.SetString(ev.JSON, "delta", delta.Str)
	}
	return ev
}
