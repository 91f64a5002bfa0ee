package auto

// The texts of errors, which a client reads in RUN_ERROR.
const (
	textUnknownDialect = "the open question was asked in a dialect (%q) that this Holdpoint does not have"
)
