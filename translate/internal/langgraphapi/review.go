package langgraphapi

import (
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A review is a value that asks for a decision on one or several tool calls. It comes from
// langchain's human-in-the-loop middleware, or is an Agent Inbox request. Each of its actions is
// published as an interrupt of its own, because generic clients can show that. The answers are put
// together into the one value that the graph waits for.
type review struct {
	shape Shape
	asks  []ask // never none; one of perCall
	camel bool  // hitl: the JavaScript spelling; the other one throws there and bricks the thread (RAN npm langchain 1.5.9)
	list  bool  // inbox: a list of requests is answered by a list of responses
}

// An ask is one action under review.
type ask struct {
	tool    string
	call    string // perCall: the id of its call
	args    json.RawMessage
	argsKey string // "args"; "arguments" in langchain's 1.0 alpha
	message *string
	allowed []string        // decisions that the backend takes
	edits   json.RawMessage // schema of the arguments where edit is allowed and the backend gave one
	pinned  bool            // an edit keeps the tool

	// These are of an elicitation: its key, and a form to fill in or a page to visit. It has neither
	// if it asks for a yes or a no.
	key  string
	form json.RawMessage
	url  *string
}

// review reads the value as one of its shape. It returns false if the value has another shape.
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

// fields returns the fields of the interrupt for one action.
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
		f.message = asks(a.tool)
	}
	return f
}

// schema returns the schema of the answer for one action. It has editedArgs only if the backend
// takes edits, so a client knows by it. A decision that a boolean cannot say is offered as type.
func (r review) schema(i int) json.RawMessage {
	a := r.asks[i]
	p := []byte(`{"approved":{"type":"boolean"}`)
	unsaid := r.unsaid(a)
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
	// A reference in a schema starts at the root.
	for _, key := range []string{"$defs", "definitions"} {
		if defs := gjson.GetBytes(a.edits, key); defs.IsObject() {
			s = kit.AppendMember(s, `"`+key+`"`, defs.Raw)
		}
	}
	return append(s, '}')
}

// decides reports whether the answer is a decision of langchain's middleware.
func (r review) decides() bool { return r.shape == HITL || r.shape == PerCall }

// unsaid reports whether some allowed decision cannot be said with approved.
func (r review) unsaid(a ask) bool {
	return r.decides() && slices.ContainsFunc(a.allowed, func(d string) bool {
		return d != "approve" && d != "edit" && d != "reject"
	})
}

// decide makes the backend's decision for action i out of an answer. The error says why it cannot.
// Then nothing is sent, because LangGraph keeps a bad answer and replays it for ever (langgraph.md,
// section 1, fact 5). valid is Request.Valid.
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

// assemble puts the decisions together into the value that the graph waits for.
func (r review) assemble(decisions []json.RawMessage) json.RawMessage {
	switch {
	case r.shape == PerCall, r.shape == Inbox && !r.list:
		return decisions[0]
	case r.shape == Elicitation:
		return r.responses(decisions)
	}
	list := []byte{'['}
	for i, d := range decisions {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, d...)
	}
	list = append(list, ']')
	if r.shape == Inbox {
		return list
	}
	return append(kit.AppendMember([]byte{'{'}, `"decisions"`, string(list)), '}')
}

// A verdict is what a generic payload says: {approved, editedArgs?, message?}.
type verdict struct {
	approved bool
	edited   json.RawMessage // the whole new arguments, nil if there are none
	message  *string
}

// readVerdict reads a payload. Only approved:true is an approval. It refuses what it does not
// understand, and what says two different things.
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

// addMessage adds the message of a decision, if there is one.
func addMessage(decision []byte, message *string) json.RawMessage {
	return append(addString(decision, "message", message), '}')
}
