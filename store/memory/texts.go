package memory

// Why there is no room in memory. An operator reads it in the log.
const (
	textShareFull   = "%w: %d pauses of %d bytes"
	textEntriesFull = "%w: %d of %d (HOLDPOINT_STORE_ENTRIES)"
	textBytesFull   = "%w: %d of %d bytes (HOLDPOINT_STORE_BYTES)"
	textNotAsked    = "store: not asked: %w"
)
