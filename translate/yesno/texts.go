package yesno

// The texts of errors. An operator reads the errors about templates and rules when Holdpoint
// starts. A client reads the errors about answers in RUN_ERROR.
const (
	textEmpty           = "it is empty"
	textTooLong         = "it has %d bytes, at most %d are allowed"
	textNotTemplate     = "want a JSON object, words, true, false, a number or a JSON string"
	textBrokenObject    = "it begins like a JSON object, but is not valid JSON, or is nested too deeply"
	textPlaceOutside    = "%s and %s need a JSON object"
	textNameTwice       = "it has the name %q twice; names that differ only in spelling count as the same"
	textPlaceAsName     = "%q is the name of a member, where no placeholder can be"
	textPlaceTwice      = "%s must be in it once, as the value of a member"
	textUnknownPlace    = "%q is not a placeholder here, want %q"
	textContains        = "one of the two templates contains the other, so a backend that looks for a word could read it as the yes"
	textTwoForms        = "the yes and the no must have one form: two JSON objects, two other JSON values, or words"
	textSameTruth       = "a backend that tests whether the value is true cannot tell %s from the yes, %s; want for example true and false"
	textNoLetters       = "it has no letters and no digits"
	textSameMembers     = "it has the same value as the yes in every member"
	textMissingMember   = "it has no %q, which the yes has: a backend may read a missing member as a yes"
	textSameMemberTruth = "%q is %s in the yes and %s in the no: a backend that tests whether it is true cannot tell them apart"
	textHasYesWord      = "it contains the word of the yes, and a backend may look for that word"
	textNotRule         = `want names, the yes and the no, both as JSON, such as pay;transfer_* {"approved":true} {"approved":false}`
	textNoPlace         = "payload for interrupt %q has %q, and the yes that is set for this agent (HOLDPOINT_ANSWERS) has no place for it"
	textEditNotObject   = "editedArgs of the payload for interrupt %q must be one object"
)

// The questions that a person reads if the agent sent no text.
const askCall = "The agent asks to call the tool %s."
