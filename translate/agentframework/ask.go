package agentframework

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// The kinds of questions.
const (
	approval = "approval" // whether a tool call may run
	confirm  = "confirm"  // whether a predicted state may stay
	request  = "request"  // a workflow's question
)

// An ask is one question of a run. As JSON it is Interrupt.Private, where it keeps what the answer
// needs.
type ask struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`             // the backend's id of the approval, the confirm_changes call or the request
	Call string `json:"call,omitempty"` // id of the tool call that the question is about
	Name string `json:"name,omitempty"` // name of that call's tool
	// Args are the call's arguments exactly as the backend wrote them, because 1.0.0rc4 and later
	// compare them with those of the answer (agent-framework 6376).
	Args json.RawMessage `json:"args,omitempty"`
	// Confirm is the id of the confirm_changes call. Holdpoint hides this call from clients.
	Confirm string `json:"confirm,omitempty"`
	// Hosted reports that the model's provider runs the call, so the backend streams neither its START
	// nor its result.
	Hosted bool `json:"hosted,omitempty"`

	about json.RawMessage // the question as the backend sent it, for the metadata
	text  string          // the text of a workflow's question
	kind  string          // the Python type of the answer to a workflow's question
}

// metadataKey is the framework's key in the metadata of an Interrupt.
const metadataKey = "agent_framework"

// mayAsk reports whether a call of the tool may be a question, which only its arguments show.
func mayAsk(tool string) bool { return tool == microsoft.ConfirmChanges || tool == requestInfo }

// The names of the CUSTOM events that ask. requestInfo is also the name of a tool call that asks.
const (
	approvalRequest = "function_approval_request"
	requestInfo     = "request_info"
)

// readCustom reads a CUSTOM event that asks. It returns false for other events:
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

// question returns the text of a workflow's request. It is the text that 1.0.0rc8 and later have in
// the message of their outcome.
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

// readCall reads a call that the framework made up to ask a question. It returns false for other
// calls. It looks at the arguments, because other products have tools with the same names. The
// arguments of confirm_changes are
// {"function_name","function_call_id","function_arguments","steps"}; those of request_info are the
// value of the CUSTOM event of that name.
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

// listedInterrupt returns RUN_FINISHED.interrupt of 1.0.0rc7, a list of {id,value}, or nil if the
// event has none.
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

// readListed reads an entry of listedInterrupt for which the stream had no event.
func readListed(i gjson.Result) ask {
	id, value := i.Get("id"), i.Get("value")
	if a, ok := readApproval(id, value.Get("function_call")); ok && value.Get("type").Str == approvalRequest {
		return a
	}
	return ask{Kind: request, ID: id.Str, text: question(value)}
}

// object returns the Interrupt of a question that the backend sent outside of an interrupt outcome.
// seen reports whether the client has the tool call.
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
		o.Reason, o.Message = "tool_call", fmt.Sprintf(askCall, a.Name)
	case confirm:
		o.Reason, o.Message, o.Schema = "confirmation", askChanges, json.RawMessage(confirmSchema)
		if a.Name != "" {
			o.Message = fmt.Sprintf(askChangesFrom, a.Name)
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

// metadata returns what 1.0.0rc8 and later send under metadata.agent_framework of their outcome.
func (a ask) metadata() json.RawMessage {
	type call struct {
		ID   string          `json:"call_id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments,omitempty"`
	}
	switch {
	case a.Kind == request && a.about != nil:
		return agui.SetString(kit.WithoutMembers(agui.View(a.about)), "type", "workflow_request_info")
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

// schemaOf returns the schema of a simple Python type, as 1.0.0rc8 and later send it in their
// outcome, or nil for any other type.
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

// isStatus reports whether a CUSTOM event is the state of a workflow's run. All streams of
// workflows begin with it.
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
