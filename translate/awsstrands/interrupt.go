package awsstrands

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// gateName begins the names of the interrupts that the gate of the adapters makes. The name of the
// tool follows it.
const gateName = "ag_ui:tool_call:"

// reasonToolCall is a reason that stays in an interrupt only if the client has the call.
const reasonToolCall = "tool_call"

// reasonJSON is the reason that @ag-ui/aws-strands up to 0.2.3 sends if the hook's reason is not a
// string. The message then contains the hook's reason as JSON.
const reasonJSON = "confirmation"

// private is the state that the dialect stores, as JSON, in Interrupt.Private.
type private struct {
	Name string `json:"name,omitempty"`
	// Own is true if the answer is sent unchanged, because the backend sent a schema for it, or
	// because Strands did not make the interrupt.
	Own      bool `json:"own,omitempty"`
	Python   bool `json:"python,omitempty"`
	FromTool bool `json:"fromTool,omitempty"`
	// Supplied is true if the dialect added the schema, so that the hook may accept answers that do
	// not fit it.
	Supplied bool `json:"supplied,omitempty"`
}

// privateOf returns the state of the interrupt. The state is missing if another dialect made the
// pause, before the operator set this one. privateOf then returns what the interrupt's id shows.
func privateOf(i agui.Interrupt) private {
	var kept private
	if json.Unmarshal(i.Private, &kept) == nil {
		return kept
	}
	id, known := strandsapi.ParseID(i.Native)
	return private{Name: id.Name, Own: !known || i.Schema() != nil, Python: isPython(i.Native), FromTool: id.Kind == strandsapi.FromTool}
}

// isPython reports whether the Python SDK made the id. It accepts kinds of ids that Holdpoint does
// not know.
func isPython(id string) bool { return strings.HasPrefix(id, "v1:") }

// A question is an interrupt of an adapter while it is being translated.
type question struct {
	native    gjson.Result
	id        strandsapi.ID
	known     bool // the id or the metadata show that Strands made it
	hasSchema bool // the backend sent a schema for the answer
	call      agui.Call
	name      string
	// reason is the reason that the hook or tool gave. inMessage is true if the message contains
	// it, as JSON if it is not a string.
	reason    gjson.Result
	inMessage bool
}

func readQuestion(native gjson.Result, seen map[string]agui.Call) question {
	q := question{native: native, hasSchema: native.Get("responseSchema").IsObject()}
	q.id, q.known = strandsapi.ParseID(text(native, "id"))
	if given := text(native, "toolCallId"); given != "" {
		q.call = seen[given]
	} else {
		q.call = seen[q.id.ToolUseID]
	}
	metadata := native.Get("metadata")
	strandsName, tool := text(metadata, "strandsName"), text(metadata, "tool_name")
	switch {
	case strandsName != "":
		q.name, q.known = strandsName, true
	case q.id.Name != "":
		q.name = q.id.Name
	case q.hasSchema && tool != "":
		q.name = gateName + tool
	case !q.hasSchema:
		q.name = text(native, "reason")
	}
	q.reason = metadata.Get("reason")
	if message := text(native, "message"); !q.reason.Exists() && !q.hasSchema && !isPython(text(native, "id")) && strandsName != "" && message != "" {
		q.reason, q.inMessage = native.Get("message"), true
		if text(native, "reason") == reasonJSON && agui.ValidJSON([]byte(message)) {
			q.reason = gjson.Parse(message)
		}
	}
	return q
}

// text returns the value of an object's member if it is a string, or "".
func text(object gjson.Result, key string) string {
	if v := object.Get(key); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

// interrupt returns the interrupt for the client. Members that the dialect does not change keep
// their exact bytes.
func (q question) interrupt() agui.Interrupt {
	native := text(q.native, "id")
	kept := private{Name: q.name, Own: q.hasSchema || !q.known, Python: isPython(native), FromTool: q.id.Kind == strandsapi.FromTool}
	o := kit.WithoutMembers(q.native, "id")
	o = agui.SetString(o, "reason", q.tellReason())
	if message := q.tellMessage(); message != "" {
		o = agui.SetString(o, "message", message)
	}
	if q.call.ID != "" {
		o = agui.SetString(o, "toolCallId", q.call.ID)
	} else {
		o = agui.DeleteKey(o, "toolCallId")
	}
	if !q.hasSchema && q.beforeCall() {
		o = agui.SetKey(o, "responseSchema", []byte(kit.ApprovalSchema))
		kept.Supplied = true
	}
	if metadata := q.tellMetadata(); metadata != nil {
		o = agui.SetKey(o, "metadata", metadata)
	}
	return agui.Interrupt{Native: native, Object: o, Private: agui.MustMarshal(kept)}
}

// beforeCall reports whether the question asks for the approval of a call that the client has.
func (q question) beforeCall() bool { return q.id.AsksForCall() && q.call.ID != "" }

func (q question) tellReason() string {
	given := text(q.native, "reason")
	if given != "" && (q.hasSchema || !q.known) && (given != reasonToolCall || q.call.ID != "") {
		return given
	}
	return strandsapi.Reason(q.id, q.name, q.call.ID)
}

// tellMessage returns the message for the interrupt, or "" if the backend's message must stay.
func (q question) tellMessage() string {
	said := text(q.native, "message") != ""
	if !q.known || said && (!q.inMessage || q.reason.Type == gjson.String) {
		return ""
	}
	tool := ""
	if q.beforeCall() {
		tool = q.call.Name
	}
	return strandsapi.Message(q.reason, tool, q.name)
}

// tellMetadata returns the metadata for the interrupt. They have the name of the interrupt, because
// the reason no longer contains it, and the reason, if that was JSON in the message. tellMetadata
// returns nil if the backend's metadata must stay unchanged.
func (q question) tellMetadata() []byte {
	own := []byte{'{'}
	if q.name != "" {
		own = kit.AppendText(own, "name", q.name)
	}
	if q.inMessage && q.reason.Type != gjson.String {
		own = kit.AppendMember(own, `"reason"`, q.reason.Raw)
	}
	metadata := q.native.Get("metadata")
	if !q.known || len(own) == 1 || metadata.Exists() && metadata.Type != gjson.Null && !metadata.IsObject() {
		return nil
	}
	object := []byte("{}")
	if metadata.IsObject() {
		object = []byte(metadata.Raw)
	}
	return agui.SetKey(object, "strands", append(own, '}'))
}
