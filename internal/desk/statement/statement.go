// Package statement finds what an agent has sent with a question, besides the question's message.
// This is in the interrupt's metadata, together with notes that frameworks and adapters write there
// for themselves.
//
// The package does not judge a statement: it is only the agent's claim, even if it names a call.
// The names of members are those in the adapters' releases (docs/support.md). An unknown member
// counts as a statement, so that nothing from a newer adapter is lost.
package statement

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
)

// A Statement is one thing that the agent has sent with a question.
type Statement struct {
	// Path is the path of the statement in the metadata, such as langgraph.raw.
	Path string
	// Name is the name of the call or action, if the statement names one; Value then has its
	// arguments. Otherwise Name is "".
	Name string
	// Value is JSON, without the parts that are already in the question. It is "" if Name has no
	// arguments.
	Value string
}

// maxStatements is the largest number of statements of one question.
const maxStatements = 20

// An object says, for one object in the metadata, which members are a call, and which are notes of
// the framework or of Holdpoint.
type object struct {
	name, arguments string // the members with the name and the arguments of a call
	notes           []string
	// echo is a member that repeats one of the members in others.
	echo   string
	others []string
}

// objects maps the path of an object in the metadata to its description. Only these objects are
// searched for statements.
var objects = map[string]object{
	"": {
		name: "tool_name", arguments: "tool_input", // ag_ui_strands
		notes: []string{"holdpoint", "strandsName", "tanstack:interruptBinding"},
	},
	"langgraph":                     {name: "name", arguments: "args", notes: []string{"index", "node", "checkpoint_id", "ns", "resumable", "when"}},
	"mastra":                        {name: "toolName", arguments: "args", notes: []string{"type", "toolCallId", "runId", "resumeSchema"}},
	"strands":                       {name: "tool_name", arguments: "tool_input", notes: []string{"id", "name", "node", "source", "morePending"}},
	"ag2":                           {notes: []string{"proof"}},
	"phrases":                       {notes: []string{"phrase"}},
	"adk":                           {},
	"adk.originalFunctionCall":      {name: "name", arguments: "args", notes: []string{"id"}},
	"adk.toolConfirmation":          {notes: []string{"confirmed"}},
	"agent_framework":               {notes: []string{"type", "request_id", "source_executor_id", "request_type", "response_type", "confirmation_tool_call_id"}, echo: "value", others: []string{"data", "function_call"}},
	"agent_framework.function_call": {name: "name", arguments: "arguments", notes: []string{"call_id"}},
	"crewai":                        {notes: []string{"flowId", "methodName", "emit"}},
	"draft":                         {notes: []string{"reason", "type", "toolCallId", "idOmitted"}},
	"request-approval":              {name: "functionName", arguments: "functionArguments"},
	"superagent":                    {notes: []string{"session_id", "agent_name", "timestamp", "checkpoint_id"}},
}

// ownMembers maps a member of the metadata to the member of the interrupt that adapters fill from
// it. If both have the same value, the member is left out of a statement.
var ownMembers = map[string]string{
	"reason": "reason", "responseSchema": "responseSchema", "response_schema": "responseSchema",
	"toolCallId": "toolCallId", "tool_call_id": "toolCallId", "expiresAt": "expiresAt", "expires_at": "expiresAt",
}

// names has the members in which agents usually name the action that the question is about.
var names = []string{"action", "tool", "tool_name", "toolName", "name", "function"}

// Of returns what the agent has sent with a question, in the order of the metadata, and whether
// there is more. It leaves out what is already in the question's message or in one of its calls.
func Of(i *agui.Interrupt) (list []Statement, more bool) {
	whole := agui.View(i.Object)
	metadata := whole.Get("metadata")
	if !metadata.IsObject() {
		return nil, false
	}
	f := finder{message: whole.Get("message").Str, own: map[string]string{}}
	for _, key := range []string{"reason", "responseSchema", "toolCallId", "expiresAt"} {
		f.own[key] = whole.Get(key).Raw
	}
	for _, c := range i.Calls {
		if !c.ArgumentsUnknown && c.Args != "" {
			f.calls = append(f.calls, call{c.Name, agui.Canonical([]byte(c.Args))})
		}
	}
	f.findIn("", metadata.Raw)
	return f.statements, f.hasMore
}

// Text returns the recorded metadata of a question as JSON, without the notes: members that a
// framework keeps there for itself (see object). A note may be a secret, as AG2's is: whoever sends
// it is believed to answer the question.
func Text(i *agui.Interrupt) string {
	metadata := agui.View(i.Object).Get("metadata")
	if !metadata.IsObject() {
		return ""
	}
	return withoutNotes("", metadata.Raw)
}

func withoutNotes(path, raw string) string {
	notes := objects[path].notes
	rest := []byte{'{'}
	for m := agui.MembersIn(raw); m.Next(); {
		key, value := textOf(m.Key), m.Value
		if slices.Contains(notes, key) {
			continue
		}
		at := join(path, key)
		if _, known := objects[at]; known && value[0] == '{' {
			value = withoutNotes(at, value)
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, m.Key...), ':'), value...)
	}
	return string(append(rest, '}'))
}

// join returns the path of a member of the object at path. A member with an empty key has a path of
// its own too.
func join(path, key string) string {
	if path == "" && key != "" {
		return key
	}
	return path + "." + key
}

type call struct {
	name      string
	arguments []byte // in the form of agui.Canonical
}

type finder struct {
	message    string
	own        map[string]string // the interrupt's own members, as JSON
	calls      []call
	statements []Statement
	hasMore    bool
}

// findIn finds the statements in the object raw, which is at path in the metadata.
func (f *finder) findIn(path, raw string) {
	o := objects[path]
	isCall := false
	if name := memberOf(raw, o.name); o.name != "" && name != "" && name[0] == '"' {
		isCall = true
		f.add(Statement{Path: path, Name: textOf(name), Value: unquoteJSON(memberOf(raw, o.arguments))})
	}
	echoes := slices.ContainsFunc(o.others, func(key string) bool { return memberOf(raw, key) != "" })
	for m := agui.MembersIn(raw); m.Next(); {
		key := textOf(m.Key)
		switch {
		case isCall && (key == o.name || key == o.arguments), slices.Contains(o.notes, key), echoes && key == o.echo:
			continue
		}
		at := join(path, key)
		if _, known := objects[at]; known && m.Value[0] == '{' {
			f.findIn(at, m.Value)
			continue
		}
		f.add(Statement{Path: at, Value: m.Value})
	}
}

// add adds a statement, unless the same is already in the question.
func (f *finder) add(s Statement) {
	if s.Name == "" {
		s.Value = f.withoutQuestion(s.Value)
		if s.Value == "" || f.repeatsValue(s.Value) {
			return
		}
	} else if f.repeatsCall(s) {
		return
	}
	if f.hasMore = f.hasMore || len(f.statements) == maxStatements; !f.hasMore {
		f.statements = append(f.statements, s)
	}
}

// withoutQuestion returns a value without the parts that are already in the question. It returns ""
// if there are no other parts.
func (f *finder) withoutQuestion(value string) string {
	switch value[0] {
	case '"':
		if text := textOf(value); text == "" || text == f.message {
			return ""
		}
	case 'n':
		return ""
	case '[':
		if strings.TrimSpace(value[1:len(value)-1]) == "" {
			return ""
		}
	case '{':
		return f.remainingMembers(value)
	}
	return value
}

// remainingMembers returns an object without the members that are already in the question. It
// returns "" if there are no other members.
func (f *finder) remainingMembers(value string) string {
	rest := withoutMembers(value, f.repeatsMember)
	if strings.TrimSpace(rest[1:len(rest)-1]) == "" {
		return ""
	}
	return rest
}

// withoutMembers returns an object without the members for which the function out returns true.
func withoutMembers(object string, omits func(key, value string) bool) string {
	rest := []byte{'{'}
	left, all := 0, 0
	for m := agui.MembersIn(object); m.Next(); {
		if all++; omits(textOf(m.Key), m.Value) {
			continue
		}
		if left++; left > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, m.Key...), ':'), m.Value...)
	}
	if left == all {
		return object
	}
	return string(append(rest, '}'))
}

func (f *finder) repeatsMember(key, value string) bool {
	if value[0] == '"' && f.message != "" && textOf(value) == f.message {
		return true
	}
	if key == "__copilotkit_messages__" {
		return true // the conversation already has these messages
	}
	if slices.Contains(names, key) && value[0] == '"' && len(f.calls) > 0 {
		name := textOf(value)
		return slices.ContainsFunc(f.calls, func(c call) bool { return c.name == name })
	}
	of := ownMembers[key]
	return of != "" && value == f.own[of] || f.repeatsValue(value)
}

// repeatsValue reports whether a value equals the arguments of one of the question's calls.
func (f *finder) repeatsValue(value string) bool {
	if value[0] != '{' || len(f.calls) == 0 {
		return false
	}
	canonical := agui.Canonical([]byte(value))
	return slices.ContainsFunc(f.calls, func(c call) bool { return bytes.Equal(c.arguments, canonical) })
}

// repeatsCall reports whether a statement only names one of the question's calls, with the call's
// arguments or without arguments.
func (f *finder) repeatsCall(s Statement) bool {
	var canonical []byte
	if s.Value != "" && len(f.calls) > 0 {
		canonical = agui.Canonical([]byte(s.Value))
	}
	return slices.ContainsFunc(f.calls, func(c call) bool {
		return c.name == s.Name && (s.Value == "" || bytes.Equal(c.arguments, canonical))
	})
}

// memberOf returns the value of the member with this key, or "" if there is none. If the key is
// repeated, its last value counts, because backends use the last one too.
func memberOf(object, key string) (value string) {
	for m := agui.MembersIn(object); m.Next(); {
		if textOf(m.Key) == key {
			value = m.Value
		}
	}
	return value
}

// unquoteJSON returns the JSON object that a JSON string contains, because some frameworks write
// arguments in this way. It returns any other value unchanged.
func unquoteJSON(value string) string {
	if value == "" || value[0] != '"' {
		return value
	}
	if text := strings.TrimSpace(textOf(value)); text != "" && text[0] == '{' && agui.ValidText(text) {
		return text
	}
	return value
}

func textOf(raw string) (text string) {
	if json.Unmarshal([]byte(raw), &text) != nil {
		return ""
	}
	return text
}
