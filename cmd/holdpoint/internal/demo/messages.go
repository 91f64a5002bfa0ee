package demo

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"

	"holdpoint/internal/agui"

	"github.com/tidwall/gjson"
)

// A message is one message of the graph's state. STATE_SNAPSHOT has it as LangChain writes it, and
// MESSAGES_SNAPSHOT as AG-UI writes it.
type message struct {
	id, kind, content string // kind: human, ai, tool
	call              *call  // the call of an ai message, or nil
	callID            string // the call that a tool message belongs to
}

func (m message) langChain() json.RawMessage {
	shape := []any{"id", m.id, "content", m.content, "additional_kwargs", object(), "response_metadata", object(), "type", m.kind}
	switch {
	case m.call != nil:
		shape = append(shape, "tool_calls", []json.RawMessage{object("name", tool, "args", m.call.args, "id", m.call.id, "type", "tool_call")})
	case m.kind == "tool":
		shape = append(shape, "tool_call_id", m.callID, "name", tool)
	}
	return object(shape...)
}

func (m message) agui() json.RawMessage {
	switch {
	case m.kind == "human":
		return object("id", m.id, "role", "user", "content", m.content)
	case m.kind == "tool":
		return object("id", m.id, "role", "tool", "content", m.content, "toolCallId", m.callID)
	}
	calls := []json.RawMessage{}
	if m.call != nil {
		calls = append(calls, object("id", m.call.id, "type", "function",
			"function", object("name", tool, "arguments", string(m.call.args))))
	}
	return object("id", m.id, "role", "assistant", "content", m.content, "toolCalls", calls)
}

// addMessages adds to the graph's state the user messages of the request that the state does not
// have.
func (s *script) addMessages() {
	s.input.Get("messages").ForEach(func(_, m gjson.Result) bool {
		known := slices.ContainsFunc(s.messages, func(have message) bool { return have.id == m.Get("id").Str })
		if !known && m.Get("role").Str == "user" {
			s.messages = append(s.messages, message{id: m.Get("id").Str, kind: "human", content: m.Get("content").Str})
		}
		return true
	})
}

// snapshots sends the two snapshots at the end of a run.
func (s *script) snapshots() {
	langChain, agui := []json.RawMessage{}, []json.RawMessage{}
	for _, m := range s.messages {
		langChain, agui = append(langChain, m.langChain()), append(agui, m.agui())
	}
	s.event("STATE_SNAPSHOT", "snapshot", object("messages", langChain))
	s.event("MESSAGES_SNAPSHOT", "messages", agui)
}

// raw returns the LangChain event that an AG-UI event was made from, shortened to the fields that
// identify it.
func (s *script) raw(event, name string) json.RawMessage {
	return object("event", event, "name", name, "tags", []string{}, "metadata",
		object("ls_integration", "langgraph", "langgraph_version", "1.4.18", "thread_id", s.input.Get("threadId").Str))
}

// serverRunID returns a run id of the form that the LangGraph server uses.
func (s *script) serverRunID() string { return newID() }

// newID returns a random UUID.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// object returns a JSON object. members has the names and the values of its members in turn: name,
// value, name, value. The order is kept.
func object(members ...any) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(agui.MustMarshal(members[i]))
		b.WriteByte(':')
		b.Write(agui.MustMarshal(members[i+1]))
	}
	b.WriteByte('}')
	return b.Bytes()
}
