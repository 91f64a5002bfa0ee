package redis

// These are the texts of this package that an operator reads: errors in an address of Redis, what
// errors of the server mean, and log lines of the levels WARN and ERROR. The comment of each log
// line says what the line means and what to do. docs/warnings.md is made from these comments.

// These texts say what is wrong with an address.
const (
	textOneOf             = "want one of %s"
	textHost              = "want a host after the two slashes, such as redis://redis.internal:6379"
	textDatabase          = "%q is not a database: want a number such as 0, and none for a cluster"
	textParameters        = "what follows the ? cannot be read, want name=value&name=value"
	textParameterTwice    = "the parameter %s is there twice"
	textSentinelPasswords = "it has both sentinel_password and sentinel_password_file: leave out one of the two"
	textNoParameter       = "%s is not a parameter, want some of addr, primary, prefix, sentinel_user, sentinel_password, sentinel_password_file and ca_file"
	textPrimary           = "redis+sentinel://, and it alone, has the parameter primary: the name that the sentinels have for the primary, such as primary=mymaster"
	textSentinelOnly      = "only redis+sentinel:// has the parameters sentinel_user, sentinel_password and sentinel_password_file"
	textSeveralOnly       = "only redis+sentinel:// and redis+cluster:// have the parameter addr"
	textPrefixBraces      = "a prefix with { or } would put all keys into one slot of a cluster"
	textTLSOnly           = "only rediss:// has the parameter ca_file"
	textNoCertificate     = "ca_file: %s has no certificate in PEM form"
	textEmptyFile         = "the file is empty"
)

// These texts say what an error of the server means.
const (
	textMemoryFull    = "Redis has no memory left (maxmemory)"
	textReadOnly      = "this Redis is a replica, which accepts no changes: it may have been the primary before"
	textLoading       = "Redis still loads its data"
	textFewReplicas   = "Redis has fewer replicas than its min-replicas-to-write"
	textDisk          = "Redis cannot write to its disk"
	textNoPrimary     = "this Redis is a replica without its primary"
	textSlotMoves     = "the Redis cluster is moving the slot of the thread to another server, and has not finished in time"
	textNoSlots       = "the Redis cluster is incomplete: some of its slots are on no server"
	textWantsPassword = "Redis wants a password"
	textWrongLogin    = "Redis does not accept the user or the password"
	textNoRight       = "the Redis user may not do this (docs/state.md has what it must be allowed)"
	textReplica       = "a replica accepts no changes: want the address of its primary, or redis+sentinel://"
	textStillLoading  = "it still loads its data"
	textTooOld        = "%w: Redis %s at %s is too old, want 6.0 or later"
	textPolicy        = "%w: Redis at %s has the maxmemory-policy %s, which drops open questions silently: want noeviction, or one of volatile-*"
	textIsCluster     = "%w: Redis at %s is part of a cluster: want redis+cluster://"
	textNoCluster     = "%w: Redis at %s is not part of a cluster: want redis://"
)

// Log lines.
const (
	// Holdpoint could not check that Redis never drops open questions. Make sure that
	// maxmemory-policy is noeviction or one of volatile-*, or let the user call INFO.
	logNoInfo = "the Redis user may not call INFO, so the maxmemory-policy is not checked: it must not be one of allkeys-*, which drop open questions"

	// Holdpoint could not check that Redis never drops open questions. Make sure that the server's
	// maxmemory-policy is noeviction or one of volatile-*.
	logNoPolicy = "Redis does not report its maxmemory-policy: it must not be one of allkeys-*, which drop open questions"

	// The server has appendonly off, so a restart of Redis may lose the latest questions and
	// answers. Set appendonly yes there.
	logNoAppendFile = "Redis writes no append-only file: if it restarts, it may lose open questions and answers (docs/state.md)"

	// Each change must reach as many replicas as HOLDPOINT_STORE_REPLICAS says, and the primary has
	// fewer, so each question and each answer fails. Start the missing replicas, or lower the
	// variable.
	logFewReplicas = "Redis has fewer replicas than HOLDPOINT_STORE_REPLICAS: no question can be opened or answered"

	// Redis has failed over, or its primary became read-only, and Holdpoint has not found a primary
	// yet. It keeps looking; look at Redis, its sentinels and the address in HOLDPOINT_STORE. The
	// line has the reason.
	logNoPrimary = "the server accepts no changes any more, and there is no other one yet: all runs are refused meanwhile"
)

// Errors of the server, which an operator reads in the log.
const (
	textNoReply       = "store: Redis has not answered: %w"
	textStoreEnded    = "the store has ended"
	textUnsent        = "the connection had ended before the request was sent"
	textServerRefused = "the server is refused"
	textNeedsCluster  = "%w: it needs +cluster"
	textServerAt      = "the server at %s: %w"
	textCannotUse     = "cannot use Redis: %w"
)
