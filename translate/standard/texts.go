package standard

// The texts of errors about answers. A client reads them in RUN_ERROR.
const (
	textNoSingleCancel   = "interrupt %q cannot be cancelled alone: its backend reads a cancel as the choice of its first option; answer it, or cancel all open questions"
	textNoPayload        = "the answer to interrupt %q has no payload: its backend does not read that as an answer"
	textNotDecision      = "payload for interrupt %q is not {%q: %s or %s}, and its backend may read anything else as a yes"
	textToolCall         = "payload for interrupt %q has a toolCall, and a backend may run that call although it did not ask about it"
	textNoForwardedProps = "the answer cannot be sent to the backend: forwardedProps must be an object"
)

// The questions that a person reads if the agent sent no text.
const (
	askCall    = "The agent asks to call the tool %s."
	askAnyCall = "The agent asks to call a tool."
	askChanges = "Accept the proposed changes?"
	askTool    = "The tool %s waits for an answer."
	askAnyTool = "A tool waits for an answer."
)
