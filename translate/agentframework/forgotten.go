package agentframework

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/agentframework/internal/aguiserver"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// After a restart of Holdpoint nobody knows that a route speaks this dialect, while the backend
// still waits (RAN 1.0.0rc7 to 1.7.0), or runs what it is told without waiting (up to
// 1.0.0b260311). A person's answer in a message is refused then, and what a client keeps of it in
// its history is made harmless.

// ReadsDecisions implements translate.DecisionReader.
func (*Dialect) ReadsDecisions(spoken string) bool { return spoken == "" }

// Decides implements translate.DecisionReader. Where the dialect is known, Begin makes every such
// message harmless. What says more than a decision may be the result of a tool of another backend.
// In a history nothing of that kind is changed.
func (*Dialect) Decides(m agui.Message, last bool, spoken string) bool {
	if spoken == Name || !strings.EqualFold(m.Role, "tool") || !kit.MaySay(m.JSON, "accepted", 'p') {
		return false
	}
	if last {
		return decides(m)
	}
	return isDecision(gjson.GetBytes(m.JSON, "content"), nil)
}

// Harmless implements translate.DecisionReader.
func (*Dialect) Harmless(m agui.Message) agui.Message { return messageAsResult(m) }

// Continues implements translate.Continuer: the .NET host on AGUI.Server approves each call that
// has no result (ag-ui issues 2393 and 2820; RAN 0.0.3 to after 0.0.5).
func (*Dialect) Continues(spoken, backend string) bool {
	return spoken == "" || spoken == Name && backend != python
}

// AsksUnder implements translate.Stateless, for the .NET host.
func (*Dialect) AsksUnder(id, spoken string) (call string, asks bool) {
	call, is := microsoft.CallOf(id)
	return call, is && (spoken == "" || spoken == Name)
}

// namesApproval reports whether an id, published or a backend's own, is of an approval of .NET's.
func namesApproval(id string) bool {
	native, _ := kit.NativeID(id)
	return microsoft.IsApprovalID(native)
}

// python is what translate.Result.Backend calls Python's package.
const python = "python"

// KeepsNothing implements translate.Stateless: the .NET host reads question and answer out of each
// request, unless a workflow has asked. Python's servers keep what waits by the thread.
func (*Dialect) KeepsNothing(p *agui.Pause) bool {
	return p.Dialect == Name && aguiserver.Made(*p) && !aguiserver.KeepsSession(*p)
}

// ReadsCalls implements translate.Stateless. Python's servers take the conversation out of each
// request, and keep what waits only (RAN 1.0.0b251223 to 1.7.0).
func (*Dialect) ReadsCalls(p *agui.Pause) bool { return p.Dialect == Name }
