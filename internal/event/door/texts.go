package door

// Why a decision of the desk is not carried out at once. The desk words them for its readers; an
// operator reads them in the log.
const (
	textUnaudited    = "the audit cannot be written"
	textOnlyChat     = "only the chat can continue the pause"
	textOtherProcess = "another process carries the pause, because its backend has the question"
	textNotDecided   = "the pause is not decided"
)
