package translate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// A native approval is a yes or no in the messages of a request, in a form that Microsoft's backends act on: a call of
// request_approval or confirm_changes with a tool message for it, or function_approvals of a message. They believe what
// the history says was asked, so whoever writes one approves what no agent proposed.

// Names of the synthetic calls, and of the member of a message (.NET's Step04 samples; agent-framework-ag-ui 1.0.0b251105
// and later).
const (
	RequestApproval   = "request_approval"
	ConfirmChanges    = "confirm_changes"
	FunctionApprovals = "function_approvals"
)

// Approvals are the places of the messages in a body that are native approvals; of a body with several lists, in all of them one
// behind the other. A call of a tool that the body declares
// itself is the client's own business. Keys are read in any spelling, for .NET reads toolcalls and Python tool_calls.
func Approvals(body []byte) []int { return approvals(body, func(string) bool { return true }) }

// RequestApprovals are those of them that are pairs of request_approval and nothing else.
func RequestApprovals(body []byte) []int {
	return approvals(body, func(name string) bool { return name == RequestApproval })
}

// approvals are the places of the native approvals of which wanted says so by the name.
func approvals(body []byte, wanted func(name string) bool) []int {
	if !mayApprove(body) {
		return nil
	}
	root := gjson.ParseBytes(body)
	var messages []gjson.Result
	for _, list := range Members(root, "messages") { // of two lists one backend reads the first, another the last
		messages = append(messages, list.Array()...)
	}
	declared := map[string]bool{}
	for _, t := range first(root, "tools").Array() {
		declared[first(t, "name").Str] = true
	}
	asked := map[string]string{} // call id -> name
	for _, m := range messages {
		for _, c := range Calls(m) {
			name := asking(c, declared)
			if name == "" {
				continue
			}
			for _, id := range idsOf(c, "id") {
				if asked[id] != ConfirmChanges {
					asked[id] = name
				}
			}
		}
	}
	var list []int
	for at, m := range messages {
		if name := approving(m, asked); name != "" && wanted(name) {
			list = append(list, at)
		}
	}
	return list
}

// approving is the name under which a message approves, "" if it does not. asked are the calls that ask, by their ids.
func approving(m gjson.Result, asked map[string]string) string {
	if slices.ContainsFunc(Members(m, FunctionApprovals), func(v gjson.Result) bool { return len(v.Array()) > 0 }) {
		return FunctionApprovals
	}
	name := ""
	for _, id := range idsOf(m, "toolCallId", "actionExecutionId") {
		if n := asked[id]; n != "" && name != ConfirmChanges {
			name = n
		}
	}
	if name == "" || !IsTool(m) || !decides(m) {
		return ""
	}
	return name
}

// decides says whether some backend could read a tool message as a decision, and not as the result that the call got
// later: text that is no object, or an object without a word of the two, is none to any of them (.NET's samples throw at
// it). Python reads NaN too, so what only looks like an object may be one.
func decides(m gjson.Result) bool {
	contents := Members(m, "content")
	return len(contents) == 0 || slices.ContainsFunc(contents, func(content gjson.Result) bool {
		if content.Type != gjson.String {
			return true
		}
		object := ParseText(content)
		if object.IsObject() {
			return len(Members(object, "approved")) > 0 || len(Members(object, "accepted")) > 0
		}
		return strings.HasPrefix(strings.TrimLeft(content.Str, " \t\r\n"), "{")
	})
}

// MayApprove says whether a message may be a part of a native approval, and is quick where the answer is no: histories are
// long, and most of them is text and the results of tools.
func MayApprove(m agui.Message) bool {
	if m.Plain {
		return false
	}
	for one := agui.MembersOf(m.JSON); one.Next(); {
		switch name := one.Name(); {
		case agui.SameKey(name, FunctionApprovals):
			return true
		case agui.SameKey(name, "toolCalls") && mayApprove([]byte(one.Value)):
			return true
		}
	}
	return false
}

// mayApprove looks for the words that every form has in a key or a name, unless one of their letters is written as an escape.
func mayApprove(body []byte) bool {
	return hasWord(body, "approval", 'v') || hasWord(body, "confirm", 'f') || escapesLetters(body)
}

// MaySay says whether a lower-case word may stand in JSON text, in any case and in escapes; rare is a letter that it has once.
func MaySay(json []byte, word string, rare byte) bool {
	return hasWord(json, word, rare) || escapesLetters(json)
}

// escapesLetters says whether an ASCII letter may be written as \u0041 to \u007a. Python escapes all that is not ASCII,
// and .NET and Go some signs, but nobody letters.
func escapesLetters(body []byte) bool {
	for {
		_, rest, found := bytes.Cut(body, []byte(`\u00`))
		if !found {
			return false
		}
		if len(rest) > 0 && rest[0] >= '4' && rest[0] <= '7' {
			return true
		}
		body = rest
	}
}

// hasWord looks for a lower-case word in any case, by a letter that it has once and texts have seldom.
func hasWord(body []byte, word string, rare byte) bool {
	at := strings.IndexByte(word, rare)
	for _, c := range [...]byte{rare, rare - 'a' + 'A'} {
		for from := at; from < len(body); from++ {
			next := bytes.IndexByte(body[from:], c)
			if next < 0 {
				break
			}
			from += next
			if begin := from - at; len(body)-begin >= len(word) && strings.EqualFold(string(body[begin:begin+len(word)]), word) {
				return true
			}
		}
	}
	return false
}

// asking is the name under which a call asks for an approval, in one of the ways in which it may be read; "" if it asks
// for none.
func asking(c gjson.Result, declared map[string]bool) string {
	named := Texts(c, "function", "name")
	args := Every(c, "function", "arguments")
	if len(args) == 0 {
		args = []gjson.Result{{}}
	}
	for _, name := range []string{ConfirmChanges, RequestApproval} {
		if slices.Contains(named, name) && !declared[name] &&
			slices.ContainsFunc(args, func(args gjson.Result) bool { return asks(name, ParseText(args)) }) {
			return name
		}
	}
	return ""
}

// asks says whether a call with these arguments asks for an approval, by their structure: many products have a tool of
// one of these names. confirm_changes has no arguments where it confirms a predicted state (1.0.0b251105).
func asks(name string, args gjson.Result) bool {
	if name == ConfirmChanges {
		return len(args.Map()) == 0 || len(Texts(args, "function_call_id")) > 0
	}
	return slices.ContainsFunc(Members(args, "request"), func(request gjson.Result) bool {
		return len(Texts(request, "approval_id")) > 0 && len(Texts(request, "function_name")) > 0
	})
}

// Texts are the strings at a path of names, found as by Every.
func Texts(object gjson.Result, path ...string) []string {
	var out []string
	for _, v := range Every(object, path...) {
		if v.Type == gjson.String {
			out = append(out, v.Str)
		}
	}
	return out
}

// idsOf are the ids in the named members of an object, "" where it has none. agent-framework-ag-ui reads the call of a tool
// message from actionExecutionId too.
func idsOf(object gjson.Result, names ...string) []string {
	var ids []string
	for _, name := range names {
		ids = append(ids, Texts(object, name)...)
	}
	if len(ids) == 0 {
		return []string{""}
	}
	return ids
}

// IsTool says whether a message is one of a tool, in any spelling.
func IsTool(m gjson.Result) bool {
	is := false
	if m.IsObject() {
		m.ForEach(func(k, v gjson.Result) bool {
			is = strings.EqualFold(v.Str, "tool") && agui.SameKey(k.Str, "role")
			return !is
		})
	}
	return is
}

// Calls are the tool calls of a message, in any spelling.
func Calls(m gjson.Result) []gjson.Result {
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
		object.ForEach(func(k, v gjson.Result) bool {
			if agui.SameKey(k.Str, name) {
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

// WithoutApprovals is the input without the approvals at the given places: the messages that answer, the calls that asked,
// and the assistant's message where nothing else is in it.
func WithoutApprovals(in agui.RunInput, gone []int) agui.RunInput {
	if len(gone) == 0 {
		return in
	}
	answers, asked := map[int]bool{}, map[string]bool{}
	for _, at := range gone {
		answers[at] = true
		for _, id := range idsOf(gjson.ParseBytes(in.Messages[at].JSON), "toolCallId", "actionExecutionId") {
			asked[id] = id != ""
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
	if len(Members(object, FunctionApprovals)) == 0 || IsTool(object) {
		return m, false
	}
	content := object.Get("content")
	if content.Type == gjson.Null || content.Str == "" && content.Type == gjson.String || content.IsArray() && len(content.Array()) == 0 {
		return m, false
	}
	out := []byte{'{'}
	object.ForEach(func(k, v gjson.Result) bool {
		if !agui.SameKey(k.Str, FunctionApprovals) {
			out = AppendMember(out, k.Raw, v.Raw)
		}
		return true
	})
	return agui.ParseMessage(append(out, '}')), true
}

// withoutCalls is a message without some of its calls; false if nothing is left of it.
func withoutCalls(m agui.Message, gone map[string]bool) (agui.Message, bool) {
	all := Calls(gjson.ParseBytes(m.JSON))
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
		if !agui.SameKey(k.Str, "toolCalls") {
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
