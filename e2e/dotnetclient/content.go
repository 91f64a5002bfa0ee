package dotnetclient

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
)

// These types are ports of those that Microsoft.Extensions.AI has for a conversation: messages with
// contents, and updates of a streaming response.
type (
	// A Content is a value of one of the types below.
	Content any

	// Text is a text of the user or the model.
	Text struct{ Text string }

	// Reasoning is a text of the model's reasoning.
	Reasoning struct{ Text string }

	// A Call is a tool call. If it is informational, it is never run.
	Call struct {
		ID, Name      string
		Arguments     json.RawMessage // an object; nil means null
		Informational bool
		thread        string // the thread of the run that called a tool of the client, which the run with its result uses too
	}

	// A Result is the result of a tool call. Value is a string or a json.RawMessage.
	Result struct {
		CallID string
		Value  any
	}

	// An ApprovalRequest asks whether a call may run.
	ApprovalRequest struct {
		ID       string
		Call     *Call
		original *Call // the call of request_approval that wrapper A read
	}

	// An ApprovalAnswer answers an ApprovalRequest. An application may change the call in it.
	ApprovalAnswer struct {
		ID       string
		Approved bool
		Call     *Call
		Result   string // result that the application already has, or ""
	}

	// An InputRequest is an interrupt that asks for something other than an approval.
	InputRequest struct {
		ID, Reason, Message, ToolCallID string
		ResponseSchema                  json.RawMessage
	}

	// An InputAnswer answers an InputRequest.
	InputAnswer struct {
		ID      string
		Payload json.RawMessage
	}

	// A Failure is a RUN_ERROR that the client returns as a content and does not throw.
	Failure struct{ Message, Code string }

	// A State is the content of a STATE_SNAPSHOT.
	State struct{ JSON json.RawMessage }
)

// A Message is a port of .NET's ChatMessage.
type Message struct {
	Role     string
	ID       string // "": it has no id
	Contents []Content
}

// NewMessage returns a message without an id.
func NewMessage(role string, contents ...Content) *Message {
	return &Message{Role: role, Contents: contents}
}

// An Update is a port of .NET's ChatResponseUpdate.
type Update struct {
	Role      string
	MessageID string
	Contents  []Content
	event     string // type of the event from which it was made
	thread    string // thread of a RUN_STARTED, or ""
}

// Messages combines updates into messages, as ChatResponse does. An update begins a new message if
// its role differs from that of the last message, or if both have ids and the ids differ. Adjacent
// texts are joined.
func Messages(updates []Update) []*Message {
	var list []*Message
	for _, u := range updates {
		var last *Message
		if len(list) > 0 {
			last = list[len(list)-1]
		}
		if last == nil || u.MessageID != "" && last.ID != "" && u.MessageID != last.ID || u.Role != last.Role {
			last = &Message{Role: u.Role}
			list = append(list, last)
		}
		if u.MessageID != "" {
			last.ID = u.MessageID
		}
		for _, c := range u.Contents {
			if said, ok := c.(Text); ok && len(last.Contents) > 0 {
				if before, ok := last.Contents[len(last.Contents)-1].(Text); ok {
					last.Contents[len(last.Contents)-1] = Text{before.Text + said.Text}
					continue
				}
			}
			last.Contents = append(last.Contents, c)
		}
	}
	return list
}

// An Exception is an exception of a .NET program.
type Exception struct{ Kind, Message string }

func (e *Exception) Error() string { return e.Kind + ": " + e.Message }

func throw(kind, message string) error { return &Exception{kind, message} }

// guid returns a random Guid in .NET's format N (32 hexadecimal digits).
func guid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	return hex.EncodeToString(b[:])
}

// shortID returns 24 random letters and digits. The SDK's own ids look like this.
func shortID() string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var b [24]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	for n := range b {
		b[n] = alphabet[int(b[n])%len(alphabet)]
	}
	return string(b[:])
}
