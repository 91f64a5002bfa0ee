package contract

// The texts of refusals, which a client gets in RUN_ERROR. Some of them are about a responseSchema
// or a payload, and are a part of the text of such a refusal.
const (
	textNotOwner           = "the thread belongs to somebody else"
	textInDoubt            = "the answers were sent, but the end of that run was not seen: the action may or may not have run"
	textStrayApproval      = "the messages hold an approval that does not answer a question of this thread, or cannot be read"
	textNothingOpenFor     = "the messages hold an approval for which no question of this thread is open%s"
	textUnaskedCall        = "a message answers call %q, but no question about this call is on record (Holdpoint may have been restarted): nothing was sent to the backend; send a new message, and the backend can ask again"
	textAnswersNothing     = "the request answers no open interrupt of this thread"
	textUnknownID          = "resume names %q, which is not an open interrupt of this thread%s"
	textKeepThread         = "; clients of .NET use a new thread for each run unless the application sets it: new ChatOptions { ConversationId = id }"
	textLostWithMemory     = ": it may be from before a restart, or in the memory of another replica (HOLDPOINT_STORE is memory://)"
	textNotHere            = ": it may belong to another path, agent or store, or be older than the records that are kept"
	textBeingResumed       = "interrupt %q is being resumed with other answers"
	textResumeRunning      = "a resume of this thread is running"
	textOpen               = "interrupt %q is open: answer it with resume before sending new input (%d open)"
	textFailedBefore       = "interrupt %q was answered before, and that run ended in an error: the answer is not sent again"
	textCancelUnknown      = "resume cancels %q, which is not an open interrupt of this thread%s: nothing was sent to the backend, because it could read a cancel as an answer"
	textCancelInDoubt      = "interrupt %q was answered, but the end of that run was not seen: the cancel was not sent to the backend, because it could read a cancel as an answer"
	textOtherAnswers       = "interrupt %q was resumed with other answers"
	textInterruptInDoubt   = "interrupt %q was answered, but the end of that run was not seen: the action may or may not have run"
	textLost               = "the backend does not know interrupt %q any more"
	textKeptByBackend      = "interrupt %q was answered before and that resume failed: the backend keeps the first answer and would carry it out again, so only the same answer can be given"
	textExpired            = "interrupt %q has expired: it can only be cancelled"
	textCancelOnly         = "interrupt %q can only be cancelled: what it asked is not known any more, or was answered before"
	textWrongCall          = "payload for interrupt %q %s"
	textNoEdits            = "payload for interrupt %q edits the arguments (editedArgs), but its responseSchema does not offer edits: the call would run with the old arguments"
	textAnsweredTwice      = "interrupt %q is answered twice, with different answers"
	textDecidedElsewhere   = "interrupt %q was answered differently in the meantime, outside of this chat (%s)"
	textUnjudged           = "payload for interrupt %q cannot be checked against its responseSchema: %v; send a smaller payload, or cancel"
	textUnfit              = "payload for interrupt %q does not fit its responseSchema: %v"
	textValidatorFailed    = "%w: the validator failed: %v"
	textSchemaSize         = "%d bytes, at most %d are read"
	textSchemaDepth        = "nested %d deep, at most %d are read"
	textSchemaParts        = "%d objects and booleans, at most %d are read"
	textSchemaReferences   = "%d references to other places than #, $defs and definitions, at most %d are followed"
	textOtherDocument      = "references to other documents are not followed"
	textPatternStates      = "the patterns have more than %d states"
	textTooManySteps       = "it needs too many steps"
	textPayloadFailed      = "the validator failed"
	textNotJudged          = "it cannot be judged: %v"
	textPayloadNotJSON     = "not valid JSON, or nested too deep"
	textPayloadDepth       = "it is nested %d deep, which is too much for a schema of %d parts"
	textPayloadUnexplained = "the payload does not fit, and is too large to say where"
	textPartial            = "resume leaves interrupt %q open (answered %d of %d)"
)

// The texts that describe why a payload does not fit its schema. In the message, each of them
// follows the name of a key.
const (
	textMissingOrNull       = "is missing or null, want %s"
	textWrongType           = "is %s, want %s"
	textMemberNotAllowed    = "is not allowed"
	textMustBe              = "must be %s"
	textTooSmall            = "is too small, want %s or more"
	textTooLarge            = "is too large, want %s or less"
	textNotMoreThan         = "is too small, want more than %s"
	textNotLessThan         = "is too large, want less than %s"
	textNotMultiple         = "is not a multiple of %s"
	textTooShort            = "is too short, want %s or more"
	textTooLong             = "is too long, want %s or less"
	textTooFewEntries       = "has too few entries, want %d or more"
	textTooManyEntries      = "has too many entries, want %d or less"
	textTooFewKeys          = "has too few keys, want %d or more"
	textTooManyKeys         = "has too many keys, want %d or less"
	textNoPatternMatch      = "does not match the pattern %q"
	textWrongFormat         = "does not have the format %q"
	textSeveralAlternatives = "fits more than one of the alternatives"
	textFailsKeyword        = "fails %q"
)

// The parts of these texts.
const (
	textOneMissing     = "%s is missing"
	textSeveralMissing = "%s are missing"
	textAnotherValue   = "another value" // one that cannot be shown
	textPayload        = "the payload"
	textNoneAllowed    = "nothing that can be given"
	textOneOfMore      = " or one of %d more"
	textAndMore        = " and %d more"
)
