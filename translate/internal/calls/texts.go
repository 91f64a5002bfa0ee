package calls

// The texts of errors about answers, which a client reads in RUN_ERROR.
const (
	textSameCallID   = "several calls have the id %q of interrupt %q, and %s would give all of them this answer: deny or cancel it"
	textNoCancel     = "interrupt %q %s"
	textWrongPayload = "payload for interrupt %q is %s"
)
