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

// These are the reasons of interrupts that came without one.
const (
	reasonInput    = "input_required"
	reasonToolCall = "tool_call"
	reasonConfirm  = "confirmation"
)

// approvalPrefix stands before a call's id in the id of its approval. Microsoft.Extensions.AI puts
// it there from 10.4 on.
const approvalPrefix = "ficc_"

// private is what an interrupt keeps for its resume.
type private struct {
	ID       json.RawMessage `json:"id,omitempty"`       // as it came, if that was no text
	Approval bool            `json:"approval,omitempty"` // {"approved":false} is its no
}

// fields are the members of a native interrupt. They are v1's id, reason and payload, and those
// that AG-UI's Interrupt has taken over since. rest keeps every other member, and those of an
// unexpected type.
type fields struct {
	id, reason, message, toolCallID, schema, expires, subagent, metadata gjson.Result
	content                                                              gjson.Result // the payload, else the value
	rest                                                                 []byte
}

func readFields(native gjson.Result, how form) fields {
	f := fields{rest: []byte{'{'}}
	native.ForEach(func(k, v gjson.Result) bool {
		text := v.Type == gjson.String
		var into *gjson.Result
		switch {
		case v.Type == gjson.Null: // fatal to clients from 0.0.54 on
			return true
		case k.Str == "id":
			f.id = v
			return true
		case k.Str == "reason" && text:
			into = &f.reason
		case k.Str == "message" && text:
			into = &f.message
		case k.Str == "toolCallId" && text:
			f.toolCallID = v // of a call that the client does not know it stays in rest
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

// interrupt returns a native interrupt as the client gets it. calls are the calls that the client
// has seen. result is what stood beside a v1 interrupt, if anything did.
func interrupt(native gjson.Result, how form, result gjson.Result, calls []agui.Call) agui.Interrupt {
	f := readFields(native, how)
	approval := f.content.Get("functionName").Type == gjson.String
	call := f.call(approval, calls)

	reason := f.reasonFor(approval, call)
	if f.reason.Exists() && f.reason.Str != reason && how != byObject {
		f.rest = kit.AppendMember(f.rest, `"reason"`, f.reason.Raw)
	}
	o := kit.AppendText([]byte{'{'}, "reason", reason)
	if message := f.text(); message != "" {
		o = kit.AppendText(o, "message", message)
	}
	if call != "" {
		o = kit.AppendText(o, "toolCallId", call)
	}
	if schema := f.responseSchema(approval); schema != "" {
		o = kit.AppendMember(o, `"responseSchema"`, schema)
	}
	if f.expires.Exists() {
		o = kit.AppendMember(o, `"expiresAt"`, f.expires.Raw)
	}
	if f.subagent.Exists() {
		o = kit.AppendMember(o, `"subagentRunId"`, f.subagent.Raw)
	}
	if m := f.allMetadata(call, result); len(m) > 0 {
		o = kit.AppendMember(o, `"metadata"`, string(m))
	}
	return f.withID(agui.Interrupt{Object: append(o, '}')}, approval)
}

// withID fills in what goes back to the backend: the id as it came, or none.
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

// reasonFor returns the backend's reason. The reason tool_call needs a call that the client has
// seen; without one it is replaced.
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

// text returns what is asked, if that can be told.
func (f fields) text() string {
	if f.message.Exists() {
		return f.message.Str
	}
	return calls.Text(f.content)
}

// responseSchema returns the schema that came with the interrupt, or the schema of an approval. It
// returns "" if there is neither, because a default would refuse the answers to forms and free
// questions.
func (f fields) responseSchema(approval bool) string {
	for _, s := range []gjson.Result{f.schema, f.content.Get("responseSchema"), f.content.Get("schema")} {
		if s.IsObject() {
			return s.Raw
		}
	}
	if approval {
		return kit.ApprovalSchema // only if the shape of the answer is known
	}
	return ""
}

// call returns the id of the call that is asked about, or "" if that is not sure. It is sure in two
// cases. The interrupt names a call that the client has seen. Or its payload or its own id names a
// call that has no result yet.
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

// allMetadata returns the interrupt's own metadata. What else the interrupt said stands there under
// the dialect's name.
func (f fields) allMetadata(call string, result gjson.Result) []byte {
	own := append(f.rest, '}')
	if f.toolCallID.Exists() && f.toolCallID.Str == call {
		own = kit.Pruned(agui.View(own), "toolCallId")
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
