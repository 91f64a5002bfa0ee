package agui

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// A Message of the input.
type Message struct {
	ID, Role, ToolCallID string
	JSON                 json.RawMessage
}

// ParseMessage reads one message, which must be a JSON object. What it reads does not hold on to raw.
func ParseMessage(raw []byte) Message {
	object := View(raw)
	return Message{
		ID: strings.Clone(object.Get("id").Str), Role: roleOf(object.Get("role").Str), ToolCallID: strings.Clone(object.Get("toolCallId").Str),
		JSON: raw,
	}
}

// roleOf gives the constant for a role.
func roleOf(s string) string {
	switch s {
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	case "tool":
		return "tool"
	case "system":
		return "system"
	case "developer":
		return "developer"
	}
	return strings.Clone(s)
}

// MessageList is the JSON array of the messages.
func MessageList(list []Message) json.RawMessage {
	b := []byte{'['}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.JSON...)
	}
	return append(b, ']')
}

// See is what is kept of a message.
func See(m Message) SeenMessage {
	s := SeenMessage{ID: m.ID}
	if m.Role == "user" || m.ID == "" {
		var few [1 << 10]byte
		said := append(append(few[:0], m.Role...), 0)
		if content := View(m.JSON).Get("content"); content.Type == gjson.String {
			said = AppendString(said, text(content))
		} else {
			said = append(said, Canonical([]byte(content.Raw))...)
		}
		sum := sha256.Sum256(said)
		var digest [24]byte
		hex.Encode(digest[:], sum[:12])
		s.Digest = string(digest[:])
	}
	return s
}

// NewMessages are the messages that seen lacks: by id, for a user message also by content.
func NewMessages(list []Message, seen []SeenMessage) []Message {
	known := make(map[SeenMessage]bool, len(seen))
	for _, s := range seen {
		known[s] = true
	}
	var fresh []Message
	for _, m := range list {
		if !known[See(m)] {
			fresh = append(fresh, m)
		}
	}
	return fresh
}
