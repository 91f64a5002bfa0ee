package agui

// What is wrong with an answer's toolCall. Each follows "payload for interrupt" and its id, in a
// refusal that a client reads.
const (
	textSeveralCalls       = "has a toolCall, and the question is about several calls"
	textUnknownArguments   = "has a toolCall with arguments, and it is not known which arguments were asked about: send the answer without the toolCall"
	textOtherArguments     = "has a toolCall with other arguments than those that were asked about, and its responseSchema offers no edits: the call would run as it was asked"
	textTwoEdits           = "has two different edits of the arguments (toolCall, editedArgs): send one"
	textOtherCall          = "has a toolCall that is not the call that was asked about"
	textArgumentsNotObject = "has a toolCall whose arguments are not an object"
	textNoArguments        = "has a toolCall without its arguments"
)

// What is wrong with a run's request. The developer of a client reads it in the answer with status
// 400.
const (
	textInput            = "run input: %s" // begins each of them
	textNotUTF8          = "the body is not valid UTF-8"
	textNotJSON          = "not valid JSON, or nested too deep"
	textThreadNotString  = "threadId must be a string"
	textThreadTooLong    = "threadId has %d bytes, at most %d are accepted"
	textThreadNotUTF8    = "threadId is not valid UTF-8"
	textRunNotString     = "runId must be a string"
	textVersionNotString = "protocolVersion must be a string"
	textMessagesNotArray = "messages must be an array"
	textMessageNotObject = "messages[%d] must be an object"
	textMessageNotJSON   = "messages[%d] is not valid JSON"
	textTooManyMessages  = "there are more than %d messages"
	textTooManyElements  = "%s has more than %d elements"
	textResumeNotArray   = "resume must be an array of entries"
	textEntryNotObject   = "resume[%d] must be an object"
	textEntryWithoutID   = "resume[%d] has no interruptId"
	textAnsweredTwice    = "resume[%d] answers interrupt %q a second time"
	textEntryStatus      = "resume[%d].status must be %q or %q"
	textKeySpelled       = "key %q%s must be spelled %q"
	textKeyTwice         = "key %q%s stands twice"
	textKeysAlike        = "keys %q and %q%s are one key to some backends"
	textTooLongToCompare = "the text has %d bytes, and its keys are not compared above 4 GiB"
	textTooManyValues    = "more than %d values and keys are in it"
	textNumberTooLong    = "a number in it has more than %d digits, or an exponent beyond %d"
)

// The places of an object, which follow the name of a key.
const (
	textInResume  = " in resume"
	textInProps   = " in forwardedProps"
	textInCommand = " in forwardedProps.command"
)
