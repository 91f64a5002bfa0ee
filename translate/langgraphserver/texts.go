package langgraphserver

// The texts of errors that a client reads in RUN_ERROR, or as the response to a request that is not
// a run.
const (
	textNoApproved   = "the payload for interrupt %q must have the boolean approved"
	textFalsy        = "a false, empty or zero answer cannot be sent: the server gave no id for its interrupt, and does not read such a value as input. Cancel the interrupt instead"
	textIDMap        = "the payload cannot be sent: the server gave no id for its interrupt, and reads an object with keys of 32 hex digits as a map of ids"
	textEdited       = "message %q was edited, but LangGraph's server keeps the conversation: send the new text as a new message"
	textUnauthorized = "LangGraph's server does not accept the request (%d): send x-api-key or Authorization, or set HOLDPOINT_UPSTREAM_HEADERS_FILE"
	textUnavailable  = "LangGraph's server answered %d to a request for the thread: is HOLDPOINT_UPSTREAM its address?"
	textBusy         = "a run is under way on the thread, and LangGraph's server accepts one at a time: wait for its end"
	textRefused      = "LangGraph's server refused the run (400): look into its log"
	textNoAssistant  = "LangGraph's server refused the run (%d): it may not know the assistant (HOLDPOINT_LANGGRAPH_SERVER_ASSISTANT)"
	textNotEnded     = "LangGraph's server did not end the thread's task (%d): its question stays open"
	textNoReason     = "the graph failed and did not send a reason"
	textGuardedQuery = "this query may stop a run when its reader leaves (cancel_on_disconnect), or names another method"
	textGuarded      = "LangGraph's server would accept this request from any client, and the request is not on the list of those that pass (HOLDPOINT_LANGGRAPH_SERVER_ALLOW allows more)"
)

// textBreakpoint is the beginning of the question at a static breakpoint, which a person reads. The
// names of the next nodes and a question mark follow.
const textBreakpoint = "The agent has stopped at a breakpoint. Continue with "

// HOLDPOINT_CANCEL has a value that a graph can read as a yes, because many graphs only check
// whether there is an answer. Set it only if every graph of the server looks into the value. The
// line is written when Holdpoint starts.
const logCancelLikeYes = "a graph that only checks whether there is an answer reads such a value as a yes: it is right only for graphs that look into the value"

// A request that HOLDPOINT_LANGGRAPH_SERVER_ALLOW lists passes to LangGraph's server, and anybody
// who reaches Holdpoint can send it. The line is written once for each such request when Holdpoint
// starts. Remove the request from the variable if your clients do not need it.
const logAllowed = "any client can make this request to LangGraph's server"

// What the model reads if the question about its tool call is cancelled.
const resultCancelled = "Cancelled by user"
