package calls

// The texts of errors about answers, which a client reads in RUN_ERROR.
const (
	textSameCallID   = "several calls have the id %q of interrupt %q, and %s would give all of them this answer: deny or cancel it"
	textNoCancel     = "interrupt %q %s"
	textWrongPayload = "payload for interrupt %q is %s"
)

// The questions that a person reads if the agent sent no text.
const (
	askCall   = "The agent asks to call the tool %s."
	askResult = "The agent waits for the result of the tool %s."
)
