package agentframework

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// callsOf returns the tool calls of a message.
func callsOf(m agui.Message) []agui.Call {
	var list []agui.Call
	for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
		list = append(list, agui.Call{ID: agui.IDText(c.Get("id")), Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Str})
	}
	return list
}

// lastCalls returns a map from each call's id to the index of the last message that has this call.
// Providers repeat the ids of their calls.
func lastCalls(list []agui.Message) map[string]int {
	at := map[string]int{}
	for n, m := range list {
		for _, c := range callsOf(m) {
			at[c.ID] = n
		}
	}
	return at
}

// arguments returns the JSON text of the call's arguments.
func (a ask) arguments() string {
	if v := gjson.ParseBytes(a.Args); v.Type == gjson.String {
		return v.Str
	}
	if len(a.Args) == 0 {
		return "{}"
	}
	return string(a.Args)
}

// withArguments returns the message m with the arguments that the questions have. It changes only
// the calls whose arguments differ from those of their question.
func withArguments(m agui.Message, asked func(call string) (ask, bool)) agui.Message {
	calls := gjson.GetBytes(m.JSON, "toolCalls").Array()
	changed := false
	list := make([]json.RawMessage, len(calls))
	for n, c := range calls {
		list[n] = json.RawMessage(c.Raw)
		a, ok := asked(agui.IDText(c.Get("id")))
		if !ok || len(a.Args) == 0 || string(agui.Canonical([]byte(c.Get("function.arguments").Str))) == string(agui.Canonical([]byte(a.arguments()))) {
			continue
		}
		list[n] = agui.SetString(list[n], "function.arguments", a.arguments())
		changed = true
	}
	if !changed {
		return m
	}
	return agui.ParseMessage(agui.SetKey(m.JSON, "toolCalls", agui.MustMarshal(list)))
}

// isDecision reports whether the content of a tool message is a decision of the framework, and not
// the result of a tool. A decision is an object with a boolean "accepted". All its other keys are
// "steps" or properties of the schema.
func isDecision(content gjson.Result, schema json.RawMessage) bool {
	v := content
	if v.Type == gjson.String {
		v = parsed(v.Str)
	}
	if !v.IsObject() {
		return false
	}
	known := gjson.GetBytes(schema, "properties").Map()
	decides, only := false, true
	v.ForEach(func(k, value gjson.Result) bool {
		decides = decides || k.Str == "accepted" && value.IsBool() // Python uses the last of two equal keys
		_, ok := known[k.Str]
		only = ok || k.Str == "accepted" || k.Str == "steps"
		return only
	})
	return decides && only
}
