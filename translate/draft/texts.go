package draft

// The texts of errors about answers, which a client reads in RUN_ERROR.
const (
	textResumeForm      = "resume must be an array of entries, or an object of interruptId and payload"
	textNoFittingCancel = "interrupt %q cannot be cancelled: no value that means no fits its responseSchema (HOLDPOINT_CANCEL)"
	textTwinIDs         = "the backend gave two of its %d open interrupts the same id, or no id, so their answers cannot be told apart: only the same answer can be given to all of them"
)

// A run ended with the outcome "interrupt", but it has no question that a client could answer, so
// the client is told that the run succeeded. If the agent asks by calling a tool, name that tool in
// HOLDPOINT_TOOLS. The line is written once.
const logNothingAsked = `a run ended in outcome "interrupt" without a question that a client can answer, and is reported as a success; if a tool call asks there, name its tool`

// textBackend names the backend in texts that people read, because its framework is unknown.
const textBackend = "the backend"

// textOutcomeError is the message of a RUN_ERROR if the backend's error has no text.
const textOutcomeError = `the run ended with outcome "error"`
