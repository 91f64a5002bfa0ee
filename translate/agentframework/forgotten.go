package agentframework

import (
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/agentframework/internal/aguiserver"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// After a restart Holdpoint does not know that a route speaks this dialect. But the backend may
// still wait for an answer (RAN 1.0.0rc7 to 1.7.0), or run a call without having asked a question
// (up to 1.0.0b260311). So Holdpoint refuses a request whose last message is a decision. Decisions
// in earlier messages are changed so that the backend does not read them as decisions.

// ReadsDecisions implements translate.DecisionReader.
func (*Dialect) ReadsDecisions(detectedDialect string) bool { return detectedDialect == "" }

// Decides implements translate.DecisionReader. If the backend is known to speak this dialect,
// Decides returns false, because Begin then makes every decision harmless. A message that has more
// keys than a decision may be the tool result of another backend, so such a message counts as a
// decision only if it is the last one.
func (*Dialect) Decides(m agui.Message, isLast bool, detectedDialect string) bool {
	if detectedDialect == Name || !strings.EqualFold(m.Role, "tool") || !kit.MayContain(m.JSON, "accepted", 'p') {
		return false
	}
	if isLast {
		return decides(m)
	}
	return isDecision(gjson.GetBytes(m.JSON, "content"), nil)
}

// Harmless implements translate.DecisionReader.
func (*Dialect) Harmless(m agui.Message) agui.Message { return messageAsResult(m) }

// Continues implements translate.Continuer. It returns true for a backend that may be the .NET host
// on AGUI.Server, because that host runs each call that has no result as if it was approved (ag-ui
// issues 2393 and 2820; RAN 0.0.3 to after 0.0.5).
func (*Dialect) Continues(detectedDialect, backend string) bool {
	return detectedDialect == "" || detectedDialect == Name && backend != python
}

// AsksUnder implements translate.Stateless. It recognizes the ids of the .NET host's approvals.
func (*Dialect) AsksUnder(id, detectedDialect string) (call string, asks bool) {
	call, is := microsoft.CallOf(id)
	return call, is && (detectedDialect == "" || detectedDialect == Name)
}

// namesApproval reports whether id belongs to an approval of the .NET host. The id may be the
// backend's own or the one that Holdpoint published.
func namesApproval(id string) bool {
	native, _ := kit.NativeID(id)
	return microsoft.IsApprovalID(native)
}

// python is the value of translate.Result.Backend for the Python package.
const python = "python"

// KeepsNothing implements translate.Stateless. It returns true for a pause of the .NET host, which
// reads both question and answer from each request. It returns false if a workflow of that host
// asked, and for Python's servers, which store the open questions of each thread.
func (*Dialect) KeepsNothing(p *agui.Pause) bool {
	return p.Dialect == Name && aguiserver.MadePause(*p) && !aguiserver.KeepsSession(*p)
}

// ReadsCalls implements translate.Stateless. It returns true, because Python's servers read the
// conversation from each request, and store only their open questions (RAN 1.0.0b251223 to 1.7.0).
func (*Dialect) ReadsCalls(p *agui.Pause) bool { return p.Dialect == Name }
