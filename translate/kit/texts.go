package kit

// The texts of errors that the dialects share. A client reads those of answers and pauses in
// RUN_ERROR. An operator reads those of options when Holdpoint starts, and from holdpoint check.
const (
	textClientResult   = "the result of call %q, which the client runs itself, must be sent together with the answers"
	textResumeNotArray = "resume must be an array of entries"
	textFormsDiffer    = "resume and the answer in the backend's own form differ: send one of them"
	textAnsweredTwice  = "forwardedProps.command.resume answers interrupt %q twice"
	textUnsure         = "interrupt %q may not be the question that the backend waits for: another run of the thread raised another question, " +
		"and the backend accepts an answer without an id, so this answer could count for the other question. Deny or cancel it: the next message then shows the question that is open"
	textTwinIDs         = "two open interrupts have one id at the backend (%q): only the same answer can be given to both"
	textStateUnreadable = "the stored state of the open question cannot be read"
	textTooDeep         = "JSON is nested deeper than %d levels"
	textNoEdits         = "payload for interrupt %q edits the arguments (editedArgs), but this backend runs a call only with the arguments that it asked about: approve or deny the call unchanged"
	textPauseTooLarge   = "the run asks more than %d questions, or questions of more than %d bytes"
	textEmptyNo         = "it has no words, and a model may take that as permission; "
	textNoLikeYes       = "it could be taken for an approval; "
	textExampleNo       = `want for example "No. Do not do it."` // follows the two
	textNotJSON         = "want JSON, for example false or null"
	textNoNotJSON       = "want JSON, for example false"
	textEmptyNoValue    = "it is empty, and a backend may take that as permission; want for example false"
	textNoValueLikeYes  = "it could be taken for an approval; want for example false"
	textNotPattern      = "%q is not a pattern"
	textNoKind          = "%q has no kind, want %s=approval, %s=input or %s=external"
	textNotKind         = "%q is not a kind, want approval, input or external"
	textTwoKinds        = "%q has two kinds, %s and %s"
	textNotRequest      = "%q is not a method and a path, want for example PUT /store/items"
	textNotMethod       = "%q does not begin with a method in capitals, want for example PUT /store/items"
	textNotPath         = "%q is not a path in plain letters, want for example /store/items; * stands for one segment"
	textSteers          = "%q starts or steers a run, and so could answer a question without Holdpoint"
)

// askLost is the question that a person reads in place of a lost one.
const askLost = "This chat still waits for the answer to a question that is not known any more. The question can only be cancelled. Then the chat goes on."
