package variables

// These are the errors of this package. An operator reads them after the name and the value of a
// variable. Each error says what the variable may contain, with an example.

// These errors say what is wrong with a value.
const (
	textOneForm   = "the variable of the same name without _FILE is set too: leave out one of the two"
	textEmptyFile = "the file is empty"
	textSize      = "not a size, want whole bytes or a unit such as 16MiB or 8MB"
	textTooSmall  = "must be at least 1 byte"
	textTooLarge  = "must be at most %d bytes"
	textShare     = "not a share, want 1% to 100%"
	textBool      = "want true or false"
	textCount     = "want a whole number from 1 to %d"
	textDuration  = "not a duration, want a number with a unit, such as 15s, 1h30m or 0"
	textNegative  = "must not be negative, want a duration such as 15s, or 0"
	textOneOf     = "want one of %s"
)

// textFileOf describes the variable for the file of a secret, in holdpoint -h and in the tables of
// the documentation.
const textFileOf = "file with the value of %s"
