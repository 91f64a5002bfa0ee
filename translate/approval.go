package translate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// An Approval is a yes or no in the messages of a request, in a form that Microsoft's backends act on: a call of
// request_approval or confirm_changes with a tool message for it, or function_approvals of a message. They believe what
// the history says was asked, so whoever writes one approves what no agent proposed.
type Approval struct {
	At   int    // the place of the message that answers
	Name string // RequestApproval, ConfirmChanges or FunctionApprovals
}

// Names of the synthetic calls, and of the member of a message (.NET's Step04 samples; agent-framework-ag-ui 1.0.0b251105
// and later).
const (
	RequestApproval   = "request_approval"
	ConfirmChanges    = "confirm_changes"
	FunctionApprovals = "function_approvals"
)

// Approvals finds the native approvals in a body with messages, in the messages' order. A call of a tool that the body
// declares itself is the client's own business. Keys are read in any spelling, for .NET reads toolcalls and Python
// tool_calls.
func Approvals(body []byte) []Approval {
	if !mayApprove(body) {
		return nil
	}
	root := gjson.ParseBytes(body)
	messages := first(root, "messages").Array()
	declared := map[string]bool{}
	for _, t := range first(root, "tools").Array() {
		declared[first(t, "name").Str] = true
	}
	asked := map[string]string{} // call id -> name
	for _, m := range messages {
		for _, c := range calls(m) {
			name := asking(c, declared)
			if name == "" {
				continue
			}
			for _, id := range idsOf(c, "id") {
				asked[id] = name
			}
		}
	}
	var list []Approval
	for at, m := range messages {
		for _, id := range idsOf(m, "toolCallId") {
			if name := asked[id]; name != "" && isTool(m) {
				list = append(list, Approval{at, name})
			}
		}
		for _, v := range Members(m, FunctionApprovals) {
			for range v.Array() {
				list = append(list, Approval{at, FunctionApprovals})
			}
		}
	}
	return list
}

// mayApprove is quick where the answer is no, for histories are long: every form has one of these words in a key or a
// name, unless it is written with escapes.
func mayApprove(body []byte) bool {
	return bytes.Contains(body, []byte(`\u`)) || hasWord(body, "approval") || hasWord(body, "confirm")
}

// hasWord looks for a lower-case word in any case.
func hasWord(body []byte, word string) bool {
	for rest := body; len(rest) >= len(word); rest = rest[1:] {
		at := bytes.IndexAny(rest[:len(rest)-len(word)+1], word[:1]+strings.ToUpper(word[:1]))
		if at < 0 {
			return false
		}
		if rest = rest[at:]; strings.EqualFold(string(rest[:len(word)]), word) {
			return true
		}
	}
	return false
}

// asking is the name under which a call asks for an approval, in whichever way it may be read; "" if it asks nothing.
func asking(c gjson.Result, declared map[string]bool) string {
	args := Every(c, "function", "arguments")
	if len(args) == 0 {
		args = []gjson.Result{{}}
	}
	for _, name := range texts(Every(c, "function", "name")...) {
		for _, args := range args {
			if !declared[name] && asks(name, ParseText(args)) {
				return name
			}
		}
	}
	return ""
}

// asks says whether a call with these arguments asks for an approval, by their structure: many products have a tool of
// one of these names. confirm_changes has no arguments where it confirms a predicted state (1.0.0b251105).
func asks(name string, args gjson.Result) bool {
	switch name {
	case RequestApproval:
		request := first(args, "request")
		return first(request, "approval_id").Type == gjson.String && first(request, "function_name").Type == gjson.String
	case ConfirmChanges:
		return first(args, "function_call_id").Type == gjson.String || len(args.Map()) == 0
	}
	return false
}

func texts(list ...gjson.Result) []string {
	var out []string
	for _, v := range list {
		if v.Type == gjson.String {
			out = append(out, v.Str)
		}
	}
	return out
}

// idsOf are the ids in a member of an object, "" where it has none.
func idsOf(object gjson.Result, name string) []string {
	if ids := texts(Every(object, name)...); len(ids) > 0 {
		return ids
	}
	return []string{""}
}

func isTool(m gjson.Result) bool {
	return slices.ContainsFunc(Every(m, "role"), func(role gjson.Result) bool { return strings.EqualFold(role.Str, "tool") })
}

func calls(m gjson.Result) []gjson.Result {
	var list []gjson.Result
	for _, v := range Members(m, "toolCalls") {
		list = append(list, v.Array()...)
	}
	return list
}

// Members are the members of an object with that name, in whatever spelling: .NET matches keys in any case and takes the
// last of two, Python takes tool_calls for toolCalls. Who must not overlook one looks at all of them.
func Members(object gjson.Result, name string) []gjson.Result {
	var list []gjson.Result
	if object.IsObject() {
		name = agui.FoldKey(name)
		object.ForEach(func(k, v gjson.Result) bool {
			if agui.FoldKey(k.Str) == name {
				list = append(list, v)
			}
			return true
		})
	}
	return list
}

// Every is the values at a path of names, in whatever spelling, and of keys that stand twice each.
func Every(object gjson.Result, path ...string) []gjson.Result {
	list := []gjson.Result{object}
	for _, name := range path {
		var next []gjson.Result
		for _, v := range list {
			next = append(next, Members(v, name)...)
		}
		list = next
	}
	return list
}

func first(object gjson.Result, name string) gjson.Result {
	if list := Members(object, name); len(list) > 0 {
		return list[0]
	}
	return gjson.Result{}
}

// WithoutApprovals is the input without the given ones: the messages that answer, the calls that asked, and the
// assistant's message where nothing else is in it.
func WithoutApprovals(in agui.RunInput, gone []Approval) agui.RunInput {
	if len(gone) == 0 {
		return in
	}
	answers, asked := map[int]bool{}, map[string]bool{}
	for _, a := range gone {
		answers[a.At] = true
		for _, id := range texts(Every(gjson.ParseBytes(in.Messages[a.At].JSON), "toolCallId")...) {
			asked[id] = true
		}
	}
	var kept []agui.Message
	for at, m := range in.Messages {
		switch {
		case answers[at]:
			m, ok := WithoutFunctionApprovals(m)
			if ok {
				kept = append(kept, m)
			}
			continue
		case m.Role == "tool" && asked[m.ToolCallID]:
			continue
		}
		if m, ok := withoutCalls(m, asked); ok {
			kept = append(kept, m)
		}
	}
	return in.WithMessages(kept)
}

// WithoutFunctionApprovals is a message without its function_approvals; false if it says nothing else.
func WithoutFunctionApprovals(m agui.Message) (agui.Message, bool) {
	object := gjson.ParseBytes(m.JSON)
	if len(Members(object, FunctionApprovals)) == 0 || isTool(object) {
		return m, false
	}
	content := object.Get("content")
	if content.Type == gjson.Null || content.Str == "" && content.Type == gjson.String || content.IsArray() && len(content.Array()) == 0 {
		return m, false
	}
	out := []byte{'{'}
	object.ForEach(func(k, v gjson.Result) bool {
		if agui.FoldKey(k.Str) != agui.FoldKey(FunctionApprovals) {
			out = AppendMember(out, k.Raw, v.Raw)
		}
		return true
	})
	return agui.ParseMessage(append(out, '}')), true
}

// withoutCalls is a message without some of its calls; false if nothing is left of it.
func withoutCalls(m agui.Message, gone map[string]bool) (agui.Message, bool) {
	all := calls(gjson.ParseBytes(m.JSON))
	left := slices.DeleteFunc(slices.Clone(all), func(c gjson.Result) bool {
		return slices.ContainsFunc(Every(c, "id"), func(id gjson.Result) bool { return gone[id.Str] })
	})
	switch {
	case len(left) == len(all):
		return m, true
	case len(left) == 0 && gjson.GetBytes(m.JSON, "content").Str == "":
		return m, false
	}
	out := []byte{'{'}
	gjson.ParseBytes(m.JSON).ForEach(func(k, v gjson.Result) bool {
		if agui.FoldKey(k.Str) != agui.FoldKey("toolCalls") {
			out = AppendMember(out, k.Raw, v.Raw)
		}
		return true
	})
	out = append(out, '}')
	if len(left) > 0 {
		var list []json.RawMessage
		for _, c := range left {
			list = append(list, json.RawMessage(c.Raw))
		}
		out = agui.SetKey(out, "toolCalls", agui.MustMarshal(list))
	}
	return agui.ParseMessage(out), true
}

// WithoutCalls is the input without the given tool calls of the assistant, and without the messages in which nothing
// else is.
func WithoutCalls(in agui.RunInput, gone map[string]bool) agui.RunInput {
	var kept []agui.Message
	changed := false
	for _, m := range in.Messages {
		left, ok := withoutCalls(m, gone)
		changed = changed || !ok || len(left.JSON) != len(m.JSON)
		if ok {
			kept = append(kept, left)
		}
	}
	if !changed {
		return in
	}
	return in.WithMessages(kept)
}
