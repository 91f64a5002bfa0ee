package audit

// Log lines for the operator. The comments above them are the table of docs/warnings.md.
const (
	// The last line of the audit file is not complete, probably because the process or the machine
	// crashed while it was written. The line stays in the file, and a line chain.recovered with its
	// length and hash follows it. There is nothing to do, except to find out about the crash.
	logTornLine = "audit: the last line was torn, probably by a crash: it stays as it is, and a line of recovery follows"

	// Lines cannot be written to the audit file: look at err, usually a full disk or missing
	// permissions. With HOLDPOINT_AUDIT_REQUIRED answers are refused until lines can be written
	// again; without it events are missing from the audit. This is logged once, and not for each
	// line.
	logCannotWrite = "audit: lines cannot be written (logged once, until lines can be written again)"

	// Lines can be written to the audit again after a failure. The first new line has the number of
	// events that are missing before it.
	logWritesAgain = "audit: lines can be written again; the first one has the number of missing events"

	// The audit file was replaced, and the last line of the old file is not complete. holdpoint
	// audit verify reports this line as a problem. Find out why the old file could not be written,
	// such as a full disk.
	logOldFileTorn = "audit: the old file ends with an incomplete line"

	// The audit file was replaced, and the first line could not be written to the new one. Look at
	// err; the next event tries again.
	logNewFile = "audit: the new file cannot be written"

	// Another Holdpoint has the audit file open, and this process does not start until it has
	// ended. This is normal for a moment while a pod is replaced. If it stays, two replicas are
	// configured with the same file: give each a file of its own.
	logFileInUse = "another process writes to the file of the audit: this process waits until the other has ended"

	// The audit file could not be written to the disk or closed when the process ended. Verify the
	// file with holdpoint audit verify before you rely on its last lines.
	logCloseFailed = "the audit file could not be closed properly"
)

// These are the errors of the settings and of the file, and what holdpoint audit verify reports.
const (
	textTarget       = "want off, stdout or a file such as file:///var/log/holdpoint/audit.jsonl"
	textWholePath    = "want the file's whole path after three slashes, such as file:///var/log/holdpoint/audit.jsonl"
	textContents     = "want true, false or none"
	textNoAudit      = "there is no audit, want HOLDPOINT_AUDIT set as well"
	textInUse        = "in use by another process"
	textForeign      = "the file contains something that is not an audit line: nothing is written to it"
	textHeadForm     = "want seq:hash, as the log has it under head, or at least %d digits of the hash"
	textHeadMissing  = "no line has seq %d and the hash of the head that was given: lines are missing, or the file was written anew"
	textOddEnd       = "this is not an audit line, and no line of recovery follows: it was torn, changed or inserted"
	textOddLine      = "this is not an audit line, and the next line is not its line of recovery: it was changed or inserted"
	textMissed       = "%d events before it could not be written"
	textTornBefore   = "the line before it was torn (%d bytes), and the writer continued after it"
	textReadTwice    = "the chain that begins here was read already (%s): a file was given twice"
	textNotAfter     = "seq %d does not follow the head that was given with -after (seq %d): lines are missing, or the files are not in their order"
	textFilesMissing = "seq 1 to %d are missing before it: give the files before as well, the oldest first, or their head with -after %d:%s"
	textOlderChain   = "the chain that begins here, at %s, is older than the line before it, of %s: the files are not in their order, or the clock was set back"
	textNewChain     = "a new chain begins here, at %s: the lines before it belong to another"
	textSeqChanged   = "its seq is %d, want %d: it was changed"
	textLineChanged  = "the next line (seq %[2]d) has another hash for seq %[1]d: that line was changed"
	textLineMissing  = "seq %d is missing before it: the line was taken out"
	textLinesMissing = "seq %d to %d are missing before it: the lines were taken out"
	textLineMoved    = "seq %d follows seq %d: it was moved or inserted"
)

// What is wrong with the file on this system.
const textNoLocks = "this system has no lock for files, want stdout" //nolint:unused // file_other.go uses it
