package scripted

import (
	"encoding/json"
	"slices"
)

// What Microsoft.Extensions.AI makes of a conversation: messages of contents, and updates while it
// streams.
type (
	content any

	textContent struct{ text string }

	functionCall struct {
		id, name      string
		args          json.RawMessage // nil: null
		informational bool            // executed or rejected already
	}

	functionResult struct {
		callID string
		value  any // a string, or a json.RawMessage (JsonElement: what a tool returned)
	}

	// toolApprovalRequest is FunctionApprovalRequestContent before MEAI 10.4.
	toolApprovalRequest struct {
		id    string
		call  *functionCall
		gated bool // the tool needs an approval: it is not asked about for its batch alone
	}

	toolApprovalResponse struct {
		id       string
		approved bool
		call     *functionCall
	}

	// interruptRequest is AGUI.Server's: it asks for input, not for an approval.
	interruptRequest struct {
		id, reason, message string
		schema              json.RawMessage
	}

	// interruptResponse is AGUI.Server's: a resume that is not an approval.
	interruptResponse struct {
		id      string
		payload json.RawMessage
	}
)

// A chatMessage may share its contents with another: the samples' wrapper of layout A makes such.
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

// An update is one ChatResponseUpdate.
type update struct {
	role                string
	author, created     *string
	contents            []content
	responseID, message *string
	finish, modelID     *string
	usage               object // of the run so far, where the model says it
	event               object // an AG-UI event of the application's own, which AGUI.Server passes on; nothing else then
}

// raw returns the update as AGUI.Server puts it into rawEvent.
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

// serialized returns a result as the hosts write it: a string as it is, anything else as JSON text.
func (r functionResult) serialized() string {
	if s, ok := r.value.(string); ok {
		return s
	}
	return string(text(r.value))
}

// said returns a result as the recorded models say it: a JSON string as its text.
func (r functionResult) said() string {
	var s string
	if raw, ok := r.value.(json.RawMessage); ok && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return r.serialized()
}

// plain returns a result as a reader would have it, however often it was made a JSON string.
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
