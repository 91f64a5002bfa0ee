// Package microsoft reads approvals and denials in messages, in the forms that Microsoft's backends
// accept. Microsoft's dialects use it to read answers. Other dialects use it to find and remove
// such messages, because an operator may have set another dialect than the backend speaks. The
// package does not know how a particular version of a backend reads an answer.
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
// backends accept. There are two forms: a call of request_approval or confirm_changes with a tool
// message for it, and the member function_approvals of a message. These backends trust the question
// that is in the history. So a client that makes up such messages can approve a call that no agent
// proposed.

// The names of the calls that the frameworks make up to ask, and the name of a member of a message
// (.NET's Step04 samples; agent-framework-ag-ui 1.0.0b251105 and later).
const (
	RequestApproval   = "request_approval"
	ConfirmChanges    = "confirm_changes"
	FunctionApprovals = "function_approvals"
)

// approvalPrefix begins the ids of approvals in .NET. FunctionInvokingChatClient makes such an id
// from the prefix and the id of the call (Microsoft.Extensions.AI 10.4 and later).
const approvalPrefix = "ficc_"

// IsApprovalID reports whether .NET made the id, for an approval.
func IsApprovalID(id string) bool { return strings.HasPrefix(id, approvalPrefix) }

// CallOf returns the id of the call that an approval of .NET is about. The second result is true if
// .NET made the id of the approval.
func CallOf(id string) (call string, is bool) { return strings.CutPrefix(id, approvalPrefix) }

// ApprovalID returns the id of an approval with the prefix that newer versions of .NET add.
func ApprovalID(id string) string {
	if IsApprovalID(id) {
		return id
	}
	return approvalPrefix + id
}

// Approvals returns the native approvals in the messages of a request, in order. They are replies
// without a dialect. A dialect whose backend does not accept these forms treats them as decisions
// on unknown questions. The Key of a reply is the name of its form.
//
// A call of a tool that the request declares belongs to the client, so it is skipped. The parameter
// known says that request_approval is a tool of the backend. Then its calls count even if the
// request declares it. Keys are read in any spelling, because .NET reads toolcalls and Python
// tool_calls.
func Approvals(in agui.RunInput, known bool) []translate.Reply {
	if !slices.ContainsFunc(in.Messages, mayBePart) {
		return nil
	}
	declares := in.Declares
	if known {
		declares = func(tool string) bool { return tool != RequestApproval && in.Declares(tool) }
	}
	asked := map[string]string{} // id of a call that asks → name of its tool
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

// NativeApprovals returns the native approvals, for a dialect whose backend reads no decisions in
// messages. The parameter named says that the backend is known to speak the dialect, or that the
// operator set it. If it is false, the result is empty, because auto then asks other dialects,
// which return these approvals.
func NativeApprovals(in agui.RunInput, named bool) iter.Seq[translate.Reply] {
	if !named {
		return noReplies
	}
	return slices.Values(Approvals(in, false))
}

// noReplies is an empty sequence of replies.
func noReplies(func(translate.Reply) bool) {}

// approving returns the name of the form in which the message approves or denies. It returns "" if
// the message does neither. The parameter asked maps the ids of the calls that ask to their names.
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

// decides reports whether a backend could read the tool message as a decision, and not as the later
// result of the call. No backend reads a text as a decision if it is not an object, or if the
// object has neither approved nor accepted (.NET's samples throw an exception). Python accepts NaN
// too, so a text that begins like an object counts even if it is not valid JSON.
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

// mayBePart reports whether the message may be part of a native approval. It is fast for other
// messages, because most messages of a history are texts and results of tools.
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

// mayApprove reports whether the body contains "approval" or "confirm". Every form of a native
// approval has one of them in a key or a name.
func mayApprove(body []byte) bool {
	return kit.MayContain(body, "approval", 'v') || kit.MayContain(body, "confirm", 'f')
}

// approvalForm returns the name of the form in which the call c asks for an approval. It returns ""
// if c does not ask. It considers all spellings of a key, and all values of a repeated key.
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

// asksForApproval reports whether a call of the tool name with these arguments asks for an
// approval. It checks the structure of the arguments, because many products have a tool with one of
// these names. A confirm_changes call that asks about a predicted state has no arguments
// (1.0.0b251105).
func asksForApproval(name string, args gjson.Result) bool {
	if name == ConfirmChanges {
		return len(args.Map()) == 0 || len(kit.Texts(args, "function_call_id")) > 0
	}
	return slices.ContainsFunc(kit.Members(args, "request"), func(request gjson.Result) bool {
		return len(kit.Texts(request, "approval_id")) > 0 && len(kit.Texts(request, "function_name")) > 0
	})
}

// idsOf returns the ids in those members of the object that have one of the names. If there is no
// id, it returns one "". agent-framework-ag-ui also reads the id of a tool message's call from
// actionExecutionId.
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

// withoutFunctionApprovals returns the message without its function_approvals. It returns false if
// the message has no function_approvals, or no content besides them.
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
