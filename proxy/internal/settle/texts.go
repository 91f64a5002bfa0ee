package settle

// These texts are the messages of the RUN_ERROR events that end a run. The developer of a client
// reads them.
const (
	textTooManyExchanges = "the run has not ended after %d requests to the backend"
	textLost             = "the backend does not know what it asked any more"
	textInDoubt          = "the backend does not say whether it carried the answers out: the action may or may not have run"
	textNoTerminal       = "the backend's stream ended without a terminal event"
	textTooManyQuestions = "the run asks %d questions at once, and at most %d are kept"
	textTooLarge         = "the questions of the run are larger than %d bytes (%d times HOLDPOINT_MAX_FRAME_BYTES, at most 32 MiB)"
	textTooMuchOpen      = "the run asks a question while more messages and calls are open in its stream than Holdpoint keeps (HOLDPOINT_TRANSCRIPT_BYTES)"
	// appended to the text of another error
	textMayHaveRun = ": the action may or may not have run"
)
