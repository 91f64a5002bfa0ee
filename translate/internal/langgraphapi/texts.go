package langgraphapi

// The texts of errors about answers, which a client reads in RUN_ERROR.
const (
	textFormsDiffer          = "resume and forwardedProps.command.resume give different answers"
	textAnsweredTwice        = "forwardedProps.command.resume answers interrupt %q twice"
	textResponseCount        = "the list must have %d responses, one for each request"
	textResponseNotText      = "the response for interrupt %q is not a text"
	textEditWithoutArguments = "an edit for interrupt %q has no arguments"
	textNoIDs                = "the backend gave no usable id for one of its %d open interrupts, so their answers cannot be told apart: " +
		"configure it to send rawEvent or the interrupt outcome"
	textTwinIDs     = "two open interrupts have one id at the backend (langgraph issue 6626): only the same answer can be given to both"
	textCallsAtOnce = "interrupt %q was raised by one of several calls that run at once in one task, and the backend gives the answer to whichever call asks first " +
		"(langgraph issue 6533): another call could run than was approved. Deny or cancel it, and let the agent make one call at a time or run each call in a task of its own (Send)"
	textNoFittingCancel  = "interrupt %q cannot be cancelled: no value that means no fits its responseSchema (HOLDPOINT_CANCEL)"
	textNullUnfit        = "the answer to interrupt %q has no payload, and null does not fit its responseSchema"
	textEditUnfit        = "the edited arguments for interrupt %q do not fit the schema of the tool: %v"
	textTwoDecisions     = "payload for interrupt %q has both approved and %s"
	textNoApproved       = "payload for interrupt %q has no boolean approved"
	textEditNotObject    = "editedArgs for interrupt %q is not an object"
	textEditWithoutYes   = "payload for interrupt %q has editedArgs and does not approve"
	textMessageNotString = "message for interrupt %q is not a string"
	textNotAllowed       = "interrupt %q does not allow the decision %q"
	textCannotCancel     = "interrupt %q cannot be cancelled: the backend accepts no value that means no"
	textNotObject        = "payload for interrupt %q is not an object"
	textDecisionCount    = "decisions must have %d entries, one for each action under review"
	textNoType           = "a decision for interrupt %q has no type"
	textTypeContradicts  = "type and approved contradict each other in the payload for interrupt %q"
	textApprovesAndEdits = "payload for interrupt %q has the type approve and an edit: send the type edit"
	textNoMessage        = "a response for interrupt %q has no message"
	textTwoEdits         = "payload for interrupt %q has more than one edit"
	textOtherTool        = "an edit for interrupt %q names another tool"
	textMoreThanApproved = "payload for interrupt %q has other members than approved, and the question asks for nothing else"
	textFormNotObject    = "payload for interrupt %q is not the object that the form asks for; to decline the form, send {\"approved\":false}"
	textNotInForm        = "payload for interrupt %q: the form does not ask for %q. To decline the form, send {\"action\":\"decline\"} and nothing else"
	textNotFormValue     = "payload for interrupt %q: %q is not a text, a number, a boolean or a list of texts, and a form of MCP accepts nothing else"
	textFormUnfit        = "payload for interrupt %q does not fit the form: %v"
)

// The questions that a person reads if the agent sent no text.
const askCall = "The agent asks to call the tool %s."

// resultCancelled is the message that the model gets if the question about its tool call is
// cancelled.
const resultCancelled = "Cancelled by user"
