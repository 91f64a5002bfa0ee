package stores

// The texts of this package that an operator reads: errors in the variables of the store, and log
// lines of the levels WARN and ERROR. An error says what is wrong, what is wanted, and gives an
// example. The comment of a log line says what it means and what to do; docs/warnings.md is made
// from these comments.

// The texts of errors in the variables.
const (
	textNotAddress    = "not an address, want one such as %s"
	textNoSuchStore   = "no such store, want one such as %s"
	textRetention     = "want more than 0, such as 720h"
	textReplayTTL     = "want more than 0, such as 24h"
	textNoPassword    = "a store of %s:// has no password: leave this out, or set another HOLDPOINT_STORE, such as redis://redis.internal:6379"
	textReplicas      = "only Redis has it: leave it out. PostgreSQL waits for the standbys of its own synchronous_standby_names, and the other stores have no replicas"
	textNotSealed     = "the store in memory does not seal records: leave this out, or set another HOLDPOINT_STORE, such as bolt:///var/lib/holdpoint/state.db"
	textMemoryAddress = "the store in memory has no parameters, want %s"
	textWholePath     = "want the file's whole path after three slashes, such as bolt:///var/lib/holdpoint/state.db"
	textPathOnly      = "want a path and nothing else, such as bolt:///var/lib/holdpoint/state.db"
	textFilePath      = "want the path of a file, such as bolt:///var/lib/holdpoint/state.db"
	textTwoPasswords  = "it has a password, and HOLDPOINT_%s has one too: leave out one of the two"
)

// Log lines.
const (
	// HOLDPOINT_STORE is memory://, its default. A question that waits when the process ends is
	// lost, and other replicas of Holdpoint do not have it. For more than a trial, set a file,
	// Redis or PostgreSQL (docs/state.md).
	logInMemory = "the store is in memory: a restart loses open questions, and their threads continue only with a new message. No other replica has them"

	// HOLDPOINT_STORE_KEYS is not set, so records are in the shared store as plain text. If others
	// can read that store or its backups, set keys (docs/state.md).
	logUnsealed = "records are not sealed: anybody who can read the store can read questions, arguments and messages"

	// The store reported an error at the end of the process. What was answered before is saved. The
	// line has the reason, such as a full disk: remove it before the next start.
	logNotClosed = "the store reported an error when it was closed"

	// Two processes use one file of HOLDPOINT_STORE, and this one does not take runs until the
	// other has ended. That is normal for seconds during a restart. If it lasts, end the other
	// process, or give each its own file.
	logFileInUse = "another process has the file of the store open: this one waits until the other has ended"
)

// textHiddenAddress is what holdpoint check and the logs print in place of an address that cannot
// be parsed, because it may contain a password.
const textHiddenAddress = "%s://(not an address)"
