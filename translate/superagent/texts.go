package superagent

// The texts of errors that a client reads in RUN_ERROR, or as the response to a request that is not
// a run.
const (
	textNotObject    = "the payload for interrupt %q must be an object"
	textKeyTwice     = "the payload for interrupt %q has the key %q twice"
	textNoField      = "the payload for interrupt %q answers none of its fields, and superagent reads that as a yes: answer a field, or cancel"
	textNoApproved   = "the payload for interrupt %q must have the boolean approved, once"
	textMoreThanText = "the last message has other parts than text, and superagent accepts only text: send it as text"
	textEmpty        = "the last message is empty, and superagent accepts only messages with text: send one"
	textNotUser      = "the last message is not the user's, and superagent accepts only a user message: send one"
	textUnreadable   = "the backend asks something in a form that cannot be read: a new message continues without an answer"
	textNoAnswers    = "the backend accepts no answer for this agent (404): it does not know the agent (HOLDPOINT_SUPERAGENT_AGENT_ID), or the agent asks although its interrupts are not enabled"
	textNoReason     = "the backend failed and did not send a reason"
	textGuarded      = "superagent would accept this request from any client, so only requests that read are passed on (HOLDPOINT_SUPERAGENT_ALLOW allows more)"
)

// A request that HOLDPOINT_SUPERAGENT_ALLOW lists changes something at superagent, and anybody who
// reaches Holdpoint can send it. It is written once for each such request when Holdpoint starts.
// Remove the request from the variable if your clients do not need it.
const logAllowed = "any client can make this request to superagent"
