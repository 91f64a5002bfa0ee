package transcript

// What a client reads of a step of a subagent that the run did not end.
const textRunEnded = "the run has ended before it"

// Why the patch of a STATE_DELTA is not applied. The program compares these errors, and shows them
// to nobody.
const (
	textNotPatch      = "it is not a patch"
	textNoPlace       = "there is no such place in the state"
	textPatchTooLarge = "the patches make too much of the state, or cost too much"
	textTestFailed    = "a test of a patch failed"
)
