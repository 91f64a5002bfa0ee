package agentframework

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// What an interrupt asks.
const (
	approval = "approval" // may this tool call run
	confirm  = "confirm"  // may this predicted state stay
	request  = "request"  // what a workflow wants to know
)

// An ask is one question of a run, and Interrupt.Private: what the answer needs.
type ask struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`             // the backend's: of the approval, of the confirm_changes call, of the request
	Call string `json:"call,omitempty"` // the tool call that it is about
	Name string `json:"name,omitempty"` // and its tool
	// Args are the call's arguments exactly as the backend wrote them: 1.0.0rc4 and later compare
	// (agent-framework 6376).
	Args json.RawMessage `json:"args,omitempty"`
	// Confirm is the id of the confirm_changes call, which no client keeps.
	Confirm string `json:"confirm,omitempty"`
	// Hosted: the call's START was never streamed, for the model's provider runs it. Nor is its
	// result then.
	Hosted bool `json:"hosted,omitempty"`

	about json.RawMessage // what goes into the metadata
	text  string          // a workflow's question
	kind  string          // the Python type of the answer that a workflow wants
}

// metadataKey is the framework's own in an Interrupt's metadata.
const metadataKey = "agent_framework"

// mayAsk reports whether calls of that tool have to wait for their arguments.
func mayAsk(tool string) bool { return tool == microsoft.ConfirmChanges || tool == requestInfo }

// Names of the CUSTOM events that ask; the latter is a call's too.
const (
	approvalRequest = "function_approval_request"
	requestInfo     = "request_info"
)

// readCustom reads the CUSTOM event that asks:
//
//	function_approval_request {"id":I,"function_call":{"call_id":C,"name":N,"arguments":{..}}}
//	request_info              {"request_id":R,"request_type":T,"response_type":T,"data":..}
func readCustom(ev agui.Event) (ask, bool) {
	if ev.Type != agui.Custom {
		return ask{}, false
	}
	name := agui.View(ev.JSON).Get("name").Str
	if name != approvalRequest && name != requestInfo || !ev.Valid() {
		return ask{}, false
	}
	value := ev.Get("value")
	switch name {
	case approvalRequest:
		return readApproval(value.Get("id"), value.Get("function_call"))
	case requestInfo:
		return readRequest(value)
	}
	return ask{}, false
}

func readApproval(id, call gjson.Result) (ask, bool) {
	callID, name := call.Get("call_id"), call.Get("name")
	if callID.Str == "" || name.Type != gjson.String {
		return ask{}, false
	}
	a := ask{Kind: approval, ID: id.Str, Call: callID.Str, Name: name.Str, Args: raw(call.Get("arguments")), about: raw(call)}
	if a.ID == "" {
		a.ID = a.Call
	}
	return a, true
}

func readRequest(value gjson.Result) (ask, bool) {
	id, kind := value.Get("request_id"), value.Get("response_type")
	if id.Str == "" || kind.Type != gjson.String || !value.Get("data").Exists() {
		return ask{}, false
	}
	return ask{Kind: request, ID: id.Str, about: raw(value), text: question(value.Get("data")), kind: kind.Str}, true
}

// question returns what a workflow's request says, as the outcome of 1.0.0rc8 and later has it in
// message.
func question(data gjson.Result) string {
	if data.Type == gjson.String {
		return data.Str
	}
	for _, key := range []string{"message", "prompt", "question"} {
		if v := data.Get(key); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}

// readCall reads a synthetic call by its arguments: many products have a tool of one of the names.
// confirm_changes has {"function_name","function_call_id","function_arguments","steps"};
// request_info what the CUSTOM event of that name has.
func readCall(c agui.Call) (ask, bool) {
	if c.Name == requestInfo {
		a, ok := readRequest(parsed(c.Args))
		return a, ok && a.ID == c.ID
	}
	args := parsed(c.Args)
	call, name := args.Get("function_call_id"), args.Get("function_name")
	if call.Type != gjson.String || name.Type != gjson.String {
		return ask{}, false
	}
	return ask{Kind: confirm, ID: c.ID, Confirm: c.ID, Call: call.Str, Name: name.Str, Args: raw(args.Get("function_arguments"))}, true
}

func parsed(text string) gjson.Result {
	if !agui.ValidJSON([]byte(text)) {
		return gjson.Result{}
	}
	return gjson.Parse(text)
}

func raw(v gjson.Result) json.RawMessage {
	if !v.Exists() {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// listedInterrupt is RUN_FINISHED.interrupt of 1.0.0rc7, a list of {id,value}.
func listedInterrupt(finish agui.Event) []gjson.Result {
	list := finish.Get("interrupt")
	if !list.IsArray() || !finish.Valid() {
		return nil
	}
	var out []gjson.Result
	for _, i := range list.Array() {
		if i.Get("id").Str != "" {
			out = append(out, i)
		}
	}
	return out
}

// readListed reads an entry of that list that no event told of.
func readListed(i gjson.Result) ask {
	id, value := i.Get("id"), i.Get("value")
	if a, ok := readApproval(id, value.Get("function_call")); ok && value.Get("type").Str == approvalRequest {
		return a
	}
	return ask{Kind: request, ID: id.Str, text: question(value)}
}

// object returns the Interrupt for a question that came without one. call reports whether the
// client has seen the tool call.
func (a ask) object(seen bool) json.RawMessage {
	type object struct {
		Reason   string          `json:"reason"`
		Message  string          `json:"message,omitempty"`
		Call     string          `json:"toolCallId,omitempty"`
		Schema   json.RawMessage `json:"responseSchema,omitempty"`
		Metadata any             `json:"metadata,omitempty"`
	}
	o := object{Schema: json.RawMessage(kit.ApprovalSchema)}
	if seen {
		o.Call = a.Call
	}
	switch a.Kind {
	case approval:
		o.Reason, o.Message = "tool_call", "Approve running "+a.Name+"?"
	case confirm:
		o.Reason, o.Message, o.Schema = "confirmation", "Approve the proposed changes?", json.RawMessage(confirmSchema)
		if a.Name != "" {
			o.Message = "Approve the proposed changes from " + a.Name + "?"
		}
	case request:
		o.Reason, o.Message, o.Call, o.Schema = "input_required", a.text, "", schemaOf(a.kind)
	}
	if about := a.metadata(); about != nil {
		o.Metadata = map[string]json.RawMessage{metadataKey: about}
	}
	return agui.MustMarshal(o)
}

const confirmSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},"steps":{"type":"array"}},"required":["approved"]}`

// metadata returns what the outcome of 1.0.0rc8 and later has under metadata.agent_framework.
func (a ask) metadata() json.RawMessage {
	type call struct {
		ID   string          `json:"call_id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments,omitempty"`
	}
	switch {
	case a.Kind == request && a.about != nil:
		return agui.SetString(kit.Pruned(agui.View(a.about)), "type", "workflow_request_info")
	case a.Kind == request || a.Call == "":
		return nil
	}
	about := a.about
	if about == nil {
		about = agui.MustMarshal(call{a.Call, a.Name, a.Args})
	}
	return agui.MustMarshal(struct {
		Type string          `json:"type"`
		Call json.RawMessage `json:"function_call"`
	}{approvalRequest, about})
}

// schemaOf returns the schema of a Python type, as the outcome of 1.0.0rc8 and later has it; nil
// for one that is not simple.
func schemaOf(kind string) json.RawMessage {
	switch kind {
	case "bool":
		return json.RawMessage(`{"type":"boolean"}`)
	case "str":
		return json.RawMessage(`{"type":"string"}`)
	case "int":
		return json.RawMessage(`{"type":"integer"}`)
	case "float":
		return json.RawMessage(`{"type":"number"}`)
	case "dict":
		return json.RawMessage(`{"type":"object","additionalProperties":true}`)
	case "list":
		return json.RawMessage(`{"type":"array"}`)
	}
	return nil
}

// isStatus reports whether a CUSTOM event is the state of a workflow's run, with which all its
// streams begin.
func isStatus(ev agui.Event) bool {
	if agui.View(ev.JSON).Get("name").Str != "status" || !ev.Valid() || len(ev.Get("value").Map()) != 1 {
		return false
	}
	switch ev.Get("value.state").Str {
	case "STARTED", "IN_PROGRESS", "IN_PROGRESS_PENDING_REQUESTS", "IDLE", "IDLE_WITH_PENDING_REQUESTS", "FAILED", "CANCELLED":
		return true
	}
	return false
}
