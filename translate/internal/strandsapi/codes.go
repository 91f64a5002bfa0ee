package strandsapi

import "holdpoint/internal/agui"

// These are codes of a RUN_ERROR about a Strands agent. The last two are errors of the agent
// itself, with the names that ag_ui_strands uses.
const (
	CodeInterruptLost       agui.Code = "STRANDS_INTERRUPT_LOST"
	CodeInterruptUnreadable agui.Code = "STRANDS_INTERRUPT_UNREADABLE"
	CodeError               agui.Code = "STRANDS_ERROR"
	CodeForceStop           agui.Code = "STRANDS_FORCE_STOP"
)
