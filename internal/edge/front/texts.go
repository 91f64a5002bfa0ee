package front

// Log lines for the operator. The comments above them are the table of docs/warnings.md.
const (
	// Clients are refused because there are more connections than the named variable allows, in
	// total (503) or from one address (429). Look for a client that opens connections without
	// closing them, add replicas, or raise the variable.
	logTooMany = "connections are refused: there are too many (logged once a minute at most)"
)

// These are the reasons of refusals, which the client reads, and the errors of the settings.
const (
	textTwoLengths    = "the request has both Content-Length and Transfer-Encoding"
	textOldChunked    = "a request of HTTP/1.0 has Transfer-Encoding"
	textFolded        = "a header continues in a second line"
	textLongLength    = "Content-Length or Transfer-Encoding has hundreds of bytes"
	textAmbiguous     = ": two servers could disagree about where the request ends"
	textRunsOfAddress = "too many runs of this address continue without their clients (HOLDPOINT_ADDRESS_CONNECTIONS)"
	textRuns          = "too many runs continue without their clients (HOLDPOINT_MAX_CONNECTIONS)"
	textAddress       = "too many connections from this address (HOLDPOINT_ADDRESS_CONNECTIONS)"
	textConnections   = "too many connections (HOLDPOINT_MAX_CONNECTIONS)"
	textAtLeastSecond = "want at least 1s"
	textClientCA      = "clients send certificates over TLS only, set HOLDPOINT_TLS_CERT_FILE and HOLDPOINT_TLS_KEY_FILE too"
)

// What a client reads if Holdpoint does not read its request.
const (
	textLateHeader = "the header did not come in time (HOLDPOINT_HEADER_TIMEOUT)"
	textPlainOnTLS = "plain HTTP on a port with TLS: the address begins with https://\n"
)
