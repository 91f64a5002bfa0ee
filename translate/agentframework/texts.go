package agentframework

// The texts of errors that a client reads in RUN_ERROR.
const (
	textNoCancel = "interrupt %q cannot be cancelled: this version of agent-framework-ag-ui does not support a cancel, " +
		"and no value that means no fits the schema of the question"
	textTooOld = "the agent asked for an approval, and its server cannot receive one, because it runs agent-framework-ag-ui before 1.0.0rc7. " +
		"The call was not run, and the chat can continue. The server needs agent-framework-ag-ui 1.0.0rc7 or later"
	textAnsweredTwice = "interrupt %q has two different answers"
	textNoPayload     = "interrupt %q has no payload"
	textNoApproved    = `payload for interrupt %q must be {"approved":true} or {"approved":false}`
	textNoEdits       = "payload for interrupt %q changes arguments (%q): this version of agent-framework-ag-ui runs a call only with the arguments that it asked about"
)

// The reasons why Holdpoint refuses a request that is not a run. The client reads them in the
// response.
const (
	textRunWithoutIDs = "agent-framework-ag-ui runs messages without threadId and runId as a run of their own"
	textStrayApproval = `agent-framework-ag-ui reads a tool message with "accepted" as an approval, and the body is not a run (RunAgentInput)`
)

// The backend runs agent-framework-ag-ui before 1.0.0rc7, which keeps no record of its questions
// and runs any call that a message reports as approved. Holdpoint refuses its questions with
// AGENT_FRAMEWORK_TOO_OLD. Install agent-framework-ag-ui 1.0.0rc7 or later at the backend. The line
// is written once.
const logTooOld = "the backend runs agent-framework-ag-ui before 1.0.0rc7, and its questions are refused: install 1.0.0rc7 or later there (docs/microsoft.md)"

// The questions that a person reads if the agent sent no text.
const (
	askCall        = "Approve running %s?"
	askChanges     = "Approve the proposed changes?"
	askChangesFrom = "Approve the proposed changes from %s?"
)

// The contents of the results that Holdpoint sends to the client when the backend sends none. The
// person sees them in the chat. The text of resultRejected is the one that all versions have in
// their snapshots.
const (
	resultRejected = "Error: Tool call invocation was rejected by user."
	resultAccepted = "The user confirmed the changes."
	resultSkipped  = "The call was not run: this version of the backend runs nothing beside a call that has to be approved."
	resultLost     = "The call was approved, but the backend did not know the question any more: it has not run."
	resultUntold   = "The call was approved; the backend does not tell whether it has run."
	resultInDoubt  = "The call was approved, and the run failed: whether it has run is not known."
	resultNotRun   = "The call was not run."
)
