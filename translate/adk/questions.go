package adk

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// The names of the calls with which ADK and its AG-UI package ask.
const (
	requestConfirmation = "adk_request_confirmation"
	requestInput        = "adk_request_input"
	requestCredential   = "adk_request_credential"
	confirmChanges      = "confirm_changes"

	protocolPrefix = "adk_request_" // begins the names of ADK's own calls
)

// isProtocolCall reports whether name is a call with which ADK itself asks. The dialect hides these
// calls from the client.
func isProtocolCall(name string) bool {
	return name == requestConfirmation || name == requestInput || name == requestCredential
}

// confirmSchema and changesSchema describe the only payloads that ADK reads as a decision. It reads
// anything else as a yes.
const (
	confirmSchema = `{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"],"additionalProperties":false}`
	changesSchema = `{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`
)

// cancelled is the result that a long-running tool gets for a cancelled question. It is ADK's own
// text (ag_ui_adk adk_agent.py _CANCELLED_TOOL_RESULT).
const cancelled = `{"status":"cancelled","cancelled":true}`

type kind = calls.Kind

var (
	confirmWords = &calls.Words{Key: "confirmed", Aliases: []string{"approved"}, Extra: "payload"}
	changesWords = &calls.Words{Key: "accepted", Aliases: []string{"confirmed", "approved"}}
)

// The kinds of questions:
//
//   - confirm: a call waits for permission to run.
//   - changes: a predicted state may stay or not.
//   - job: a person gives the result of a long-running tool.
//   - input: a node or a model needs a value.
//   - confirmNode: a node of a workflow waits for permission to run.
//   - credential: a tool or a node needs a credential.
var (
	confirm     = &kind{Name: "confirm", Words: confirmWords, Wrong: wrong("confirmed"), Cancel: `{"confirmed":false}`, Hidden: true}
	changes     = &kind{Name: "changes", Words: changesWords, Wrong: wrong("accepted"), Cancel: `{"accepted":false,"cancelled":true}`, Results: calls.Always}
	job         = &kind{Name: "job", Value: jobResult, Unwrap: unwrapPayload, Cancel: cancelled, Results: calls.Always}
	input       = &kind{Name: "input", Value: inputValue, Unwrap: unwrappedInput, NoCancel: textNoCancel, Hidden: true}
	confirmNode = &kind{Name: "confirm-node", Words: confirmWords, Wrong: wrong("confirmed"), NoCancel: textNoCancel, Hidden: true}
	credential  = &kind{Name: "credential", Value: credentialValue, Unwrap: unwrapPayload, NoCancel: textNoCancel, Hidden: true, Secret: true}
)

func wrong(word string) string {
	return fmt.Sprintf(textWrongWord, word)
}

// question returns the question that the call c asks. It returns false if c does not ask.
func (d *Dialect) question(c agui.Call, r *translate.Request) (calls.Question, bool) {
	if isProtocolCall(c.Name) {
		args := gjson.Parse(c.Args)
		switch {
		case !agui.ValidJSON([]byte(c.Args)):
		case c.Name == requestConfirmation:
			return confirmation(args)
		case c.Name == requestInput && args.IsObject():
			return inputQuestion(args), true
		case c.Name == requestCredential && args.Get("authConfig").IsObject():
			return credentialQuestion(args), true
		}
		return calls.Question{}, false
	}
	switch {
	case c.Name == confirmChanges && (c.Args == "" || c.Args == "{}") && isADKs(r.Transcript):
		return calls.Question{Kind: changes, Reason: "confirm_changes", Message: askChanges, Call: c.ID, Schema: changesSchema}, true
	case d.ask.Match(c.Name):
		return calls.Question{Kind: job, Reason: "input_required", Message: calls.WaitsFor(c.Name), Call: c.ID}, true
	}
	return calls.Question{}, false
}

// isADKs reports whether the state of the run has the two keys that ag-ui-adk writes. The caller
// needs this because other backends have calls of confirm_changes too.
func isADKs(t agui.Transcript) bool {
	state, known := t.State()
	if !known || state == nil {
		return false
	}
	return gjson.GetBytes(state, "_ag_ui_thread_id").Type == gjson.String && gjson.GetBytes(state, "_ag_ui_app_name").Type == gjson.String
}

// confirmation returns the question that an adk_request_confirmation call with these arguments
// asks. ADK later sends a result for the call that the question is about, whether that call ran,
// failed or was denied.
func confirmation(args gjson.Result) (calls.Question, bool) {
	original, details := args.Get("originalFunctionCall"), args.Get("toolConfirmation")
	name := original.Get("name")
	if name.Type != gjson.String || !details.IsObject() {
		return calls.Question{}, false
	}
	about := asked(name.Str, original.Get("args"))
	about.ID = original.Get("id").Str
	q := calls.Question{
		Kind: confirm, Reason: "confirmation", Message: cmp.Or(details.Get("hint").Str, calls.AsksToCall(name.Str)),
		Call: about.ID, Schema: confirmSchema, Calls: []agui.AskedCall{about}, Runs: about.ID,
	}
	q.Metadata = `{"adk":{"originalFunctionCall":` + original.Raw + `,"toolConfirmation":` + details.Raw + `}}`
	return q, true
}

func asked(name string, args gjson.Result) agui.AskedCall {
	if !args.IsObject() {
		return agui.AskedCall{Name: name, Args: "{}"}
	}
	return agui.AskedCall{Name: name, Args: args.Raw}
}

// inputQuestion returns the question that an adk_request_input call with these arguments asks. In
// ADK 2 two things make this call: a node of a workflow that yields a RequestInput, and a model
// that uses the tool adk_request_input (RAN google-adk 2.13.0). A node with require_confirmation
// makes it with the schema of a ToolConfirmation; then the question is a confirmation.
func inputQuestion(args gjson.Result) calls.Question {
	q := calls.Question{Kind: input, Reason: "input_required", Message: cmp.Or(args.Get("message").Str, askInput)}
	schema := args.Get("response_schema")
	if schema.IsObject() {
		q.Schema = schema.Raw
	}
	if schema.Get("title").Str == "ToolConfirmation" && schema.Get("properties.confirmed").Exists() {
		q.Kind, q.Reason, q.Schema = confirmNode, "confirmation", confirmSchema
		if node := args.Get("payload.tool_name").Str; node != "" {
			q.Calls = []agui.AskedCall{asked(node, args.Get("payload.args"))}
		}
	}
	if payload := args.Get("payload"); payload.Exists() && payload.Type != gjson.Null {
		q.Metadata = `{"adk":{"payload":` + payload.Raw + `}}`
	}
	return q
}

// result returns the payload as the result of a tool, which must be a JSON object. An object stays
// as it is. Any other value becomes the only member "result" of an object. An object whose only
// member is "result" is wrapped too, because ADK would unwrap it.
func result(payload json.RawMessage) string {
	value := gjson.ParseBytes(payload)
	if value.IsObject() && (len(value.Map()) != 1 || !value.Get("result").Exists()) {
		return string(agui.AppendCompact(nil, payload))
	}
	if !value.Exists() {
		return `{"result":null}`
	}
	return `{"result":` + string(agui.AppendCompact(nil, payload)) + `}`
}

func jobResult(_ calls.PrivateState, a agui.Answer) (string, error) { return result(a.Payload), nil }

// unwrapPayload is the inverse of result: it returns the payload from which result made the text.
func unwrapPayload(text string) json.RawMessage {
	value := gjson.Parse(text)
	if inner := value.Get("result"); value.IsObject() && len(value.Map()) == 1 && inner.Exists() {
		return json.RawMessage(inner.Raw)
	}
	return json.RawMessage(value.Raw)
}

// inputValue returns the content of the tool message with which ADK gets the payload. If "result"
// is the only member of the content, ADK uses its value, and parses that value as JSON if it is a
// string that can be parsed. inputValue quotes such a string twice, so that ADK gets the string
// itself.
func inputValue(_ calls.PrivateState, a agui.Answer) (string, error) {
	payload, value := a.Payload, gjson.ParseBytes(a.Payload)
	if value.Type == gjson.String && readsAsJSON(value.Str) {
		payload = agui.MustMarshal(string(agui.MustMarshal(value.Str)))
	}
	return result(payload), nil
}

// unwrappedInput is the inverse of inputValue: it returns the payload from which inputValue made
// the text.
func unwrappedInput(text string) json.RawMessage {
	payload := unwrapPayload(text)
	if inner := gjson.ParseBytes(payload); len(payload) < len(strings.TrimSpace(text)) && inner.Type == gjson.String && readsAsJSON(inner.Str) {
		return json.RawMessage(inner.Str)
	}
	return payload
}

// readsAsJSON reports whether Python can parse a text as JSON.
func readsAsJSON(text string) bool {
	switch text {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return agui.ValidJSON([]byte(text))
}

// resumeArray returns the answers as the resume array of an agent with emit_interrupt_outcome.
func resumeArray(replies []kit.ToolReply) json.RawMessage {
	type entry struct {
		ID      string          `json:"interruptId"`
		Status  string          `json:"status"`
		Payload json.RawMessage `json:"payload"`
	}
	list := make([]entry, len(replies))
	for n, r := range replies {
		list[n] = entry{r.Call, string(agui.Resolved), json.RawMessage(r.Content)}
	}
	return agui.MustMarshal(list)
}
