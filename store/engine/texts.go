package engine

// These are the texts of this package that an operator reads: errors in HOLDPOINT_STORE_KEYS, and
// log lines of the levels WARN and ERROR. The comment of each log line says what the line means and
// what to do. docs/warnings.md is made from these comments.

// These texts say what is wrong with HOLDPOINT_STORE_KEYS.
const (
	textKeyForm    = "want id:key, such as 2026:KEY with the output of `openssl rand -base64 32` for KEY; the id has letters, digits, _ - and . only"
	textKeyTwice   = "two keys have the id %q"
	textKeyLength  = "the key %q is not 32 bytes in base64, such as `openssl rand -base64 32` makes"
	textKey        = "the key %q: %w"
	textPlainAlone = "plain needs a key before it, with which new records are sealed"
)

// Log lines.
const (
	// The store refuses Holdpoint, for example because of a wrong password, a missing right, or
	// tables of a newer version. Holdpoint keeps trying, but all runs are refused until somebody
	// removes the reason, which the line has.
	logCannotUse = "the store cannot be used, and waiting alone will not help: all runs are refused meanwhile"

	// The store does not answer, so all runs are refused. Holdpoint keeps trying, and logs when the
	// store answers. If that takes longer than the start of the store's server, look at the server,
	// the network and HOLDPOINT_STORE. The line has the reason.
	logNotThereYet = "the store is not there yet: all runs are refused meanwhile"

	// The store saved a change, but too few of its replicas confirmed it, so the run was told that
	// it failed; then the store did not accept that the change was undone. A thread may refuse
	// answers until a lease is over, a few minutes at most. Look at the store's replicas.
	logNotTakenBack = "a change that was reported as failed could not be undone"
)

// What is wrong with a record or with the store. An operator reads it in the log.
const (
	textNotGuarded    = "not enough replicas have the change"
	textNotAsked      = "store: not asked: %w"
	textFormat        = "%w: it has format %d, and this binary knows %d"
	textEmptyOutbox   = "store: the record is damaged: its outbox is empty"
	textStateAndPause = "store: the record is damaged: its state and its pause do not belong together"
	textBehindRecord  = "store: the record is damaged: more bytes follow it"
	textRecordNotJSON = "store: the record is damaged: it is not valid JSON"
	textNotWritten    = "store: a record cannot be written: %w"
	textNestedTooDeep = "it is nested deeper than %d levels"
	textNotTried      = "the server was not asked yet"
	textNotThere      = "the store is not there yet: %w"
	textPartMissing   = "store: the record is damaged: a part of it is missing"
	textNotSealed     = "store: the record is not sealed. If it is from before there were keys, add the word plain to HOLDPOINT_STORE_KEYS until it has gone"
	textOtherKey      = "store: the record cannot be opened with the key %q of HOLDPOINT_STORE_KEYS: the key is another one, or the record was changed"
	textNoKey         = "store: the record is sealed with the key %q, which HOLDPOINT_STORE_KEYS does not have"
	textThreadsWait   = "%w: %d threads wait (HOLDPOINT_STORE_ENTRIES)"
)
