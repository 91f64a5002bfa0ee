package phrases

// The texts of errors. A client reads the errors about answers in RUN_ERROR. An operator reads the
// errors about options when Holdpoint starts, and in the output of holdpoint check.
const (
	textNotDecision = "the payload for interrupt %q must have approved, true or false, exactly once"
	textNotOpen     = "the messages end with the answer to a question that is not open: the answer is not sent again, send a new message"
	textNotYes      = "want words that a model reads as a yes"
	textNoHasYes    = "it contains the words for yes (HOLDPOINT_PHRASES_YES)"
	textShortPhrase = "the phrase %q has fewer than %d letters, and would be found everywhere"
	textNoPhrases   = "want phrases, such as default or default;soll ich"
)

// The answers that the agent gets as a message of the user, unless the operator sets others. The
// defaults of Options are the same.
const (
	yesDefault = "Yes, please proceed."
	noDefault  = "No. Do not do it."
)
