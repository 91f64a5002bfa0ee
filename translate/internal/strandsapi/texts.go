package strandsapi

// The texts of errors about answers, which a client reads in RUN_ERROR, and about files of rules,
// which an operator reads when Holdpoint starts, and from holdpoint check.
const (
	textNoWords          = "yes and no have no effect with %s, which passes a payload on unchanged"
	textYesLikeNo        = "yes %s is a word for no, or is empty"
	textNotFalse         = "%s %s: a hook that expects true or false reads any other value as true; want false"
	textNoLikeYes        = "%s %s is the word for yes"
	textNoEdits          = "the answer to interrupt %q edits arguments, which this backend does not apply: the call would run with the old arguments"
	textNoPayload        = "the answer to interrupt %q has no payload, or nothing at the path of its rule: Strands would read that as no answer, or as a denial"
	textNeitherWord      = "the answer to interrupt %q is a text that means neither yes nor no, and the hook that asked reads any text as yes: send {\"approved\":true} or {\"approved\":false}"
	textEmptyAnswer      = "the answer to interrupt %q is empty, which the hook that asked reads as a denial, or as no answer"
	textMoreThanApproved = "the approval of interrupt %q has other members than approved, which this backend does not get: send {\"approved\":true} alone"
	textNotWord          = "the answer to interrupt %q is not a text, {\"approved\":true} or {\"approved\":false}, and the hook that asked may not understand anything else: send one of these"
	textNotFile          = "want the name of a file, not its content"
	textNotJSON          = "want JSON: %w"
	textNoRules          = "it is empty, want interrupts: a list of rules"
	textNotText          = "%s is not a text, or is empty"
	textNotObject        = "want an object with %s"
	textTwice            = "%q is in line %d already"
	textUnknownMember    = "%q is not known, want %s"
	textNotList          = "want a list of rules"
	textRuleTwice        = "a rule for %q is in line %d already"
	textNotProfile       = "%s is not a profile, want %s, %s, %s or %s"
	textNotSchema        = "want a JSON Schema that is an object"
	textNoName           = "a rule has no name, want for example myapp-*"
	textNotPattern       = "%q is not a pattern"
	textWordsAlone       = "rule %q: yes, no, cancel and path require the member answers"
	textEmptyRule        = "rule %q is empty, want answers, schema or reason"
)

// The backend probably dropped a question: a tool was called and has no result, or the backend
// waits for an answer to a question that it never sent. ag_ui_strands up to 0.2.5 does this, and
// the thread cannot continue. Upgrade ag_ui_strands to 0.3.0 or later, or set
// HOLDPOINT_DIALECT=strands and serve the stream of Strands itself. The line is written once.
const logLost = "a run ended without an outcome although a tool of the backend was called and gave no result, or the backend waits for an answer to a question that it never sent: if the backend is ag_ui_strands up to 0.2.5, it has dropped an interrupt and the thread cannot continue; upgrade to 0.3.0 or later, or serve the stream of Strands itself (HOLDPOINT_DIALECT=strands)"

// The questions that a person reads if the agent sent no text.
const (
	askCall     = "Approve call to %s?"
	askAnswerTo = "The agent waits for an answer to %q."
	askAnswer   = "The agent waits for an answer."
)

// The members of a file of rules, for these errors.
const (
	textMembersOfFile = "questions or interrupts"
	textMembersOfRule = "name, answers, yes, no, cancel, path, schema or reason"
	textNoMember      = "no such member"
)
