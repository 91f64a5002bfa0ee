package langgraph

// The texts of errors that a client reads in RUN_ERROR.
const (
	textNotObjects = "the answer cannot be sent to the backend: forwardedProps and forwardedProps.command must be objects"
	textForgotten  = "the backend does not know the thread any more, and began a new run"
	textNoPayload  = "an answer without payload cannot be sent: the backend gave no id for its interrupt, and does not read null as an answer"
	textIDMap      = "the payload cannot be sent: the backend gave no id for its interrupt, and reads an object without keys, or with keys of 32 hex digits, as a map of ids"
	textFalsy      = "a false, empty or zero answer cannot be sent: the backend gave no id for its interrupt, and does not read such a value as an answer"
)

// HOLDPOINT_CANCEL has a value that a graph can read as a yes, because many graphs only check
// whether there is an answer. Set it only if every graph of the backend looks into the value. The
// line is written when Holdpoint starts.
const logCancelLikeYes = "a graph that only checks whether there is an answer reads such a value as a yes: it is right only for graphs that look into the value"

// The backend runs with emit_raw_events=False, so Holdpoint cannot see whether several tools ask at
// once. LangGraph gives the answer to whichever tool asks first (langgraph issue 6533), so the
// approval of one call can run another. Let the backend send RAW events: Holdpoint then sees such
// calls and sends only denials. The line is written once.
const logBlind = "a LangGraph backend asks while several calls wait, and sends no RAW events (emit_raw_events=False): if tools of one ToolNode ask at once, LangGraph gives the answer to whichever asks first (langgraph issue 6533), and an approval of one can run another. With RAW events Holdpoint sees this and sends only denials"

// hintServer is the log line about a request that Holdpoint forwards without translating it.
const hintServer = "a call of the LangGraph Server's own protocol passes untranslated: this dialect translates only AG-UI"
