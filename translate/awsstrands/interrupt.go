package awsstrands

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// gateName begins the names of the interrupts of the adapters' own gate. The tool's name follows.
const gateName = "ag_ui:tool_call:"

// reasonToolCall is a reason that needs a call which the client has seen.
const reasonToolCall = "tool_call"

// reasonJSON is the reason that @ag-ui/aws-strands up to 0.2.3 gives if the hook's reason is not
// text. The message is the JSON of the hook's reason then.
const reasonJSON = "confirmation"

// private is what an interrupt keeps for its answer.
type private struct {
	Name string `json:"name,omitempty"`
	// Own says that the answer goes as it is, because the backend has a schema for it, or because
	// the interrupt is not Strands'.
	Own      bool `json:"own,omitempty"`
	Python   bool `json:"python,omitempty"`
	FromTool bool `json:"fromTool,omitempty"`
	// Supplied says that the schema is ours. So it does not say what else the hook takes.
	Supplied bool `json:"supplied,omitempty"`
}

// privateOf returns what was kept. Another dialect may have made the pause, if the operator has
// named this one since. Then it returns what the id tells.
func privateOf(i agui.Interrupt) private {
	var kept private
	if json.Unmarshal(i.Private, &kept) == nil {
		return kept
	}
	id, known := strandsapi.ParseID(i.Native)
	return private{Name: id.Name, Own: !known || i.Schema() != nil, Python: isPython(i.Native), FromTool: id.Kind == strandsapi.FromTool}
}

// isPython reports whether an id is the Python SDK's, also if its kind is younger than this code.
func isPython(id string) bool { return strings.HasPrefix(id, "v1:") }

// A question is an adapter's interrupt that is being translated.
type question struct {
	native gjson.Result
	id     strandsapi.ID
	known  bool // it is Strands', by its id or its metadata
	gated  bool // the backend itself says what an answer looks like
	call   agui.Call
	name   string
	// reason is the reason that the hook or the tool gave. inMessage says that it stood in the
	// message, as JSON if it was no text.
	reason    gjson.Result
	inMessage bool
}

func readQuestion(native gjson.Result, seen map[string]agui.Call) question {
	q := question{native: native, gated: native.Get("responseSchema").IsObject()}
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
	case q.gated && tool != "":
		q.name = gateName + tool
	case !q.gated:
		q.name = text(native, "reason")
	}
	q.reason = metadata.Get("reason")
	if message := text(native, "message"); !q.reason.Exists() && !q.gated && !isPython(text(native, "id")) && strandsName != "" && message != "" {
		q.reason, q.inMessage = native.Get("message"), true
		if text(native, "reason") == reasonJSON && agui.ValidJSON([]byte(message)) {
			q.reason = gjson.Parse(message)
		}
	}
	return q
}

// text returns a member of an object that is a text, "" for any other member.
func text(object gjson.Result, key string) string {
	if v := object.Get(key); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

// interrupt returns what the client gets. A key that the dialect does not supply keeps its bytes.
func (q question) interrupt() agui.Interrupt {
	native := text(q.native, "id")
	kept := private{Name: q.name, Own: q.gated || !q.known, Python: isPython(native), FromTool: q.id.Kind == strandsapi.FromTool}
	o := kit.Pruned(q.native, "id")
	o = agui.SetString(o, "reason", q.tellReason())
	if message := q.tellMessage(); message != "" {
		o = agui.SetString(o, "message", message)
	}
	if q.call.ID != "" {
		o = agui.SetString(o, "toolCallId", q.call.ID)
	} else {
		o = agui.DeleteKey(o, "toolCallId")
	}
	if !q.gated && q.beforeCall() {
		o = agui.SetKey(o, "responseSchema", []byte(kit.ApprovalSchema))
		kept.Supplied = true
	}
	if metadata := q.tellMetadata(); metadata != nil {
		o = agui.SetKey(o, "metadata", metadata)
	}
	return agui.Interrupt{Native: native, Object: o, Private: agui.MustMarshal(kept)}
}

// beforeCall reports whether the question asks for leave to make a call that the client has seen.
func (q question) beforeCall() bool { return q.id.AsksForCall() && q.call.ID != "" }

func (q question) tellReason() string {
	given := text(q.native, "reason")
	if given != "" && (q.gated || !q.known) && (given != reasonToolCall || q.call.ID != "") {
		return given
	}
	return strandsapi.Reason(q.id, q.name, q.call.ID)
}

// tellMessage returns the message. "" says that the backend's own stays.
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

// tellMetadata returns the backend's metadata with the interrupt's name, because the reason does
// not tell that any more. It adds a reason that stood as JSON in the message. nil says that the
// backend's metadata stay as they are.
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
