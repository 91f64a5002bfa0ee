package awsstrands

// The texts of errors about answers, which a client reads in RUN_ERROR.
const (
	textTwinIDs   = "the backend gave two of its %d open interrupts the same id, or none, so their answers cannot be told apart: only the same answer can be given to them"
	textRule      = "%s (HOLDPOINT_AWS_STRANDS_RULES_FILE lists what else the hooks and tools of this backend accept)"
	textNoPayload = "the answer to interrupt %q has no payload: the backend does not read that as an answer, and asks again"
	textNoEdits   = "the answer to interrupt %q edits arguments, which the backend does not apply: approve or deny the call unchanged"
)

// The texts of errors in HOLDPOINT_AWS_STRANDS_RULES_FILE, which an operator reads when Holdpoint
// starts, and from holdpoint check.
const (
	textEnvelope    = "rule %q: ag_ui_strands makes the envelope itself, want raw"
	textOwnSchema   = "rule %q: an adapter sends schema and reason itself"
	textNoQuestions = "an adapter has no frames of its own, leave questions out"
)
