// Package tanstack adds a binding to a question, which the client of TanStack AI requires. That
// client shows controls for a question only if the question's metadata have a binding. The binding
// contains the id of the question and the id of the run that asked it.
//
// The package follows the source of @tanstack/ai 0.58.0 (interrupt-resume.ts,
// interrupt-serialization.ts, approval-schema.ts) and @tanstack/ai-client 0.33.2
// (interrupt-manager.ts, connection-adapters.ts). It does not read answers, and does not know runs.
package tanstack

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// bindingKey is the member of an interrupt's metadata that contains the binding.
const bindingKey = "tanstack:interruptBinding"

// IsClientBody reports whether TanStack AI's client has sent the body of a run. Only that client
// sends a copy of forwardedProps as the member data, which AG-UI does not define.
func IsClientBody(body []byte) bool {
	data, props := agui.View(body).Get("data"), agui.View(body).Get("forwardedProps")
	return data.IsObject() && props.IsObject() && data.Raw == props.Raw
}

// Rename replaces the id native by the id published in the binding of an interrupt. It returns any
// other interrupt unchanged.
func Rename(object json.RawMessage, native, published string) json.RawMessage {
	binding, ok := bindingOf(object)
	if !ok || binding.Get("interruptId").Str != native {
		return object
	}
	return withBinding(object, agui.SetString([]byte(binding.Raw), "interruptId", published))
}

// InterruptedRun returns the run id in the binding that the backend itself has added, or "" if
// there is no such binding.
func InterruptedRun(object json.RawMessage) string {
	binding, _ := bindingOf(object)
	return binding.Get("interruptedRunId").Str
}

// ForRun returns an interrupt whose binding names the run runID. This is needed because a question
// may be sent again in a run that the backend never saw, and the client accepts only a binding of
// the current run. ok is false if the interrupt has no binding.
func ForRun(object json.RawMessage, runID string) (interrupt json.RawMessage, ok bool) {
	binding, ok := bindingOf(object)
	if !ok {
		return object, false
	}
	if was := binding.Get("interruptedRunId"); !was.Exists() || was.Str == runID {
		return object, true
	}
	return withBinding(object, agui.SetString([]byte(binding.Raw), "interruptedRunId", runID)), true
}

// FinishForRun returns a RUN_FINISHED in which the bindings of all interrupts name the run runID.
// If they already do, it returns the event unchanged.
func FinishForRun(finish json.RawMessage, runID string) json.RawMessage {
	outcome := agui.View(finish).Get("outcome")
	interrupts := outcome.Get("interrupts")
	changed := false
	var list []json.RawMessage
	interrupts.ForEach(func(_, one gjson.Result) bool {
		interrupt, _ := ForRun(json.RawMessage(one.Raw), runID)
		list, changed = append(list, interrupt), changed || len(interrupt) != len(one.Raw) || string(interrupt) != one.Raw
		return true
	})
	if !changed {
		return finish
	}
	return agui.SetKey(finish, "outcome", agui.SetKey([]byte(outcome.Raw), "interrupts", agui.List(list)))
}

// A Binder adds bindings of one run to the questions of that run's outcome.
type Binder struct {
	runID string
	tools map[string]gjson.Result // the schema of each tool's arguments, by the tool's name
	room  int                     // how many bytes of schemas the Binder may still write
}

// maxSchemas bounds the schemas that are written into one outcome, in bytes. Otherwise very many
// questions about one tool with a large schema would make the outcome too large. Beyond the bound,
// questions get a generic card.
const maxSchemas = 64 << 10

// NewBinder returns a Binder for the run runID. body is the client's request. NewBinder returns nil
// if TanStack AI's client did not send it.
func NewBinder(body []byte, runID string) *Binder {
	if runID == "" || !IsClientBody(body) {
		return nil
	}
	b := &Binder{runID: runID, tools: map[string]gjson.Result{}, room: maxSchemas}
	agui.View(body).Get("tools").ForEach(func(_, tool gjson.Result) bool {
		name, parameters := tool.Get("name").Str, tool.Get("parameters")
		if _, known := b.tools[name]; !known && parameters.IsObject() {
			b.tools[name] = parameters
		}
		return true
	})
	return b
}

// Bind adds a binding of the run to the parameter interrupt. It is the interrupt in the form for
// the client, and i is the same interrupt as it is stored. If the request declares the tool of the
// question's call, the client will show the card of a tool approval, and otherwise a generic card.
// If the interrupt cannot be bound or b is nil, Bind returns interrupt unchanged.
func (b *Binder) Bind(interrupt json.RawMessage, i agui.Interrupt) json.RawMessage {
	if b == nil {
		return interrupt
	}
	if metadata := agui.View(interrupt).Get("metadata"); metadata.Exists() && !metadata.IsObject() {
		return interrupt
	}
	bound := binding{V: 1, Kind: "generic", Interrupt: i.ID, Run: b.runID}
	if card, schema, ok := b.approval(interrupt, i, bound); ok {
		b.room -= len(schema)
		return withBinding(agui.SetKey(interrupt, "responseSchema", schema), agui.MustMarshal(card))
	}
	if schema := agui.View(interrupt).Get("responseSchema"); schema.Exists() {
		var ok bool
		if bound.ResponseHash, ok = hash([]byte(schema.Raw)); !ok {
			return interrupt // the client cannot hash the schema either
		}
	}
	return withBinding(interrupt, agui.MustMarshal(bound))
}

// A binding is the JSON of a binding. Its members are in the same order as in TanStack AI's own
// server.
type binding struct {
	V            int             `json:"v"`
	Kind         string          `json:"kind"`
	Interrupt    string          `json:"interruptId"`
	Tool         string          `json:"toolName,omitempty"`
	Call         string          `json:"toolCallId,omitempty"`
	Args         json.RawMessage `json:"originalArgs,omitempty"`
	InputHash    string          `json:"inputSchemaHash,omitempty"`
	ApprovalHash string          `json:"approvalSchemaHash,omitempty"`
	ResponseHash string          `json:"responseSchemaHash,omitempty"`
	Run          string          `json:"interruptedRunId"`
	Generation   int             `json:"generation"`
}

func bindingOf(object json.RawMessage) (gjson.Result, bool) {
	found := agui.View(object).Get("metadata").Get(bindingKey)
	return found, found.IsObject()
}

func withBinding(object json.RawMessage, binding []byte) json.RawMessage {
	metadata := []byte("{}")
	if had := agui.View(object).Get("metadata"); had.IsObject() {
		metadata = []byte(had.Raw)
	}
	return agui.SetKey(object, "metadata", agui.SetKey(metadata, bindingKey, binding))
}

// approval returns the binding for a tool approval, and the schema of its answer. ok is false
// unless the question asks for a yes or a no to exactly one call, and the request declares the
// call's tool. The card shows the arguments of the call, so ok is also false if they are unknown or
// ambiguous.
func (b *Binder) approval(interrupt json.RawMessage, i agui.Interrupt, bound binding) (card binding, schema []byte, ok bool) {
	if string(i.Yes) != `{"approved":true}` || len(i.Calls) != 1 {
		return bound, nil, false
	}
	call := i.Calls[0]
	if call.ArgumentsUnknown || call.ID == "" || call.ID != agui.View(interrupt).Get("toolCallId").Str {
		return bound, nil, false
	}
	parameters, declared := b.tools[call.Name]
	if !declared || len(parameters.Raw) > b.room {
		return bound, nil, false
	}
	if bound.Args, ok = arguments(call.Args); !ok {
		return bound, nil, false
	}
	if bound.InputHash, ok = inputHash(parameters); !ok {
		return bound, nil, false
	}
	schema = responseSchema(parameters)
	if bound.ResponseHash, ok = hash(schema); !ok {
		return bound, nil, false
	}
	bound.Kind, bound.Tool, bound.Call, bound.ApprovalHash = "tool-approval", call.Name, call.ID, digest([]byte(noApprovalSchema))
	return bound, schema, true
}

// arguments returns the arguments of a call for the card. An empty text counts as an empty object.
// ok is false if the text is not a JSON object or has a repeated key.
func arguments(text string) (args json.RawMessage, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return json.RawMessage("{}"), true
	}
	args = json.RawMessage(text)
	return args, text[0] == '{' && agui.ValidJSON(args) && agui.CheckKeys(args, agui.KeysOfData) == nil
}

const (
	draft2020 = `"https://json-schema.org/draft/2020-12/schema"`
	// noInput is the schema that the client sends for a tool that has no schema.
	noInput = `{"type":"object"}`
	// noApprovalSchema is the JSON that the client hashes for a tool that has no schema for
	// approvals.
	noApprovalSchema = `{"approve":null,"reject":null}`
)

// inputSchema returns a tool's schema in the form that the client hashes, or nil for a tool without
// a schema. If the tool has a Standard Schema, such as Zod's, the client hashes it with the member
// $schema, but sends it without this member.
func inputSchema(parameters gjson.Result) []byte {
	if parameters.Raw == noInput {
		return nil
	}
	return agui.SetKey([]byte(parameters.Raw), "$schema", []byte(draft2020))
}

func inputHash(parameters gjson.Result) (sum string, ok bool) {
	schema := inputSchema(parameters)
	if schema == nil {
		return digest([]byte("undefined")), true
	}
	return hash(schema)
}

// responseSchema returns the schema that the client itself uses for the approval of a tool.
func responseSchema(parameters gjson.Result) []byte {
	edits := ""
	if schema := inputSchema(parameters); schema != nil {
		edits = `,"editedArgs":` + string(schema)
	}
	return []byte(`{"oneOf":[` +
		`{"type":"object","properties":{"approved":{"const":true}` + edits + `},"required":["approved"],"additionalProperties":false},` +
		`{"type":"object","properties":{"approved":{"const":false}},"required":["approved"],"additionalProperties":false}]}`)
}
