package agentframework

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/agentframework/internal/aguiserver"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// After a restart Holdpoint does not know that a route speaks this dialect. But the backend still
// waits (RAN 1.0.0rc7 to 1.7.0), or runs a call without having asked (up to 1.0.0b260311). So a
// decision in the last message is refused, and decisions in the older messages are made harmless.

// ReadsDecisions implements translate.DecisionReader.
func (*Dialect) ReadsDecisions(spoken string) bool { return spoken == "" }

// Decides implements translate.DecisionReader. Where the dialect is known, Begin makes every such
// message harmless. A message with more keys than a decision may be a tool result of another
// backend, so it counts only if it is the last message.
func (*Dialect) Decides(m agui.Message, last bool, spoken string) bool {
	if spoken == Name || !strings.EqualFold(m.Role, "tool") || !kit.MayContain(m.JSON, "accepted", 'p') {
		return false
	}
	if last {
		return decides(m)
	}
	return isDecision(gjson.GetBytes(m.JSON, "content"), nil)
}

// Harmless implements translate.DecisionReader.
func (*Dialect) Harmless(m agui.Message) agui.Message { return messageAsResult(m) }

// Continues implements translate.Continuer. The .NET host on AGUI.Server approves each call that
// has no result (ag-ui issues 2393 and 2820; RAN 0.0.3 to after 0.0.5).
func (*Dialect) Continues(spoken, backend string) bool {
	return spoken == "" || spoken == Name && backend != python
}

// AsksUnder implements translate.Stateless, for the .NET host.
func (*Dialect) AsksUnder(id, spoken string) (call string, asks bool) {
	call, is := microsoft.CallOf(id)
	return call, is && (spoken == "" || spoken == Name)
}

// namesApproval reports whether a native or published id belongs to an approval of .NET.
func namesApproval(id string) bool {
	native, _ := kit.NativeID(id)
	return microsoft.IsApprovalID(native)
}

// python is the translate.Result.Backend of the Python package.
const python = "python"

// KeepsNothing implements translate.Stateless. The .NET host reads both question and answer from
// each request, unless a workflow has asked. Python's servers store their open questions by thread.
func (*Dialect) KeepsNothing(p *agui.Pause) bool {
	return p.Dialect == Name && aguiserver.MadePause(*p) && !aguiserver.KeepsSession(*p)
}

// ReadsCalls implements translate.Stateless. Python's servers read the conversation from each
// request, and store only their open questions (RAN 1.0.0b251223 to 1.7.0).
func (*Dialect) ReadsCalls(p *agui.Pause) bool { return p.Dialect == Name }
