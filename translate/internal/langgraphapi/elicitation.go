package langgraphapi

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// parseElicitation reads questions that an MCP server asks during a tool call
// (langchain/mcp/elicitation.py, MCPElicitationInterrupt, langchain 1.4.7 and later). The answer is
// {"responses":{key:{"action":"accept"|"decline"|"cancel","content"}}}, with one response for each
// key. Any other value causes an error in the node, and LangGraph stores that value for good.
func parseElicitation(v gjson.Result) (review, bool) {
	r := review{shape: Elicitation}
	requests := v.Get("requests")
	if !v.IsObject() || v.Get("type").Str != "mcp_elicitation" || !requests.IsArray() {
		return r, false
	}
	keys := map[string]bool{}
	for _, request := range requests.Array() {
		key := request.Get("key")
		if key.Type != gjson.String || keys[key.Str] {
			return r, false
		}
		keys[key.Str] = true
		a := ask{tool: v.Get("tool_name").Str, key: key.Str, message: firstString(request.Get("message"))}
		if url := request.Get("url"); request.Get("mode").Str == "url" && url.Type == gjson.String {
			a.url = &url.Str
		} else if s := request.Get("requested_schema"); !s.IsObject() || asksForMembers(s) {
			a.form = json.RawMessage(`{"type":"object"}`)
			if s.IsObject() {
				a.form = json.RawMessage(s.Raw)
			}
		}
		r.asks = append(r.asks, a)
	}
	return r, len(r.asks) > 0
}

// asksForMembers reports whether the schema of a form has members. A form without members asks for
// a yes or a no.
func asksForMembers(schema gjson.Result) bool {
	found := false
	schema.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "type", "title", "description", "$schema", "additionalProperties":
		case "properties", "required":
			found = found || v.Raw != "{}" && v.Raw != "[]"
		default:
			found = true
		}
		return !found
	})
	return found
}

// accepts reports whether the value accepts one of the MCP server's questions.
func accepts(value json.RawMessage) bool {
	found := false
	gjson.GetBytes(value, "responses").ForEach(func(_, one gjson.Result) bool {
		action := one.Get("action").Str
		found = action != "decline" && action != "cancel"
		return !found
	})
	return found
}

// elicitationNo returns the payload that denies the question i, or nil if the published schema
// already has a denial. A form may ask for a boolean named approved. Its value false is content of
// the form, and not a denial.
func elicitationNo(i agui.Interrupt) json.RawMessage {
	if string(i.Schema()) == kit.ApprovalSchema {
		return nil
	}
	return json.RawMessage(decline)
}

const decline, cancelAction = `{"action":"decline"}`, `{"action":"cancel"}`

// elicitationFields returns the fields of the interrupt for question i. If the person must visit a
// page, the message contains the page's address, because clients show the message.
func (r review) elicitationFields(i int) fields {
	a := r.asks[i]
	f := fields{reason: reasonElicitation, message: a.message, schema: string(r.elicitationSchema(i))}
	if a.url != nil {
		text := *a.url
		if a.message != nil && *a.message != "" {
			text = *a.message + "\n" + text
		}
		f.message = &text
	}
	if f.message == nil {
		f.message = questionAbout(a.tool)
	}
	return f
}

// elicitationSchema returns the schema of the answer to question i. It is the server's own schema
// of a form. For a page, and for a form without members, it is the schema of a yes or a no.
func (r review) elicitationSchema(i int) json.RawMessage {
	if r.asks[i].form == nil {
		return json.RawMessage(kit.ApprovalSchema)
	}
	return r.asks[i].form
}

// elicitationAbout returns the begin of the object metadata.langgraph, with the tool, the key and
// the address of question i. The caller closes the object.
func (r review) elicitationAbout(i int) []byte {
	a := r.asks[i]
	m := kit.AppendText(kit.AppendText([]byte{'{'}, "name", a.tool), "key", a.key)
	if a.url != nil {
		m = kit.AppendText(m, "url", *a.url)
	}
	return m
}

// writeElicited changes an answer to question i into one form. The content of a form becomes the
// payload, so that the schema validates it. A decline or a cancel becomes the server's own word,
// and the answer gets OwnForm.
//
// A form may have a member that a generic answer uses too. Then the payload is read as the content
// of the form. The exception is a payload that can only be a denial: it is read as a denial,
// because that is safe.
func (r review) writeElicited(i int, a *agui.Answer) {
	ask := r.asks[i]
	m, isObject := Members(a.Payload)
	if responses, ok := Members(m["responses"]); ok && len(m) == 1 && !ask.hasMember("responses") {
		if one := responses[ask.key]; one != nil {
			a.Payload = one
			m, isObject = Members(one)
		}
	}
	says, content := "", m["content"]
	switch action, _ := Text(m["action"]); {
	case string(a.Payload) == "false":
		says = "decline"
	case string(a.Payload) == "true":
		says = "accept"
	case !isObject:
	case ask.isDenial(m):
		says = "decline"
	case len(m) == 1 && action == "cancel":
		says = action
	case (action == "accept" || action == "decline" || action == "cancel") && !ask.hasMember("action"):
		if hasOnly(m, "action", "content") || action != "accept" && hasOnly(m, "action", "content", "message", "reason") {
			says = action
		}
	case ask.hasMember("approved"):
	case string(m["approved"]) == "false":
		says = "decline"
	case string(m["approved"]) == "true" && hasOnly(m, "approved", "content", "message"):
		says = "accept"
	}
	switch says {
	case "decline":
		a.Payload, a.OwnForm = json.RawMessage(decline), true
	case "cancel":
		a.Payload, a.OwnForm = json.RawMessage(cancelAction), true
	case "accept":
		switch {
		case ask.form == nil:
			a.Payload = json.RawMessage(`{"approved":true}`)
		case IsNull(content):
			a.Payload = json.RawMessage(`{}`)
		default:
			a.Payload = content
		}
	}
}

// isDenial reports whether the payload is only a denial. It then has a single member, whose name is
// one that decisions use, and whose value is a no.
func (a ask) isDenial(m map[string]json.RawMessage) bool {
	if len(m) != 1 {
		return false
	}
	for key, value := range m {
		switch key {
		case "approved", "accepted", "confirmed":
			return string(value) == "false"
		case "action":
			action, _ := Text(value)
			return action == "decline"
		}
		return !a.hasMember(key) && kit.Denies(agui.Answer{Status: agui.Resolved, Payload: agui.MustMarshal(m)})
	}
	return false
}

// undeclaredDecision returns the name of a member of the payload, if decisions use that name and
// the form does not ask for it. It returns "" if there is no such member. A payload with such a
// member is refused, because Holdpoint could send its content although the person refused.
func (a ask) undeclaredDecision(payload json.RawMessage) string {
	member := ""
	gjson.ParseBytes(payload).ForEach(func(k, _ gjson.Result) bool {
		switch k.Str {
		case "approved", "accepted", "confirmed", "approve", "action", "answer", "cancelled", "content", "decision", "decisions",
			"rejected", "response", "responses", "status", "type":
			if !a.hasMember(k.Str) {
				member = k.Str
			}
		}
		return member == ""
	})
	return member
}

// hasOnly reports whether all members of the object have names in keys.
func hasOnly(m map[string]json.RawMessage, keys ...string) bool {
	n := 0
	for _, key := range keys {
		if _, has := m[key]; has {
			n++
		}
	}
	return n == len(m)
}

// hasMember reports whether the form asks for this member.
func (a ask) hasMember(member string) bool {
	found := false
	gjson.GetBytes(a.form, "properties").ForEach(func(k, _ gjson.Result) bool {
		found = k.Str == member
		return !found
	})
	return found
}

// elicitation returns the response to question i for the MCP server. The content of a form is
// validated again, because LangGraph stores content for good, even content that the tool refuses.
func (r review) elicitation(i int, a agui.Answer, valid func(schema, payload json.RawMessage) error) (json.RawMessage, *agui.RunError) {
	ask := r.asks[i]
	if a.Status == agui.Cancelled {
		return json.RawMessage(cancelAction), nil
	}
	if a.OwnForm {
		return a.Payload, nil // writeElicited made this payload
	}
	if ask.form == nil {
		m, _ := Members(a.Payload)
		v, err := readVerdict(a.ID, m)
		switch {
		case err != nil:
			return nil, err
		case !hasOnly(m, "approved", "message", "reason"):
			return nil, agui.Errorf(agui.InvalidPayload, textMoreThanApproved, a.ID)
		case !v.approved:
			return json.RawMessage(decline), nil
		case ask.url != nil:
			return json.RawMessage(`{"action":"accept"}`), nil
		}
		return json.RawMessage(`{"action":"accept","content":{}}`), nil
	}
	if !gjson.ParseBytes(a.Payload).IsObject() {
		return nil, agui.Errorf(agui.InvalidPayload, textFormNotObject, a.ID)
	}
	if member := ask.undeclaredDecision(a.Payload); member != "" {
		return nil, agui.Errorf(agui.InvalidPayload, textNotInForm, a.ID, member)
	}
	if member := memberNotFlat(a.Payload); member != "" {
		return nil, agui.Errorf(agui.InvalidPayload, textNotFormValue, a.ID, member)
	}
	if valid != nil {
		if err := valid(ask.form, a.Payload); err != nil {
			return nil, agui.Errorf(agui.InvalidPayload, textFormUnfit, a.ID, err)
		}
	}
	return append(kit.AppendMember([]byte(`{"action":"accept"`), `"content"`, string(a.Payload)), '}'), nil
}

// memberNotFlat returns the name of a member that the content of an MCP form cannot have
// (mcp.types.ElicitResult): an object, or a list with a value that is not a string. It returns ""
// if there is no such member.
func memberNotFlat(content json.RawMessage) (member string) {
	gjson.ParseBytes(content).ForEach(func(k, v gjson.Result) bool {
		flat := !v.IsObject()
		for _, one := range listOf(v) {
			flat = flat && one.Type == gjson.String
		}
		if !flat {
			member = agui.Shorten(k.Str)
		}
		return flat
	})
	return member
}

func listOf(v gjson.Result) []gjson.Result {
	if !v.IsArray() {
		return nil
	}
	return v.Array()
}

// responses returns the object with all responses. The key of each response is the key of its
// question.
func (r review) responses(list []json.RawMessage) json.RawMessage {
	m := []byte{'{'}
	for i, one := range list {
		m = kit.AppendMember(m, string(agui.MustMarshal(r.asks[i].key)), string(one))
	}
	return append(kit.AppendMember([]byte{'{'}, `"responses"`, string(append(m, '}'))), '}')
}

// elicitedAll reads a value in the form of langchain's own resume, which answers all questions at
// once. A question without a response stays open.
func (r review) elicitedAll(p agui.Pause, g Group, responses map[string]json.RawMessage) []agui.Answer {
	var list []agui.Answer
	for i, at := range g.At {
		if one := responses[r.asks[i].key]; one != nil {
			a := agui.Answer{ID: p.Interrupts[at].ID, Status: agui.Resolved, Payload: one, Native: true}
			r.writeElicited(i, &a)
			list = append(list, a)
		}
	}
	return list
}
