package ledger

// These are the lines of the log. The comment of each line tells the operator what the line means
// and what to do. docs/warnings.md is made from these comments.
const (
	// The client left, and the run is read to its end. The store failed, so another replica does
	// not know that the thread is busy. Holdpoint tries again every ten seconds. If it repeats,
	// look at the store.
	logOccupancyUnsaved = "the store did not note that the run continues without its client: another replica may start a run on the thread"

	// The run has ended, and the store failed. Runs of the thread are refused at most until the
	// lease that the line names has passed. If it repeats, look at the store.
	logOccupancyNotEnded = "the store did not note the end of a run: its thread is free when the lease ends"

	// The store was away, or this process stood still, for longer than the lease of 30 seconds
	// while an answer was being carried out. The question counts as in doubt: the next request of
	// the thread is told that the action may or may not have run. If it repeats, look at the store
	// and at pauses of the machine.
	logClaimLost = "a claim is lost: the store has given it up"

	// The store failed while an answer was being carried out. Holdpoint tries again until the
	// lease of 30 seconds ends. If it repeats, look at the store.
	logClaimNotRenewed = "claim not renewed: it is tried again"

	// The lease may have ended and the store cannot be asked, so somebody else may have claimed
	// the question. The run ends with STORE_UNAVAILABLE. Look at the store.
	logClaimUnknown = "a claim could not be renewed: nothing more of its answers is sent to the backend"

	// The answer was carried out, and the store failed. When the lease ends, the question counts
	// as in doubt: the next request of the thread is told that the action may or may not have run.
	// Look at the store.
	logFinishFailed = "the store did not note the outcome of an answer"

	// The backend did nothing with the answer, and the store failed. When the lease ends, the
	// question counts as in doubt, although nothing was done. Look at the store.
	logReleaseFailed = "the store did not open a question again whose answer was not carried out"

	// Two runs of a thread each raised a question, and one of them was kept. The store failed, so
	// an answer without an id could reach the other question at some backends. If it repeats, look
	// at the store.
	logContestFailed = "the store did not note that another run of the thread raised another question"
)

// Errors that only the log has.
const textLostReply = "closed by a step whose reply was lost, perhaps: %w"
