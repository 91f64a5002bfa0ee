package carry

// The log lines of this package at the level WARN. The comment of each says to the operator what
// it means and what to do; docs/warnings.md is made from these comments.

// The log lines.
const (
	// A decision of the desk is older than HOLDPOINT_DESK_CARRY_WITHIN and was not yet sent to the
	// agent, so Holdpoint leaves it to the chat. The agent gets it with the next request of the
	// chat. If that is too late, make the time longer, or find out why it was not sent earlier.
	logTooOld = "a decision is too old to be sent to the agent without the chat"

	// Holdpoint could not send a decision of the desk to the agent. The line has the reason, such
	// as an agent that cannot be reached. Holdpoint tries again several times within half an hour;
	// nothing is lost.
	logNotCarried = "a decision of the desk could not be sent to the agent"

	// Holdpoint tried several times to send a decision of the desk to the agent, and gave up. The
	// decision is still saved: the agent gets it with the next request of the chat. Look at the
	// earlier lines about the same pause for the reason.
	logNoMoreTries = "a decision of the desk is not sent again without the chat"
)
