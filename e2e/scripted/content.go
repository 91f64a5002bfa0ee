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
		args          json.RawMessage // nil means null
		informational bool            // executed or rejected already
	}

	functionResult struct {
		callID string
		value  any // a string, or a json.RawMessage (JsonElement) from a tool
	}

	// toolApprovalRequest was called FunctionApprovalRequestContent before MEAI 10.4.
	toolApprovalRequest struct {
		id    string
		call  *functionCall
		gated bool // the tool itself needs an approval, and not only another one of its batch
	}

	toolApprovalResponse struct {
		id       string
		approved bool
		call     *functionCall
	}

	// interruptRequest is a type of AGUI.Server: it asks for input, not for an approval.
	interruptRequest struct {
		id, reason, message string
		schema              json.RawMessage
	}

	// interruptResponse is a type of AGUI.Server: a resume that is not an approval.
	interruptResponse struct {
		id      string
		payload json.RawMessage
	}
)

// A chatMessage may share its contents with another, because the samples' wrapper of layout A makes
// such messages.
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

// An update is a ChatResponseUpdate.
type update struct {
	role                string
	author, created     *string
	contents            []content
	responseID, message *string
	finish, modelID     *string
	usage               object // the usage of the run so far, if the model reports it
	event               object // an AG-UI event of the application, which AGUI.Server passes on; the update has nothing else then
}

// raw returns the update in the form in which AGUI.Server puts it into rawEvent.
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

// serialized returns a result in the form in which the hosts write it: a string unchanged, anything
// else as JSON text.
func (r functionResult) serialized() string {
	if s, ok := r.value.(string); ok {
		return s
	}
	return string(text(r.value))
}

// said returns a result in the form in which the recorded models repeat it: the text of a JSON
// string.
func (r functionResult) said() string {
	var s string
	if raw, ok := r.value.(json.RawMessage); ok && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return r.serialized()
}

// plain returns a result as text for a person, after removing all levels of JSON strings.
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
