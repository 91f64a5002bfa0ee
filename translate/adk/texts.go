package adk

// The texts of errors that a client reads in RUN_ERROR.
const (
	textNotCredential = "payload for interrupt %q is not a credential"
	textTooLarge      = "the agent asks for a credential after more than %d bytes of other questions: no question was shown, so that the agent's own secrets stay hidden"
	textUnreadable    = "the agent asks for a credential in a form that cannot be read: no question was shown, so that the agent's own secrets stay hidden"
	textNoCancel      = "cannot be cancelled alone: ADK would read the cancel as the answer. Answer it, or cancel all open questions"
	textWrongWord     = `not {"%s": true or false}, and ADK reads anything else as a yes`
)

// The questions that a person reads if the agent sent no text.
const (
	askCredential = "The agent asks for a credential."
	askChanges    = "Accept the proposed changes?"
	askInput      = "The agent asks for input."
)

// hiddenCredential replaces the person's credential in snapshots that the client gets.
const hiddenCredential = "a credential, not shown"
