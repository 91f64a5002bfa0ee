package aguiserver

// The texts of errors about answers, which a client reads in RUN_ERROR.
const (
	textNoApproved    = "payload for interrupt %q must have the boolean approved, once"
	textEditNotObject = "editedArgs of the payload for interrupt %q must be an object, once"
	textToolCall      = "payload for interrupt %q has a toolCall, and a backend may run that call although it did not ask about it"
	textNoIDs         = "the backend asked under an empty id, or twice under the same id, so it cannot be answered"
)

// messageStart begins the message of the host's questions. A person reads it. Holdpoint begins the
// messages that it makes in the same way.
const messageStart = "Approval required for tool call: "
