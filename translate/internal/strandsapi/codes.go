package strandsapi

import "holdpoint/internal/agui"

// The codes of a RUN_ERROR about a Strands agent. The last two are for errors of the agent itself.
// They have the names that ag_ui_strands uses.
const (
	CodeInterruptLost       agui.Code = "STRANDS_INTERRUPT_LOST"
	CodeInterruptUnreadable agui.Code = "STRANDS_INTERRUPT_UNREADABLE"
	CodeError               agui.Code = "STRANDS_ERROR"
	CodeForceStop           agui.Code = "STRANDS_FORCE_STOP"
)
