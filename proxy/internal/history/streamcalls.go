package history

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ids"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// StreamCalls are the calls of the stream of a run that have no result so far, the last
// MaxOpenCalls of them. The zero value has none.
type StreamCalls []StreamCall

// A StreamCall is a call of a stream.
type StreamCall struct {
	ID  string
	Own bool // the request declares its tool
}

// Note notes a call that the event begins, or takes out the one that it brings the result of. in is
// the request.
func (s *StreamCalls) Note(ev agui.Event, in *agui.RunInput) {
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		if name := ev.Get("toolCallName").Str; name != "" {
			s.add(StreamCall{ev.Get("toolCallId").Str, in.Declares(name)})
		}
	case agui.CallResult:
		if len(*s) > 0 {
			s.Forget(ev.Get("toolCallId").Str)
		}
	}
}

// NoteSnapshot notes the calls of the client's tools in the message that ends a MESSAGES_SNAPSHOT:
// some backends tell a call there only. A call that the request has brought is not noted, because
// the backend may only repeat what the client made up. came is the request as the client sent it.
func (s *StreamCalls) NoteSnapshot(ev agui.Event, came *agui.RunInput) {
	var last gjson.Result
	agui.View(ev.JSON).Get("messages").ForEach(func(_, m gjson.Result) bool { last = m; return true })
	if last.Get("role").Str != "assistant" {
		return
	}
	var claims *kit.Claims // nil until it is needed
	for _, c := range last.Get("toolCalls").Array() {
		id, name := c.Get("id").Str, c.Get("function.name").Str
		if !came.Declares(name) || slices.ContainsFunc(*s, func(o StreamCall) bool { return o.ID == id }) {
			continue
		}
		if claims == nil {
			claims = kit.ClaimsOf(*came)
		}
		if _, shown := claims.Own(id); !shown {
			s.add(StreamCall{strings.Clone(id), true})
		}
	}
}

func (s *StreamCalls) add(c StreamCall) {
	if len(*s) == MaxOpenCalls {
		*s = slices.Delete(*s, 0, 1)
	}
	*s = append(*s, c)
}

// Forget takes a call out, in each place that it has.
func (s *StreamCalls) Forget(call string) {
	*s = slices.DeleteFunc(*s, func(c StreamCall) bool { return c.ID == call })
}

// NoteOf returns the note of a record that holds calls, by their hashes. Equal ones are one note.
func NoteOf(prefix string, hashes []string) store.Note {
	text := agui.MustMarshal(hashes)
	sum := sha256.Sum256(text)
	return store.Note{ID: prefix + ids.Hex(sum[:16]), Text: text}
}
