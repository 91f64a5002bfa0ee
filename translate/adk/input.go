package adk

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// ADK 2 asks for a value by a call of adk_request_input (RAN google-adk 2.13.0): a node of a
// workflow that yields a RequestInput, and a model with the tool of that name. A node with
// require_confirmation asks so too, with the schema of a ToolConfirmation.

// inputQuestion returns the question of a call of adk_request_input.
func inputQuestion(c protocolCall, args gjson.Result) agui.Interrupt {
	k := kept{Kind: input, Call: c.id, Name: requestInput, Args: c.args, Twice: c.twice}
	reason, schema, about := "input_required", "", []agui.AskedCall(nil)
	if given := args.Get("response_schema"); given.IsObject() {
		schema = given.Raw
	}
	if node, ok := confirmedNode(args); ok {
		k.Kind, reason, schema = confirmNode, "confirmation", confirmSchema
		if node.Name != "" {
			about = []agui.AskedCall{node}
		}
	}
	o := kit.AppendText([]byte{'{'}, "reason", reason)
	if message := args.Get("message"); message.Type == gjson.String && message.Str != "" {
		o = kit.AppendText(o, "message", message.Str)
	} else {
		o = kit.AppendText(o, "message", "The agent asks for input.")
	}
	if schema != "" {
		o = kit.AppendMember(o, `"responseSchema"`, schema)
	}
	if payload := args.Get("payload"); payload.Exists() && payload.Type != gjson.Null {
		o = kit.AppendMember(o, `"metadata"`, `{"adk":{"payload":`+payload.Raw+`}}`)
	}
	return agui.Interrupt{
		Native: c.id, Object: append(o, '}'), Keys: []string{c.id}, Calls: about,
		Private: agui.MustMarshal(k),
	}
}

// confirmedNode returns the node that a yes lets run. It returns false if the call does not ask for
// a ToolConfirmation.
func confirmedNode(args gjson.Result) (agui.AskedCall, bool) {
	schema := args.Get("response_schema")
	if schema.Get("title").Str != "ToolConfirmation" || !schema.Get("properties.confirmed").Exists() {
		return agui.AskedCall{}, false
	}
	node := agui.AskedCall{Name: args.Get("payload.tool_name").Str, Args: "{}"}
	if given := args.Get("payload.args"); given.IsObject() {
		node.Args = given.Raw
	}
	return node, true
}

// inputValue returns the content that hands a payload to ADK. ADK takes a lone member result for
// the value, and a text there for JSON if it can be read so.
func inputValue(payload json.RawMessage) string {
	value := gjson.ParseBytes(payload)
	if value.Type == gjson.String && readsAsJSON(value.Str) {
		payload = agui.MustMarshal(string(agui.MustMarshal(value.Str)))
	}
	return result(payload)
}

// readsAsJSON reports whether Python reads a text as JSON.
func readsAsJSON(text string) bool {
	switch text {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return agui.ValidJSON([]byte(text))
}
