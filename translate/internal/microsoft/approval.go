// Package microsoft has the forms in which Microsoft's backends take a yes or a no out of messages.
// Their dialects read answers by it. The others find strays by it, for an operator may name another
// dialect than the backend speaks. It does not know what any of the versions does with an answer.
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

// A native approval is a yes or no in the messages of a request, in a form that Microsoft's
// backends act on: a call of request_approval or confirm_changes with a tool message for it, or
// function_approvals of a message. They believe what the history says was asked, so whoever writes
// one approves what no agent proposed.

// Names of the synthetic calls, and of the member of a message (.NET's Step04 samples;
// agent-framework-ag-ui 1.0.0b251105 and later).
const (
	RequestApproval   = "request_approval"
	ConfirmChanges    = "confirm_changes"
	FunctionApprovals = "function_approvals"
)

// approvalPrefix begins the ids of approvals in .NET: FunctionInvokingChatClient puts it before the
// id of the call (Microsoft.Extensions.AI 10.4 and later).
const approvalPrefix = "ficc_"

// IsApprovalID reports whether .NET has made the id, for an approval.
func IsApprovalID(id string) bool { return strings.HasPrefix(id, approvalPrefix) }

// CallOf returns the call that an approval of .NET's is about. is reports that .NET has made the
// id.
func CallOf(id string) (call string, is bool) { return strings.CutPrefix(id, approvalPrefix) }

// ApprovalID returns the id of an approval as newer versions of .NET make it.
func ApprovalID(id string) string {
	if IsApprovalID(id) {
		return id
	}
	return approvalPrefix + id
}

// Approvals returns the native approvals in a request's messages, in order, as replies of no
// dialect: for one whose backend asks by none of these forms each is a stray. Key is the name of
// the form. A call of a tool that the request declares itself is the client's own business. known
// says that request_approval is the backend's own tool: then it does not matter who declares it.
// Keys are read in any spelling, for .NET reads toolcalls and Python tool_calls.
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
			name := asking(c, declares)
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
		one := translate.Reply{At: at, Key: name, Asked: true}
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

// Strays returns the native approvals for a dialect whose backend takes no decision out of
// messages: it has them where it is named, or known; under auto others have them too.
func Strays(in agui.RunInput, named bool) iter.Seq[translate.Reply] {
	if !named {
		return noReplies
	}
	return slices.Values(Approvals(in, false))
}

// noReplies is a sequence without replies.
func noReplies(func(translate.Reply) bool) {}

// approving returns the name under which a message approves, "" if it does not. asked are the calls
// that ask, by their ids.
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

// decides reports whether some backend could read a tool message as a decision, and not as the
// result that the call got later: text that is not an object, or an object without a word of the
// two, is not an answer to any of them (.NET's samples throw at it). Python reads NaN too, so what
// only looks like an object may be one.
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

// mayBePart reports whether a message may be a part of a native approval, and is quick where the
// answer is no: histories are long, and most of them is text and the results of tools.
func mayBePart(m agui.Message) bool {
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

// mayApprove looks for the words that every form has in a key or a name, unless one of their
// letters is written as an escape.
func mayApprove(body []byte) bool {
	return kit.MaySay(body, "approval", 'v') || kit.MaySay(body, "confirm", 'f')
}

// asking returns the name under which a call asks for an approval, in one of the ways in which it
// may be read; "" if it asks for none.
func asking(c gjson.Result, declares func(tool string) bool) string {
	named := kit.Texts(c, "function", "name")
	args := kit.Every(c, "function", "arguments")
	if len(args) == 0 {
		args = []gjson.Result{{}}
	}
	for _, name := range []string{ConfirmChanges, RequestApproval} {
		if slices.Contains(named, name) && !declares(name) &&
			slices.ContainsFunc(args, func(args gjson.Result) bool { return asks(name, kit.ParseText(args)) }) {
			return name
		}
	}
	return ""
}

// asks reports whether a call with these arguments asks for an approval, by their structure: many
// products have a tool of one of these names. confirm_changes has no arguments where it confirms a
// predicted state (1.0.0b251105).
func asks(name string, args gjson.Result) bool {
	if name == ConfirmChanges {
		return len(args.Map()) == 0 || len(kit.Texts(args, "function_call_id")) > 0
	}
	return slices.ContainsFunc(kit.Members(args, "request"), func(request gjson.Result) bool {
		return len(kit.Texts(request, "approval_id")) > 0 && len(kit.Texts(request, "function_name")) > 0
	})
}

// idsOf returns the ids in the named members of an object, "" where it has none.
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

// withoutFunctionApprovals returns a message without its function_approvals; false if it says
// nothing else.
func withoutFunctionApprovals(m agui.Message) (agui.Message, bool) {
	object := gjson.ParseBytes(m.JSON)
	if len(kit.Members(object, FunctionApprovals)) == 0 || kit.IsTool(object) {
		return m, false
	}
	content := object.Get("content")
	if content.Type == gjson.Null || content.Str == "" && content.Type == gjson.String || content.IsArray() && len(content.Array()) == 0 {
		return m, false
	}
	out := []byte{'{'}
	object.ForEach(func(k, v gjson.Result) bool {
		if !agui.SameKey(k.Str, FunctionApprovals) {
			out = kit.AppendMember(out, k.Raw, v.Raw)
		}
		return true
	})
	return agui.ParseMessage(append(out, '}')), true
}
