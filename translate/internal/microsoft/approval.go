// Package microsoft reads approvals and denials in messages in the forms that Microsoft's backends
// act on. Microsoft's dialects use it to read answers. Other dialects use it to find and remove
// such messages, because an operator may have named another dialect than the one that the backend
// speaks. The package does not know what a version of a backend does with an answer.
package microsoft

import (
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A native approval is a yes or a no in the messages of a request, in a form that Microsoft's
// backends act on: a call of request_approval or confirm_changes with a tool message for it, or
// function_approvals of a message. These backends trust the question in the history. So a client
// that writes such messages can approve a call that no agent proposed.

// These are the names of the synthetic calls, and of the member of a message (.NET's Step04
// samples; agent-framework-ag-ui 1.0.0b251105 and later).
const (
	RequestApproval   = "request_approval"
	ConfirmChanges    = "confirm_changes"
	FunctionApprovals = "function_approvals"
)

// approvalPrefix is the prefix of the ids of approvals in .NET. FunctionInvokingChatClient adds it
// to the id of the call (Microsoft.Extensions.AI 10.4 and later).
const approvalPrefix = "ficc_"

// IsApprovalID reports whether .NET made the id for an approval.
func IsApprovalID(id string) bool { return strings.HasPrefix(id, approvalPrefix) }

// CallOf returns the id of the call that an approval of .NET is about. is reports that .NET made
// the id.
func CallOf(id string) (call string, is bool) { return strings.CutPrefix(id, approvalPrefix) }

// ApprovalID returns the id of an approval in the form of newer versions of .NET.
func ApprovalID(id string) string {
	if IsApprovalID(id) {
		return id
	}
	return approvalPrefix + id
}

// Approvals returns the native approvals in the messages of a request, in order. They are replies
// without a dialect, so they are strays for a dialect whose backend does not use these forms. Key
// is the name of the form. A call of a tool that the request declares belongs to the client and is
// skipped. known reports that request_approval is a tool of the backend; then its calls count even
// if the request declares it. Keys are read in any spelling, because .NET reads toolcalls and
// Python tool_calls.
func Approvals(in agui.RunInput, known bool) []translate.Reply {
	if !slices.ContainsFunc(in.Messages, mayBePart) {
		return nil
	}
	declares := in.Declares
	if known {
		declares = func(tool string) bool { return tool != RequestApproval && in.Declares(tool) }
	}
	asked := map[string]string{} // call id -> name
	for _, m := range in.Messages {
		if m.Plain {
			continue
		}
		for _, c := range kit.Calls(agui.View(m.JSON)) {
			name := approvalForm(c, declares)
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
	var list []translate.Reply
	for at, m := range in.Messages {
		if m.Plain && len(asked) == 0 {
			continue
		}
		object := agui.View(m.JSON)
		name := approving(object, asked)
		if name == "" {
			continue
		}
		one := translate.Reply{At: at, Key: name, Decides: true}
		for _, id := range idsOf(object, "toolCallId", "actionExecutionId") {
			if id != "" {
				one.Calls = append(one.Calls, id)
			}
		}
		if rest, says := withoutFunctionApprovals(m); says {
			one.Rest = &rest
		}
		list = append(list, one)
	}
	return list
}

// NativeApprovals returns the native approvals, for a dialect whose backend reads no decisions from
// messages. It returns none if the dialect is not named or known; then auto asks other dialects,
// which return them.
func NativeApprovals(in agui.RunInput, named bool) iter.Seq[translate.Reply] {
	if !named {
		return noReplies
	}
	return slices.Values(Approvals(in, false))
}

// noReplies is a sequence without replies.
func noReplies(func(translate.Reply) bool) {}

// approving returns the name of the form in which a message approves or denies, or "" if it does
// not. asked has the names of the calls that ask, by their ids.
func approving(m gjson.Result, asked map[string]string) string {
	if slices.ContainsFunc(kit.Members(m, FunctionApprovals), func(v gjson.Result) bool { return len(v.Array()) > 0 }) {
		return FunctionApprovals
	}
	name := ""
	for _, id := range idsOf(m, "toolCallId", "actionExecutionId") {
		if n := asked[id]; n != "" && name != ConfirmChanges {
			name = n
		}
	}
	if name == "" || !kit.IsTool(m) || !decides(m) {
		return ""
	}
	return name
}

// decides reports whether some backend could read a tool message as a decision and not as the later
// result of the call. A text that is not an object, or an object without approved and accepted, is
// not a decision for any of them (.NET's samples throw an exception). Python accepts NaN too, so a
// text that begins like an object counts even if it is not valid JSON.
func decides(m gjson.Result) bool {
	contents := kit.Members(m, "content")
	return len(contents) == 0 || slices.ContainsFunc(contents, func(content gjson.Result) bool {
		if content.Type != gjson.String {
			return true
		}
		object := kit.ParseText(content)
		if object.IsObject() {
			return len(kit.Members(object, "approved")) > 0 || len(kit.Members(object, "accepted")) > 0
		}
		return strings.HasPrefix(strings.TrimLeft(content.Str, " \t\r\n"), "{")
	})
}

// mayBePart reports whether a message may be part of a native approval. It is fast if the result is
// false, because most messages of a history are texts and results of tools.
func mayBePart(m agui.Message) bool {
	if m.Plain {
		return false
	}
	for one := agui.CheckedMembers(m.JSON); one.Next(); {
		switch name := one.Name(); {
		case agui.SameKey(name, FunctionApprovals):
			return true
		case agui.SameKey(name, "toolCalls") && mayApprove([]byte(one.Value)):
			return true
		}
	}
	return false
}

// mayApprove reports whether the text contains a word that every form has in a key or a name.
func mayApprove(body []byte) bool {
	return kit.MayContain(body, "approval", 'v') || kit.MayContain(body, "confirm", 'f')
}

// approvalForm returns the name of the form in which a call asks for an approval, or "" if it does
// not. All spellings and repeated keys are considered.
func approvalForm(c gjson.Result, declares func(tool string) bool) string {
	named := kit.Texts(c, "function", "name")
	args := kit.ValuesAt(c, "function", "arguments")
	if len(args) == 0 {
		args = []gjson.Result{{}}
	}
	for _, name := range []string{ConfirmChanges, RequestApproval} {
		if slices.Contains(named, name) && !declares(name) &&
			slices.ContainsFunc(args, func(args gjson.Result) bool { return asksForApproval(name, kit.ParseText(args)) }) {
			return name
		}
	}
	return ""
}

// asksForApproval reports whether a call with these arguments asks for an approval. It checks the
// structure of the arguments, because many products have a tool with one of these names. A
// confirm_changes that confirms a predicted state has no arguments (1.0.0b251105).
func asksForApproval(name string, args gjson.Result) bool {
	if name == ConfirmChanges {
		return len(args.Map()) == 0 || len(kit.Texts(args, "function_call_id")) > 0
	}
	return slices.ContainsFunc(kit.Members(args, "request"), func(request gjson.Result) bool {
		return len(kit.Texts(request, "approval_id")) > 0 && len(kit.Texts(request, "function_name")) > 0
	})
}

// idsOf returns the ids in the named members of an object, or one "" if it has none.
// agent-framework-ag-ui reads the call of a tool message from actionExecutionId too.
func idsOf(object gjson.Result, names ...string) []string {
	var ids []string
	for _, name := range names {
		ids = append(ids, kit.Texts(object, name)...)
	}
	if len(ids) == 0 {
		return []string{""}
	}
	return ids
}

// withoutFunctionApprovals returns a message without its function_approvals. It returns false if
// the message has none, or has no other content.
func withoutFunctionApprovals(m agui.Message) (agui.Message, bool) {
	object := gjson.ParseBytes(m.JSON)
	if len(kit.Members(object, FunctionApprovals)) == 0 || kit.IsTool(object) {
		return m, false
	}
	content := object.Get("content")
	if content.Type == gjson.Null || content.Str == "" && content.Type == gjson.String || content.IsArray() && len(content.Array()) == 0 {
		return m, false
	}
	return agui.ParseMessage(kit.MapMembers(object, func(k, v gjson.Result) string {
		if agui.SameKey(k.Str, FunctionApprovals) {
			return ""
		}
		return v.Raw
	})), true
}
