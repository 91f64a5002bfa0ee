package langgraphapi

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// parseHITL reads the request of langchain's human-in-the-loop middleware
// (langchain/agents/middleware/human_in_the_loop.py, langchain/dist/agents/middleware/hitl.js).
func parseHITL(v gjson.Result) (review, bool) {
	r := review{shape: HITL}
	actions, configs := v.Get("action_requests"), v.Get("review_configs")
	nameKey, allowedKey, schemaKey := "action_name", "allowed_decisions", "args_schema"
	if !actions.Exists() {
		r.camel = true
		actions, configs = v.Get("actionRequests"), v.Get("reviewConfigs")
		nameKey, allowedKey, schemaKey = "actionName", "allowedDecisions", "argsSchema"
	}
	if !v.IsObject() || !actions.IsArray() {
		return r, false
	}
	list := configs.Array()
	for i, action := range actions.Array() {
		name := action.Get("name")
		if name.Type != gjson.String {
			return r, false
		}
		a := ask{tool: name.Str, args: RawOf(action.Get("args")), argsKey: "args"}
		if alpha := action.Get("arguments"); a.args == nil && alpha.Exists() {
			a.args, a.argsKey = RawOf(alpha), "arguments"
		}
		config := configFor(list, i, nameKey, name.Str)
		a.message = firstString(action.Get("description"), config.Get("description"))
		for _, d := range config.Get(allowedKey).Array() {
			if d.Type == gjson.String && !slices.Contains(a.allowed, d.Str) {
				a.allowed = append(a.allowed, d.Str)
			}
		}
		if len(a.allowed) == 0 {
			// The middleware itself did not make this request. The graph may not support edits, so
			// Holdpoint does not offer them.
			a.allowed = []string{"approve", "reject"}
		}
		if s := ObjectOf(config.Get(schemaKey)); s != "" {
			a.edits = json.RawMessage(s)
		}
		r.asks = append(r.asks, a)
	}
	return r, len(r.asks) > 0
}

// configFor returns the review config of action i. It is the config at index i if that has the
// action's name, and otherwise the first config with that name.
func configFor(configs []gjson.Result, i int, key, name string) gjson.Result {
	if i < len(configs) && configs[i].Get(key).Str == name {
		return configs[i]
	}
	at := slices.IndexFunc(configs, func(c gjson.Result) bool { return c.Get(key).Str == name })
	if at < 0 {
		return gjson.Result{}
	}
	return configs[at]
}

// hitlDecision returns the decision for an answer, in the middleware's form.
func (r review) hitlDecision(i int, a agui.Answer) (json.RawMessage, *agui.RunError) {
	ask := r.asks[i]
	if a.Status == agui.Cancelled {
		if !ask.allows("reject") {
			return nil, cannotCancel(a.ID)
		}
		reason := resultCancelled
		return addMessage([]byte(`{"type":"reject"`), &reason), nil
	}
	m, ok := Members(a.Payload)
	if !ok {
		return nil, notReadable(a.ID)
	}
	if a.OwnForm {
		if a.Native && r.shape == HITL {
			if m, ok = r.wholeDecision(i, m["decisions"]); !ok {
				return nil, agui.Errorf(agui.InvalidPayload, textDecisionCount, len(r.asks))
			}
		}
		return r.ownDecision(i, a.ID, m)
	}
	if !IsNull(m["type"]) && r.needsDecision(ask) {
		return r.ownDecision(i, a.ID, m)
	}
	v, err := readVerdict(a.ID, m)
	switch {
	case err != nil:
		return nil, err
	case !v.approved:
		if !ask.allows("reject") {
			return nil, notAllowed(a.ID, "reject")
		}
		return addMessage([]byte(`{"type":"reject"`), v.message), nil
	case v.edited != nil:
		if !ask.allows("edit") {
			return nil, notAllowed(a.ID, "edit")
		}
		return r.edit(agui.MustMarshal(ask.tool), v.edited, ask), nil
	case !ask.allows("approve"):
		return nil, notAllowed(a.ID, "approve")
	}
	return json.RawMessage(`{"type":"approve"}`), nil
}

// wholeDecision returns decision i of an answer that has all decisions in the middleware's own
// form.
func (r review) wholeDecision(i int, decisions json.RawMessage) (map[string]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(decisions, &list) != nil || len(list) != len(r.asks) {
		return nil, false
	}
	return Members(list[i])
}

// ownDecision returns the decision that the client sent in the middleware's own form. The type of
// the decision must be allowed. The keys of the result have the spelling that the backend uses.
func (r review) ownDecision(i int, id string, m map[string]json.RawMessage) (json.RawMessage, *agui.RunError) {
	ask := r.asks[i]
	kind, ok := Text(m["type"])
	if !ok {
		return nil, agui.Errorf(agui.InvalidPayload, textNoType, id)
	}
	if !ask.allows(kind) {
		return nil, notAllowed(id, kind)
	}
	approves := kind == "approve" || kind == "edit"
	if approved := m["approved"]; !IsNull(approved) && string(approved) != map[bool]string{true: "true", false: "false"}[approves] {
		return nil, agui.Errorf(agui.InvalidPayload, textTypeContradicts, id)
	}
	switch kind {
	case "approve":
		if edits(m) > 0 {
			return nil, agui.Errorf(agui.InvalidPayload, textApprovesAndEdits, id)
		}
		return json.RawMessage(`{"type":"approve"}`), nil
	case "edit":
		return r.ownEdit(ask, id, m)
	case "reject":
		var message *string
		if s := m["message"]; !IsNull(s) {
			t, ok := Text(s)
			if !ok {
				return nil, agui.Errorf(agui.InvalidPayload, textMessageNotString, id)
			}
			message = &t
		}
		return addMessage([]byte(`{"type":"reject"`), message), nil
	}
	// The only other decision is respond. It is sent unchanged, without the member approved, which
	// belongs to the generic form. The middleware reads the message of respond, so it must have
	// one.
	if _, ok := Text(m["message"]); kind == "respond" && !ok {
		return nil, agui.Errorf(agui.InvalidPayload, textNoMessage, id)
	}
	delete(m, "approved")
	out, err := agui.Marshal(m)
	if err != nil {
		return nil, notReadable(id)
	}
	return out, nil
}

// edits returns the number of members of the payload that contain edited arguments.
func edits(m map[string]json.RawMessage) int {
	n := 0
	for _, key := range []string{"editedArgs", "edited_action", "editedAction"} {
		if !IsNull(m[key]) {
			n++
		}
	}
	return n
}

func (r review) ownEdit(ask ask, id string, m map[string]json.RawMessage) (json.RawMessage, *agui.RunError) {
	if edits(m) > 1 {
		return nil, agui.Errorf(agui.InvalidPayload, textTwoEdits, id)
	}
	name, args := json.RawMessage(agui.MustMarshal(ask.tool)), m["editedArgs"]
	for _, key := range []string{"edited_action", "editedAction"} {
		action, ok := Members(m[key])
		if !ok {
			continue
		}
		if _, isText := Text(action["name"]); isText {
			name = action["name"]
		}
		args = action["args"]
		if IsNull(args) {
			args = action["arguments"]
		}
	}
	if ask.toolFixed && !agui.EqualJSON(name, agui.MustMarshal(ask.tool)) {
		return nil, agui.Errorf(agui.InvalidPayload, textOtherTool, id)
	}
	if IsNull(args) || args[0] != '{' {
		return nil, agui.Errorf(agui.InvalidPayload, textEditWithoutArguments, id)
	}
	return r.edit(name, args, ask), nil
}

// edit returns a decision that approves the call with new arguments. The parameter name is JSON.
func (r review) edit(name, args json.RawMessage, ask ask) json.RawMessage {
	action := kit.AppendMember([]byte{'{'}, `"name"`, string(name))
	action = append(kit.AppendMember(action, `"`+ask.argsKey+`"`, string(args)), '}')
	return append(kit.AppendMember([]byte(`{"type":"edit"`), `"`+r.editKey()+`"`, string(action)), '}')
}

func (r review) editKey() string {
	if r.camel {
		return "editedAction"
	}
	return "edited_action"
}

// editedArgs returns the arguments of a decision that edits. It returns nil for any other decision.
func (r review) editedArgs(decision json.RawMessage) json.RawMessage {
	action := gjson.GetBytes(decision, r.editKey())
	for _, key := range []string{"args", "arguments"} {
		if v := action.Get(key); v.IsObject() {
			return RawOf(v)
		}
	}
	return nil
}
