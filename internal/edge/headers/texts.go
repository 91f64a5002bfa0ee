package headers

// Why a header cannot be set. Each follows the name of the header. An operator reads it when
// Holdpoint starts, and from holdpoint check.
const (
	ofConnection  = "it belongs to one connection"
	ofRequest     = "it belongs to one request"
	ofBody        = "it follows from the body"
	bodyUnchanged = "bodies are sent as they are"
	ofClient      = "it is the client's"
	asksForStream = "an event stream is asked for"
	asksForPlain  = "no compression is asked for"
	ofUpstream    = "it comes from HOLDPOINT_UPSTREAM, or from the client with HOLDPOINT_PRESERVE_HOST"
)

// What is wrong with a file of headers.
const (
	textWantFile          = "want the name of a file, not the headers themselves"
	textWantLine          = "want a line Name: value"
	textNotTaken          = "header %s is not taken: %s"
	textNoValue           = "header %s has no value"
	textControlCharacters = "header %s has a value with control characters"
)
