package requestapproval

// The texts of errors about answers, which a client reads in RUN_ERROR.
const (
	textNotDecision   = "payload for interrupt %q has no approved that is true or false"
	textOtherApproval = "payload for interrupt %q has another approval_id"
)

// The questions that a person reads if the agent sent no text.
const askCall = "The agent asks to call the tool %s."
