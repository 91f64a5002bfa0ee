package rules

// Why a step cannot be done. Each follows the error of the package store, in the log.
const (
	textNoQuestion       = "%w: %q has no question %q"
	textDecidedOtherwise = "%w: question %q is decided otherwise"
	textNotOpen          = "%w: %q is not open any more"
	textNoteTooLong      = "store: a note of %d bytes, and it may have %d"
	textIDUsed           = "%w: the id %q was used before"
	textNextIDUsed       = "store: the id %q of the next pause was used before"
	textOtherDecisions   = "%w: %q has decisions that these answers do not say"
	textInDoubt          = "%w: %q is in doubt"
	textTombstone        = "%w: only the tombstone of %q is left"
	textClaimed          = "%w: %q is claimed"
	textOpen             = "%w: %q is open, and no answer to it is in doubt"
	textRunsGoOn         = "%w: %d runs of the thread go on without their clients"
	textNoStep           = "store: no such step: %T"
)
