package dotnetclient

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
)

// What Microsoft.Extensions.AI makes of a conversation: messages of contents, and updates while a
// response streams.
type (
	// A Content is one of the types below.
	Content any

	// Text is what somebody wrote.
	Text struct{ Text string }

	// Reasoning is what a model thought.
	Reasoning struct{ Text string }

	// A Call is a call of a tool. Nothing runs a call that is informational.
	Call struct {
		ID, Name      string
		Arguments     json.RawMessage // an object; nil stands for null
		Informational bool
		thread        string // of the run that called a tool of the client, for the run with its result
	}

	// A Result is what a tool returned: a string, or JSON as a json.RawMessage.
	Result struct {
		CallID string
		Value  any
	}

	// An ApprovalRequest asks whether a call may run.
	ApprovalRequest struct {
		ID       string
		Call     *Call
		original *Call // the call of request_approval that the wrapper of layout A read
	}

	// An ApprovalAnswer answers an ApprovalRequest. An application may put another call into it.
	ApprovalAnswer struct {
		ID       string
		Approved bool
		Call     *Call
		Result   string // a result that the application has already, "" if none
	}

	// An InputRequest is an interrupt that asks for something else than an approval.
	InputRequest struct {
		ID, Reason, Message, ToolCallID string
		ResponseSchema                  json.RawMessage
	}

	// An InputAnswer answers an InputRequest.
	InputAnswer struct {
		ID      string
		Payload json.RawMessage
	}

	// A Failure is a RUN_ERROR that the client does not throw.
	Failure struct{ Message, Code string }

	// A State is what a STATE_SNAPSHOT holds.
	State struct{ JSON json.RawMessage }
)

// A Message is a ChatMessage.
type Message struct {
	Role     string
	ID       string // "" if it has none
	Contents []Content
}

// NewMessage returns a message without an id.
func NewMessage(role string, contents ...Content) *Message {
	return &Message{Role: role, Contents: contents}
}

// An Update is a ChatResponseUpdate.
type Update struct {
	Role      string
	MessageID string
	Contents  []Content
	event     string // the type of the event that it was made of
	thread    string // of a RUN_STARTED
}

// Messages returns the messages that updates make, as ChatResponse does: an update joins the last
// message unless both have ids that differ, or their roles differ. Neighbouring texts become one.
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

// An Exception is what a .NET program throws.
type Exception struct{ Kind, Message string }

func (e *Exception) Error() string { return e.Kind + ": " + e.Message }

func throw(kind, message string) error { return &Exception{kind, message} }

// guid returns a Guid in the format N.
func guid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// shortID returns 24 letters and digits, the SDK's form of an id.
func shortID() string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	for n := range b {
		b[n] = alphabet[int(b[n])%len(alphabet)]
	}
	return string(b[:])
}
