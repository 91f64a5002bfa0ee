package strandsapi

import "holdpoint/internal/agui"

// These are the codes of a RUN_ERROR about a Strands agent. The last two are errors of the agent's
// own, by the names that ag_ui_strands gives them.
const (
	CodeInterruptLost       agui.Code = "STRANDS_INTERRUPT_LOST"
	CodeInterruptUnreadable agui.Code = "STRANDS_INTERRUPT_UNREADABLE"
	CodeError               agui.Code = "STRANDS_ERROR"
	CodeForceStop           agui.Code = "STRANDS_FORCE_STOP"
)
