package intake

// These texts are the error in the JSON of a refusal, whose status is 4xx, 501 or 503. The
// developer of a client reads them.
const (
	textPostOnly           = "a run must be sent with POST"
	textBodyUnread         = "the body could not be read"
	textEncoded            = "a request body must not have a Content-Encoding"
	textCharset            = "a body in this charset is not accepted: JSON must be UTF-8"
	textTooLarge           = "the body exceeds the limit (HOLDPOINT_MAX_REQUEST_BYTES)"
	textNoRoom             = "the bodies that are being read use up the memory for bodies (HOLDPOINT_BODY_BYTES, HOLDPOINT_ADDRESS_SHARE): try again"
	textTwoTypes           = "a request must not have more than one Content-Type"
	textTwoCharsets        = "a Content-Type must name at most one charset, in a form that can be read"
	textWebSocketAtAgent   = "a WebSocket is not accepted on the path of an agent: Holdpoint could not read the runs in it"
	textForm               = "a run, or an answer, must be JSON: a form is not accepted"
	textOtherMethod        = "a header that names another method is not accepted"
	textWebSocket          = "a WebSocket is not accepted: Holdpoint could not read the messages in it"
	textReadWithBody       = "a GET or HEAD request must not have a body"
	textByteOrderMark      = "a JSON body must be UTF-8 without a byte order mark"
	textNotUTF8            = "a JSON body must be UTF-8"
	textInvalidUTF8        = "a JSON body must be valid UTF-8"
	textNotJSON            = "the body is not valid JSON, or is nested too deep"
	textApprovalOutsideRun = "the messages hold an approval, but the body is not a run (RunAgentInput)"
	textConnect            = "CONNECT is not accepted: after it a client would talk to the backend directly"
	textPath               = "the path must not have dot segments or control characters"
	textOnlyRuns           = "only an AG-UI RunAgentInput is accepted here: a request in the backend's own form could answer a question that Holdpoint keeps (HOLDPOINT_DIALECT=%s)"
	textUnderscore         = "the header %s has an underscore in its name, and some servers take it for another header (HOLDPOINT_HEADER_UNDERSCORES)"
	textInCommand          = ", in the text of forwardedProps.command.resume"
)

// The messages of the log lines about a refused request, and about a body that could not be read.
const (
	lineRefused    = "request refused"
	lineBodyUnread = "request body not read"
)
