package history

// These texts are the messages of the RUN_ERROR events that refuse an answer. The developer of a
// client reads them.
const (
	textCallTooLarge  = "the call that interrupt %q asks about is too large to be kept, so it cannot be said what an approval would run: it can be denied or cancelled (HOLDPOINT_TRANSCRIPT_BYTES)"
	textUncertainCopy = "the messages hold the call that interrupt %q asks about more than once, or in a form that is read in more than one way: an approval needs it once, as it was shown, or not at all"
	textEntryDiffers  = "resume and a message sent with it answer interrupt %q differently"
	textRepliesDiffer = "two messages answer interrupt %q differently"
)

// How the log names a call without an id.
const textWithoutID = "without an id"

// Results of Microsoft's frameworks for a denied call, which history recognizes.
const (
	resultRejected      = "Error: Tool call invocation was rejected by user."
	resultRejectedShort = "Tool call invocation rejected."
	resultNotRetried    = "Tool call invocation was rejected by the approver and must not be retried."
)
