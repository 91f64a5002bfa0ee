package agentframework

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// The kinds of questions, with what each asks.
const (
	approval = "approval" // May a tool call run?
	confirm  = "confirm"  // May a predicted state stay?
	request  = "request"  // a question of a workflow
)

// An ask is one question of a run. Its JSON is stored as Interrupt.Private. So it has everything
// that is needed to send the answer.
type ask struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`             // the backend's id of the approval, confirm_changes call or request
	Call string `json:"call,omitempty"` // id of the tool call that the question is about
	Name string `json:"name,omitempty"` // name of that call's tool
	// Args are the call's arguments exactly as the backend wrote them. 1.0.0rc4 and later compare
	// them with the arguments in the answer (agent-framework 6376), so they must not change.
	Args json.RawMessage `json:"args,omitempty"`
	// Confirm is the id of the confirm_changes call. Holdpoint hides this call from clients.
	Confirm string `json:"confirm,omitempty"`
	// Hosted is true if the model's provider runs the call. The backend then streams neither the
	// TOOL_CALL_START of the call nor its result.
	Hosted bool `json:"hosted,omitempty"`

	about json.RawMessage // the question as the backend sent it, for the metadata
	text  string          // the text of a workflow's question
	kind  string          // for a workflow's question: the Python type of the answer
}

// metadataKey is the key under which the framework writes into the metadata of an Interrupt.
const metadataKey = "agent_framework"

// mayAsk reports whether a call of the tool may be a question. The caller must look at the
// arguments to be sure.
func mayAsk(tool string) bool { return tool == microsoft.ConfirmChanges || tool == requestInfo }

// The names of the CUSTOM events that ask a question. Some versions also ask with a tool call named
// request_info.
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

// question returns the text of the request of a workflow that has these data. It is the text that
// 1.0.0rc8 and later send as the message of their interrupt outcome.
func question(data gjson.Result) string {
	return cmp.Or(data.Str, kit.FirstText(data, "message", "prompt", "question"))
}

// readCall reads a tool call that the framework made up to ask a question. It returns false for
// other calls. It examines the arguments, because other products have tools with the same names.
// The arguments of confirm_changes are
// {"function_name","function_call_id","function_arguments","steps"}. The arguments of request_info
// are the value of the CUSTOM event request_info.
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

// listedInterrupt returns the entries {id,value} of RUN_FINISHED.interrupt, a list that 1.0.0rc7
// sends. It returns nil if the event has no such list.
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

// readListed returns the question of an entry of listedInterrupt. It is used for entries without an
// event of their own in the stream.
func readListed(i gjson.Result) ask {
	id, value := i.Get("id"), i.Get("value")
	if a, ok := readApproval(id, value.Get("function_call")); ok && value.Get("type").Str == approvalRequest {
		return a
	}
	return ask{Kind: request, ID: id.Str, text: question(value)}
}

// object returns the Interrupt for a question that the backend did not send in an interrupt
// outcome. The parameter seen says that the client has the tool call, so the Interrupt may name it.
func (a ask) object(seen bool) json.RawMessage {
	q := kit.Question{Schema: kit.ApprovalSchema}
	if seen {
		q.Call = a.Call
	}
	switch a.Kind {
	case approval:
		q.Reason, q.Message = "tool_call", fmt.Sprintf(askCall, a.Name)
	case confirm:
		q.Reason, q.Message, q.Schema = "confirmation", askChanges, confirmSchema
		if a.Name != "" {
			q.Message = fmt.Sprintf(askChangesFrom, a.Name)
		}
	case request:
		q.Reason, q.Message, q.Call, q.Schema = "input_required", a.text, "", schemaOf(a.kind)
	}
	if about := a.metadata(); about != nil {
		q.Metadata = string(agui.MustMarshal(map[string]json.RawMessage{metadataKey: about}))
	}
	return q.Object()
}

const confirmSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},"steps":{"type":"array"}},"required":["approved"]}`

// metadata returns the object that 1.0.0rc8 and later send as metadata.agent_framework of an
// interrupt of their outcome.
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

// schemaOf returns the JSON schema that 1.0.0rc8 and later send for a simple Python type. It
// returns "" for any other type.
func schemaOf(kind string) string {
	switch kind {
	case "bool":
		return `{"type":"boolean"}`
	case "str":
		return `{"type":"string"}`
	case "int":
		return `{"type":"integer"}`
	case "float":
		return `{"type":"number"}`
	case "dict":
		return `{"type":"object","additionalProperties":true}`
	case "list":
		return `{"type":"array"}`
	}
	return ""
}

// isStatus reports whether a CUSTOM event contains the status of a workflow's run. The stream of
// every workflow begins with this event.
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
