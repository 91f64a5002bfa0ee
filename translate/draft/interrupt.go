package draft

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// The reasons that the dialect sets if the backend's interrupt has no reason.
const (
	reasonInput    = "input_required"
	reasonToolCall = "tool_call"
	reasonConfirm  = "confirmation"
)

// approvalPrefix begins the id of an approval. Microsoft.Extensions.AI, from 10.4 on, makes that id
// from the prefix and the id of the call.
const approvalPrefix = "ficc_"

// private is the state that the dialect stores, as JSON, in Interrupt.Private.
type private struct {
	ID json.RawMessage `json:"id,omitempty"` // the backend's id, if it is not a string
	// the question can be denied by {"approved":false}
	Approval bool `json:"approval,omitempty"`
}

// fields are the members of a backend's interrupt: the id, reason and payload of v1, and the
// members of AG-UI's Interrupt. rest has all other members, and those of an unexpected type.
type fields struct {
	id, reason, message, toolCallID, schema, expires, subagent, metadata gjson.Result
	// the payload, or if there is none the value
	content gjson.Result
	rest    []byte
}

func readFields(native gjson.Result, how form) fields {
	f := fields{rest: []byte{'{'}}
	native.ForEach(func(k, v gjson.Result) bool {
		text := v.Type == gjson.String
		var into *gjson.Result
		switch {
		case v.Type == gjson.Null: // clients from 0.0.54 on fail at null
			return true
		case k.Str == "id":
			f.id = v
			return true
		case k.Str == "reason" && text:
			into = &f.reason
		case k.Str == "message" && text:
			into = &f.message
		case k.Str == "toolCallId" && text:
			f.toolCallID = v // rest keeps it too, in case the client lacks the call
		case k.Str == "responseSchema" && v.IsObject():
			into = &f.schema
		case k.Str == "expiresAt" && text && how != byObject: // v1 has no expiry
			into = &f.expires
		case k.Str == "subagentRunId" && text:
			into = &f.subagent
		case k.Str == "metadata" && v.IsObject():
			into = &f.metadata
		case k.Str == "payload", k.Str == "value" && !native.Get("payload").Exists():
			f.content = kit.ParseText(v)
		}
		if into != nil {
			*into = v
		}
		if into == nil || k.Str == "reason" && how == byObject {
			f.rest = kit.AppendMember(f.rest, k.Raw, v.Raw)
		}
		return true
	})
	return f
}

// interrupt returns the backend's interrupt as the client must get it. The parameter calls has the
// calls that the client has seen. The parameter result is the member result of the event that has a
// v1 interrupt, if it exists.
func interrupt(native gjson.Result, how form, result gjson.Result, calls []agui.Call) agui.Interrupt {
	f := readFields(native, how)
	approval := f.content.Get("functionName").Type == gjson.String
	call := f.call(approval, calls)

	reason := f.reasonFor(approval, call)
	if f.reason.Exists() && f.reason.Str != reason && how != byObject {
		f.rest = kit.AppendMember(f.rest, `"reason"`, f.reason.Raw)
	}
	o := kit.Question{
		Reason: reason, Message: f.text(), Call: call, Schema: f.responseSchema(approval),
		ExpiresAt: f.expires.Raw, SubagentID: f.subagent.Raw, Metadata: string(f.allMetadata(call, result)),
	}
	return f.withID(agui.Interrupt{Object: o.Object()}, approval)
}

// withID sets the backend's id in the interrupt, unchanged.
func (f fields) withID(i agui.Interrupt, approval bool) agui.Interrupt {
	kept := private{Approval: approval}
	switch {
	case f.id.Type == gjson.String:
		i.Native = f.id.Str
	case f.id.Type == gjson.Number:
		i.Native, kept.ID = f.id.Raw, json.RawMessage(f.id.Raw)
	case f.id.Exists():
		kept.ID = json.RawMessage(f.id.Raw)
	}
	if kept.Approval || kept.ID != nil {
		i.Private = agui.MustMarshal(kept)
	}
	return i
}

// reasonFor returns the reason for the client. It is the backend's reason, with one exception: the
// reason tool_call is replaced if the client has not seen the call. Without a reason of the backend
// it is one of the reasons above.
func (f fields) reasonFor(approval bool, call string) string {
	switch {
	case f.reason.Exists() && (f.reason.Str != reasonToolCall || call != ""):
		return f.reason.Str
	case f.reason.Exists():
		return reasonConfirm
	case approval && call != "":
		return reasonToolCall
	case approval:
		return reasonConfirm
	}
	return reasonInput
}

// text returns the text of the question, or "" if the interrupt has none.
func (f fields) text() string {
	if f.message.Exists() {
		return f.message.Str
	}
	return calls.Text(f.content)
}

// responseSchema returns the schema of the interrupt, or else the schema of an approval. If the
// interrupt has no schema and is not an approval, responseSchema returns "", because any default
// would refuse answers to forms and free questions.
func (f fields) responseSchema(approval bool) string {
	for _, s := range []gjson.Result{f.schema, f.content.Get("responseSchema"), f.content.Get("schema")} {
		if s.IsObject() {
			return s.Raw
		}
	}
	if approval {
		return kit.ApprovalSchema // only an approval has an answer of known form
	}
	return ""
}

// call returns the id of the call that the question is about, or "" if this is not certain. It is
// certain if the interrupt's toolCallId names a call that the client has seen. It is also certain
// if the interrupt's payload or id names such a call that has no result yet.
func (f fields) call(approval bool, calls []agui.Call) string {
	seen := func(id string, answered bool) bool {
		return id != "" && slices.ContainsFunc(calls, func(c agui.Call) bool { return c.ID == id && (answered || !c.Answered) })
	}
	if seen(f.toolCallID.Str, true) {
		return f.toolCallID.Str
	}
	named := []string{f.content.Get("toolCallId").Str, f.content.Get("tool_call_id").Str, f.id.Str}
	if id, ok := strings.CutPrefix(f.id.Str, approvalPrefix); ok && approval {
		named = append(named, id)
	}
	for _, id := range named {
		if seen(id, false) {
			return id
		}
	}
	return ""
}

// allMetadata returns the metadata for the client: the interrupt's own metadata, and under the name
// of the dialect the interrupt's other members.
func (f fields) allMetadata(call string, result gjson.Result) []byte {
	own := append(f.rest, '}')
	if f.toolCallID.Exists() && f.toolCallID.Str == call {
		own = kit.WithoutMembers(agui.View(own), "toolCallId")
	}
	own = own[:len(own)-1]
	if result.Exists() {
		own = kit.AppendMember(own, `"result"`, result.Raw)
	}
	if !f.id.Exists() {
		own = kit.AppendMember(own, `"idOmitted"`, "true")
	}
	if own = append(own, '}'); len(own) == len("{}") {
		return []byte(f.metadata.Raw)
	}
	m := []byte(`{}`)
	if f.metadata.Exists() {
		m = []byte(f.metadata.Raw)
	}
	return agui.SetKey(m, Name, own)
}
