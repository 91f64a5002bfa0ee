package scripted

import (
	"encoding/json"
	"slices"
)

// The types of Microsoft.Extensions.AI for a conversation: messages with contents, and updates of a
// streaming response.
type (
	content any

	textContent struct{ text string }

	functionCall struct {
		id, name      string
		args          json.RawMessage // nil is sent as null
		informational bool            // the call was executed or rejected before
	}

	functionResult struct {
		callID string
		value  any // a string, or a json.RawMessage (JsonElement in .NET) if a tool returned it
	}

	// A toolApprovalRequest is a ToolApprovalRequestContent. Its name was
	// FunctionApprovalRequestContent before MEAI (Microsoft.Extensions.AI) 10.4.
	toolApprovalRequest struct {
		id   string
		call *functionCall
		// the tool itself needs an approval; false if only another tool of its batch does
		gated bool
	}

	toolApprovalResponse struct {
		id       string
		approved bool
		call     *functionCall
	}

	// interruptRequest is a type of AGUI.Server. It asks for an input of the person, not for an
	// approval.
	interruptRequest struct {
		id, reason, message string
		schema              json.RawMessage
	}

	// interruptResponse is a type of AGUI.Server. It is an entry of resume that is not an approval.
	interruptResponse struct {
		id      string
		payload json.RawMessage
	}
)

// A chatMessage is a message of a conversation. contents is a pointer, because the wrapper of
// layout A makes messages that share their contents with another message.
type chatMessage struct {
	role     string
	id       *string
	contents *[]content
}

func newMessage(role string, id *string, list ...content) *chatMessage {
	return &chatMessage{role, id, &list}
}

func (m *chatMessage) calls() []*functionCall {
	var list []*functionCall
	for _, c := range *m.contents {
		if call, ok := c.(*functionCall); ok {
			list = append(list, call)
		}
	}
	return list
}

func (m *chatMessage) text() string {
	var all string
	for _, c := range *m.contents {
		if t, ok := c.(textContent); ok {
			all += t.text
		}
	}
	return all
}

// An update is a ChatResponseUpdate, one piece of a streaming response.
type update struct {
	role                string
	author, created     *string
	contents            []content
	responseID, message *string
	finish, modelID     *string
	usage               object // usage of the run so far, if the model reports it
	// event of the application, which AGUI.Server sends unchanged; all other fields are then unset
	event object
}

// raw returns the update as JSON, as AGUI.Server writes it into rawEvent.
func (u *update) raw() object {
	contents := make([]object, len(u.contents))
	for n, c := range u.contents {
		contents[n] = rawContent(c).With("annotations", nil, "additionalProperties", nil)
	}
	return obj("authorName", u.author, "role", u.role, "contents", contents, "additionalProperties", nil, "responseId", u.responseID,
		"messageId", u.message, "conversationId", nil, "createdAt", u.created, "finishReason", u.finish, "modelId", u.modelID, "continuationToken", nil)
}

func rawContent(c content) object {
	switch c := c.(type) {
	case textContent:
		return obj("$type", "text", "text", c.text)
	case *functionCall:
		return obj("$type", "functionCall", "name", c.name, "arguments", c.args, "informationalOnly", c.informational, "callId", c.id)
	case functionResult:
		return obj("$type", "functionResult", "result", c.value, "callId", c.callID)
	case *toolApprovalRequest:
		return obj("$type", "toolApprovalRequest", "toolCall", rawContent(c.call).With("annotations", nil, "additionalProperties", nil), "requiresConfirmation", c.gated, "requestId", c.id)
	}
	return obj("$type", "unknown")
}

// serialized returns a result as the hosts write it: a string unchanged, and any other value as
// JSON text.
func (r functionResult) serialized() string {
	if s, ok := r.value.(string); ok {
		return s
	}
	return string(text(r.value))
}

// said returns a result as the recorded models repeat it. If a tool returned a JSON string, this is
// the text of the string.
func (r functionResult) said() string {
	var s string
	if raw, ok := r.value.(json.RawMessage); ok && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return r.serialized()
}

// plain returns a result as text for a person. A JSON string within a JSON string is decoded
// completely.
func (r functionResult) plain() string {
	s := r.serialized()
	var inner string
	for json.Unmarshal([]byte(s), &inner) == nil {
		s = inner
	}
	return s
}

func clone(list []*chatMessage) []*chatMessage { return slices.Clone(list) }

func of(s string) *string { return &s }
