package langgraphapi

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A review is the value of an interrupt() that asks for decisions on one or several tool calls.
// langchain's human-in-the-loop middleware, Agent Inbox or an MCP server makes it. Each action of a
// review is published as an interrupt of its own, because any client can show that. The answers are
// then put together to the one value that the graph waits for.
type review struct {
	shape Shape
	asks  []ask // never empty; has one element if the shape is PerCall
	// camel, used only in the shape HITL, reports whether the keys of the request are in
	// JavaScript's spelling. Then the answer must use that spelling too: Python's spelling would
	// make the thread unusable (RAN npm langchain 1.5.9).
	camel bool
	// list, used only in the shape Inbox, reports whether the value is a list of requests. Then the
	// answer is a list of responses.
	list bool
}

// An ask is one action under review.
type ask struct {
	tool      string
	call      string // id of the call, for the shape PerCall
	args      json.RawMessage
	argsKey   string // "args", or "arguments" in langchain's 1.0 alpha
	message   *string
	allowed   []string        // the decisions that the backend accepts
	edits     json.RawMessage // schema of edited arguments, if the backend sent it
	toolFixed bool            // an edit must not change the tool

	// key, form and url are for the shape Elicitation: the key of the question, and a form to fill
	// in or the address of a page to visit. If a question has neither, it asks for a yes or a no.
	key  string
	form json.RawMessage
	url  *string
}

// review reads the value of n by its shape. It returns false if the value does not have that shape.
func (n Native) review() (review, bool) {
	if len(n.Value) == 0 {
		return review{}, false
	}
	switch v := gjson.ParseBytes(n.Value); n.Shape {
	case HITL:
		return parseHITL(v)
	case PerCall:
		return parsePerCall(v, n.Schema)
	case Inbox:
		return parseInbox(v)
	case Elicitation:
		return parseElicitation(v)
	}
	return review{}, false
}

func (a ask) allows(decision string) bool { return slices.Contains(a.allowed, decision) }

// fields returns the fields of the interrupt that is published for action i.
func (r review) fields(i int, find *finder) fields {
	if r.shape == Elicitation {
		return r.elicitationFields(i)
	}
	a := r.asks[i]
	f := fields{reason: reasonApproval, message: a.message, schema: string(r.schema(i)), toolCallID: find.call(a)}
	switch {
	case r.shape == Inbox:
		f.reason = reasonInbox
	case f.toolCallID != nil:
		f.reason = reasonToolCall
	}
	if f.message == nil {
		f.message = questionAbout(a.tool)
	}
	return f
}

// schema returns the schema of the answer for action i. It has the property editedArgs only if the
// backend accepts edits, so that a client knows whether to offer them. If a decision cannot be
// expressed by approved, the schema offers it as type.
func (r review) schema(i int) json.RawMessage {
	a := r.asks[i]
	p := []byte(`{"approved":{"type":"boolean"}`)
	unsaid := r.needsDecision(a)
	if a.allows("edit") {
		schema := a.edits
		if schema == nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		p = kit.AppendMember(p, `"editedArgs"`, string(schema))
	}
	if r.decides() || a.allows("response") {
		p = kit.AppendMember(p, `"message"`, `{"type":"string"}`)
	}
	required := `"required":["approved"]`
	if unsaid {
		p = kit.AppendMember(p, `"type"`, `{"enum":`+string(agui.MustMarshal(a.allowed))+`}`)
		required = `"anyOf":[{"required":["approved"]},{"required":["type"]}]`
	}
	s := []byte(`{"type":"object","properties":` + string(append(p, '}')) + `,` + required)
	// References begin at the root of the schema, so the definitions must be there too.
	for _, key := range []string{"$defs", "definitions"} {
		if defs := gjson.GetBytes(a.edits, key); defs.IsObject() {
			s = kit.AppendMember(s, `"`+key+`"`, defs.Raw)
		}
	}
	return append(s, '}')
}

// decides reports whether langchain's middleware made the review. The answer is then a decision.
func (r review) decides() bool { return r.shape == HITL || r.shape == PerCall }

// needsDecision reports whether the action allows a decision that approved cannot express.
func (r review) needsDecision(a ask) bool {
	return r.decides() && slices.ContainsFunc(a.allowed, func(d string) bool {
		return d != "approve" && d != "edit" && d != "reject"
	})
}

// decide returns the decision that the backend gets for the answer to action i. If it returns an
// error, nothing may be sent, because LangGraph stores an invalid answer and replays it forever
// (langgraph.md, section 1, fact 5). The function valid is Request.Valid.
func (r review) decide(i int, a agui.Answer, valid func(schema, payload json.RawMessage) error) (json.RawMessage, *agui.RunError) {
	switch r.shape {
	case Inbox:
		return r.respond(i, a)
	case Elicitation:
		return r.elicitation(i, a, valid)
	}
	d, err := r.hitlDecision(i, a)
	if err != nil {
		return nil, err
	}
	if edited := r.editedArgs(d); edited != nil && r.asks[i].edits != nil && valid != nil {
		if err := valid(r.asks[i].edits, edited); err != nil {
			return nil, agui.Errorf(agui.InvalidPayload, textEditUnfit, a.ID, err)
		}
	}
	return d, nil
}

// assemble returns the one value that the graph waits for, made of the decisions on all actions.
func (r review) assemble(decisions []json.RawMessage) json.RawMessage {
	switch {
	case r.shape == PerCall, r.shape == Inbox && !r.list:
		return decisions[0]
	case r.shape == Elicitation:
		return r.responses(decisions)
	}
	list := []byte{'['}
	for _, d := range decisions {
		list = kit.AppendElement(list, d)
	}
	list = append(list, ']')
	if r.shape == Inbox {
		return list
	}
	return append(kit.AppendMember([]byte{'{'}, `"decisions"`, string(list)), '}')
}

// A verdict is what a generic payload {approved, editedArgs?, message?} says.
type verdict struct {
	approved bool
	edited   json.RawMessage // all arguments after the edit, or nil
	message  *string
}

// readVerdict reads a generic payload. Only approved:true is an approval. It returns an error if
// the payload has an unknown form or contradicts itself.
func readVerdict(id string, m map[string]json.RawMessage) (verdict, *agui.RunError) {
	var v verdict
	for _, key := range []string{"type", "decisions", "edited_action", "editedAction"} {
		if !IsNull(m[key]) {
			return v, agui.Errorf(agui.InvalidPayload, textTwoDecisions, id, key)
		}
	}
	switch string(m["approved"]) {
	case "true":
		v.approved = true
	case "false":
	default:
		return v, agui.Errorf(agui.InvalidPayload, textNoApproved, id)
	}
	if e := m["editedArgs"]; !IsNull(e) {
		if e[0] != '{' {
			return v, agui.Errorf(agui.InvalidPayload, textEditNotObject, id)
		}
		if !v.approved {
			return v, agui.Errorf(agui.InvalidPayload, textEditWithoutYes, id)
		}
		v.edited = e
	}
	if s := m["message"]; !IsNull(s) {
		t, ok := Text(s)
		if !ok {
			return v, agui.Errorf(agui.InvalidPayload, textMessageNotString, id)
		}
		v.message = &t
	}
	return v, nil
}

func notAllowed(id, decision string) *agui.RunError {
	return agui.Errorf(agui.InvalidPayload, textNotAllowed, id, decision)
}

func cannotCancel(id string) *agui.RunError {
	return agui.Errorf(agui.InvalidPayload, textCannotCancel, id)
}

func notReadable(id string) *agui.RunError {
	return agui.Errorf(agui.InvalidPayload, textNotObject, id)
}

// addMessage adds the message to a decision if the message is not nil, and closes the object.
func addMessage(decision []byte, message *string) json.RawMessage {
	return append(addString(decision, "message", message), '}')
}
