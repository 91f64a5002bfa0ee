package langgraphapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/translate/kit"
)

// parsePerCall reads the request that langchain's human-in-the-loop middleware makes for one call
// (interrupt_mode="per_call", langchain 1.4.6 and later, ToolApprovalRequest). Its answer is one
// decision.
//
// The parameter schema is the interrupt's response_schema. It lists the allowed decisions, and has
// the schema of edited arguments. If raw events are off, the stream does not contain it. Then
// Holdpoint offers only approve and reject. If the arguments do not fit the tool, LangGraph refuses
// them before it runs anything.
func parsePerCall(v gjson.Result, schema json.RawMessage) (review, bool) {
	r := review{shape: PerCall}
	name, call := v.Get("name"), v.Get("tool_call_id")
	if !v.IsObject() || v.Get("type").Str != "tool_approval" || name.Type != gjson.String || call.Type != gjson.String {
		return r, false
	}
	a := ask{tool: name.Str, call: call.Str, args: RawOf(v.Get("args")), argsKey: "args", toolFixed: true}
	if text := v.Get("description"); text.Type == gjson.String && text.Str != "" {
		a.message = &text.Str
	}
	root := gjson.ParseBytes(schema)
	for _, branch := range branches(root) {
		kind := constOf(branch.Get("properties.type"))
		if kind == "" || slices.Contains(a.allowed, kind) {
			continue
		}
		a.allowed = append(a.allowed, kind)
		if kind == "edit" {
			action := target(root, branch.Get("properties.edited_action"))
			a.edits = argsSchema(root, target(root, action.Get("properties.args")))
		}
	}
	if len(a.allowed) == 0 {
		a.allowed = []string{"approve", "reject"}
	}
	r.asks = []ask{a}
	return r, true
}

// branches returns one schema for each decision of a response_schema: the members of its union, or
// the response_schema itself.
func branches(root gjson.Result) []gjson.Result {
	var list []gjson.Result
	for _, key := range []string{"oneOf", "anyOf"} {
		for _, one := range root.Get(key).Array() {
			list = append(list, target(root, one))
		}
	}
	if list == nil {
		list = []gjson.Result{target(root, root)}
	}
	return list
}

// target returns the definition that the schema refers to, or the schema itself if it has no
// reference. The backend chooses the name of the definition, so the name must not be a part of a
// gjson path.
func target(root, schema gjson.Result) gjson.Result {
	name, ok := strings.CutPrefix(schema.Get("$ref").Str, "#/$defs/")
	if !ok {
		return schema
	}
	var found gjson.Result
	root.Get("$defs").ForEach(func(k, v gjson.Result) bool {
		if k.Str == name {
			found = v
		}
		return k.Str != name
	})
	return found
}

func constOf(schema gjson.Result) string {
	if one := schema.Get("const"); one.Exists() {
		return one.Str
	}
	if list := schema.Get("enum").Array(); len(list) == 1 {
		return list[0].Str
	}
	return ""
}

// argsSchema returns the schema args of edited arguments. If it has references, the definitions of
// root are added.
func argsSchema(root, args gjson.Result) json.RawMessage {
	if !args.IsObject() {
		return nil
	}
	defs := root.Get("$defs")
	if !strings.Contains(args.Raw, `"$ref"`) || !defs.IsObject() || args.Get("$defs").Exists() {
		return RawOf(args)
	}
	open := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(args.Raw), "}"))
	return append(kit.AppendMember([]byte(open), `"$defs"`, defs.Raw), '}')
}
