package bolt

// What is wrong with the file. An operator reads it in the log, and when Holdpoint starts.
const (
	textOtherProcess = "store: another process has %s open: %w"
	textInUse        = "a bolt file is for one process"
	textNewerFile    = "the file has format %s, and this binary knows %s: it was written by a newer version of Holdpoint"
	textShortRow     = "store: the file is damaged: a row is too short"
	textShortPlace   = "store: the file is damaged: a place in a list is too short"
)

// Errors that the program compares.
const textNoChange = "there is nothing to change"
