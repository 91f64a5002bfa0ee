package postgres

// These are the texts of this package that an operator reads: errors in an address of PostgreSQL,
// what errors of the server mean, and log lines of the level WARN. The comment of each log line
// says what the line means and what to do. docs/warnings.md is made from these comments.

// These texts say what is wrong with an address.
const (
	textNotAddress = "not an address, want one such as postgres://user@host/database"
	textParameters = "what follows the ? cannot be read, want name=value&name=value"
	textScheme     = "not an address of PostgreSQL: the scheme is %q, want postgres://"
	textFragment   = "it has a #, want %23 for one in a password"
	textSchema     = "schema %q: want a name of small letters, digits and _"
)

// These texts say what an error of the server means.
const (
	textReadOnly           = "the server accepts no changes: it is a standby, or set to be read only. The address must lead to the primary"
	textWrongLogin         = "the server refuses the role or its password"
	textNoDatabase         = "there is no such database"
	textNoSchema           = "there is no such schema. A DBA can make it with the SQL that holdpoint store schema prints"
	textNoRight            = "the role may not do that. It needs SELECT, INSERT, UPDATE and DELETE on the tables, and CREATE only to make them. A DBA can make them with the SQL that holdpoint store schema prints"
	textNoTable            = "a table is missing. A DBA can make it with the SQL that holdpoint store schema prints"
	textNoColumn           = "a table does not have the columns that it should have. holdpoint store schema prints the right SQL"
	textDiskFull           = "the server's disk is full"
	textNoConnections      = "the server has no connection left. Lower pool_max_conns in HOLDPOINT_STORE, or raise the server's max_connections"
	textEndedStatement     = "the server ended the statement: a timeout of the server was reached, or a person canceled it"
	textStarting           = "the server is starting or ending"
	textDisk               = "the server cannot read or write its disk"
	textTables             = "the tables cannot be used"
	textNewerTables        = "postgres: %w: they have version %d, and this Holdpoint can use %d at most: run the newer version that made them"
	textNoConnectionInTime = "no connection in time: either the server does not answer, or all of pool_max_conns are in use: %w"
)

// Log lines.
const (
	// PostgreSQL is set so that a crash of its machine may lose open questions, or damage the
	// tables. Set fsync and full_page_writes to on in the server.
	logCrashDamages = "a crash of the database's machine may lose or damage records: fsync and full_page_writes must be on"

	// PostgreSQL confirms changes before they are on its disk, so a crash may lose an answer. Set
	// synchronous_commit to on for Holdpoint's role or database.
	logCrashLoses = "a crash of the database may lose the last changes, so a person could be asked again for an approval that was given: synchronous_commit must not be off"

	// The server has a synchronous standby, but synchronous_commit is local, so changes of
	// Holdpoint do not wait for it. A failover may lose an answer. Set synchronous_commit to on for
	// Holdpoint's role or database.
	logFailoverLoses = "a failover of the database may lose the last changes: changes do not wait for the synchronous standby"
)

// Errors of the server, which an operator reads in the log.
const (
	textTablesNotMade = "the tables cannot be made: %w"
	textNoVersion     = "postgres: %w: %s has no version in it"
	textSeveralRows   = "postgres: %d rows for one key"
	textWaitCancelled = "postgres: the server was told to wait for its standbys no longer: %w"
)
