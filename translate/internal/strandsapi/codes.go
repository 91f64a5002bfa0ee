package strandsapi

import "holdpoint/internal/agui"

// The codes of a RUN_ERROR about a Strands agent. The last two are errors of the agent's own, as
// ag_ui_strands names them.
const (
	CodeInterruptLost       agui.Code = "STRANDS_INTERRUPT_LOST"
	CodeInterruptUnreadable agui.Code = "STRANDS_INTERRUPT_UNREADABLE"
	CodeError               agui.Code = "STRANDS_ERROR"
	CodeForceStop           agui.Code = "STRANDS_FORCE_STOP"
)
