package adk

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// The names of the calls by which ADK and the package themselves ask.
const (
	requestConfirmation = "adk_request_confirmation"
	requestInput        = "adk_request_input"
	requestCredential   = "adk_request_credential"
	confirmChanges      = "confirm_changes"

	protocolPrefix = "adk_request_" // of those by which ADK itself asks
)

// isProtocolCall reports whether ADK itself asks by a call of that name. The dialect does not show
// such calls to a client.
func isProtocolCall(name string) bool {
	return name == requestConfirmation || name == requestInput || name == requestCredential
}

// A kind is what a call asks.
type kind string

// confirm: may that call run. changes: may the predicted state stay. job: a long-running tool wants
// its result from a person. input: a node or a model wants a value. confirmNode: may that node of a
// workflow run. credential: a tool or a node wants a credential.
const (
	confirm     kind = "confirm"
	changes     kind = "changes"
	job         kind = "job"
	input       kind = "input"
	confirmNode kind = "confirm-node"
	credential  kind = "credential"
)

// hidden reports whether the client is not shown the call that asks.
func (k kind) hidden() bool { return k != changes && k != job }

// hasCancel reports whether ADK has a word for a cancel. For the other kinds it would take any word
// for the value itself.
func (k kind) hasCancel() bool { return k == confirm || k == changes || k == job }

// kept is Interrupt.Private.
type kept struct {
	Kind kind   `json:"kind"`
	Call string `json:"call"` // that asks
	Name string `json:"name"` // of its tool
	Args string `json:"args,omitempty"`
	// Runs is the call that a yes lets run.
	Runs string `json:"runs,omitempty"`
	// Twice says that several confirmations of the turn have the id. ADK gives all of them one
	// answer.
	Twice bool `json:"twice,omitempty"`
}

// keptOfPause is Asked.Private.
type keptOfPause struct {
	// Clients are the calls of the turn that the client answers itself. Their results have to come
	// with the answers.
	Clients []string `json:"clients,omitempty"`
	// Outcome reports that the run ended with the outcome. ADK wants the resume array then.
	Outcome bool `json:"outcome,omitempty"`
}

// A confirmation is what adk_request_confirmation asks.
type confirmation struct {
	call              agui.AskedCall
	original, details gjson.Result // originalFunctionCall, toolConfirmation
}

// readConfirmation reads the arguments of the call. It returns false if they are something else.
func readConfirmation(args string) (confirmation, bool) {
	if !agui.ValidJSON([]byte(args)) {
		return confirmation{}, false
	}
	object := gjson.Parse(args)
	c := confirmation{original: object.Get("originalFunctionCall"), details: object.Get("toolConfirmation")}
	name := c.original.Get("name")
	if name.Type != gjson.String || !c.details.IsObject() {
		return confirmation{}, false
	}
	c.call = agui.AskedCall{ID: c.original.Get("id").Str, Name: name.Str, Args: "{}"}
	if given := c.original.Get("args"); given.IsObject() {
		c.call.Args = given.Raw
	}
	return c, true
}

// confirmSchema and changesSchema are what ADK reads. It takes anything else for a yes.
const (
	confirmSchema = `{"type":"object","properties":{"confirmed":{"type":"boolean"},"payload":{}},"required":["confirmed"],"additionalProperties":false}`
	changesSchema = `{"type":"object","properties":{"accepted":{"type":"boolean"}},"required":["accepted"],"additionalProperties":false}`
)

// interrupt is the question that the confirmation asks. seen says whether the client was shown the
// call that is asked about, twice that another confirmation has the id.
func (c confirmation) interrupt(id, args string, seen, twice bool) agui.Interrupt {
	o := kit.AppendText([]byte{'{'}, "reason", "confirmation")
	if hint := c.details.Get("hint").Str; hint != "" {
		o = kit.AppendText(o, "message", hint)
	} else {
		o = kit.AppendText(o, "message", fmt.Sprintf("The agent asks to call the tool %s.", c.call.Name))
	}
	if seen {
		o = kit.AppendText(o, "toolCallId", c.call.ID)
	}
	o = kit.AppendMember(o, `"responseSchema"`, confirmSchema)
	about := kit.AppendMember([]byte{'{'}, `"originalFunctionCall"`, c.original.Raw)
	about = append(kit.AppendMember(about, `"toolConfirmation"`, c.details.Raw), '}')
	o = append(kit.AppendMember(o, `"metadata"`, `{"adk":`+string(about)+`}`), '}')
	return agui.Interrupt{
		Native: id, Object: o, Keys: []string{id}, Calls: []agui.AskedCall{c.call},
		Private: agui.MustMarshal(kept{Kind: confirm, Call: id, Name: requestConfirmation, Args: args, Runs: c.call.ID, Twice: twice}),
	}
}

// asks is the question of a call that the client has seen.
func asks(k kind, c agui.Call) agui.Interrupt {
	o := []byte{'{'}
	if k == changes {
		o = kit.AppendText(o, "reason", "confirm_changes")
		o = kit.AppendText(o, "message", "Accept the proposed changes?")
		o = kit.AppendMember(kit.AppendText(o, "toolCallId", c.ID), `"responseSchema"`, changesSchema)
	} else {
		o = kit.AppendText(o, "reason", "input_required")
		o = kit.AppendText(o, "message", fmt.Sprintf("The agent waits for the result of the tool %s.", c.Name))
		o = kit.AppendText(o, "toolCallId", c.ID)
	}
	return agui.Interrupt{
		Native: c.ID, Object: append(o, '}'), Keys: []string{c.ID},
		Private: agui.MustMarshal(kept{Kind: k, Call: c.ID, Name: c.Name, Args: c.Args}),
	}
}

// A protocolCall is one of ADK's own calls, of which the client is shown the question only.
type protocolCall struct {
	id, name, args string
	twice          bool // another call of the turn has the id
}

func protocolCallOf(c agui.Call) protocolCall {
	return protocolCall{id: c.ID, name: c.Name, args: c.Args}
}

// question returns what the call asks. It returns false if the call has another form. shown reports
// whether the client was shown a call.
func (c protocolCall) question(shown func(id string) bool) (agui.Interrupt, bool) {
	switch c.name {
	case requestConfirmation:
		if asked, ok := readConfirmation(c.args); ok {
			return asked.interrupt(c.id, c.args, shown(asked.call.ID), c.twice), true
		}
	case requestInput:
		if args := gjson.Parse(c.args); agui.ValidJSON([]byte(c.args)) && args.IsObject() {
			return inputQuestion(c, args), true
		}
	case requestCredential:
		if args := gjson.Parse(c.args); agui.ValidJSON([]byte(c.args)) && args.Get("authConfig").IsObject() {
			return credentialQuestion(c, args), true
		}
	}
	return agui.Interrupt{}, false
}

// asks reports whether the call has the form of a question.
func (c protocolCall) asks() bool {
	_, ok := c.question(func(string) bool { return false })
	return ok
}

// kindOf returns what a call of the transcript asks that is not a protocolCall, "" if it asks
// nothing.
func (d *Dialect) kindOf(c agui.Call, r *translate.Request) kind {
	switch {
	case isProtocolCall(c.Name):
	case c.Name == confirmChanges && (c.Args == "" || c.Args == "{}") && isADKs(r.Transcript):
		return changes
	case d.ask.Match(c.Name):
		return job
	}
	return ""
}

// isADKs says whether the state is one that the package keeps. confirm_changes is a call of other
// backends too.
func isADKs(t agui.Transcript) bool {
	state, known := t.State()
	if !known || state == nil {
		return false
	}
	return gjson.GetBytes(state, "_ag_ui_thread_id").Type == gjson.String && gjson.GetBytes(state, "_ag_ui_app_name").Type == gjson.String
}

func keptOf(i agui.Interrupt) (kept, bool) {
	var k kept
	ok := json.Unmarshal(i.Private, &k) == nil && k.Call != ""
	return k, ok
}
