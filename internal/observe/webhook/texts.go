package webhook

// Log lines for the operator. The comments above them are the table of docs/warnings.md.
const (
	// An event was sent to the webhook, but the store did not record that. The event is sent again
	// under the same id, and the receiver must ignore the second one. Look at the store, which err
	// describes.
	logNotRecorded = "an event was sent, but the store did not record this: it is sent again"

	// The receiver answered with a status (400, 410, 413 or 422) that a second try would not
	// change. The event is lost. Mend the template or the receiver, and look up what happened in
	// the audit or at the desk.
	logRefused = "webhook refused: it is not sent again"

	// The receiver could not be reached, or did not answer with a 2xx status. The event is tried
	// again for up to 72 hours. Look at err and at the receiver.
	logNotTaken = "webhook not taken"

	// The template of HOLDPOINT_WEBHOOK_TEMPLATE_FILE failed for this event, and the receiver got
	// the default body in its place. Mend the template: err names the failure.
	logTemplateFails = "the webhook's template fails, and the default body is sent"

	// HOLDPOINT_WEBHOOK_SECRET is not set, so the events have no signature. Set it if the receiver
	// can be reached by others.
	logNotSigned = "the webhook is not signed: its receiver cannot verify the sender"
)

// Errors of the settings and of templates. No error contains the address of the receiver, because
// it may be a secret.
const (
	textNotPublic      = "the address is not a public one (HOLDPOINT_WEBHOOK_PRIVATE)"
	textNotAddress     = "not an address, want one such as https://hooks.example.com/holdpoint"
	textHTTPSOrPrivate = "want https, or HOLDPOINT_WEBHOOK_PRIVATE=true for a receiver within your own network"
	textHTTPS          = "want https"
	textUserInURL      = "user and password are not sent, leave them out"
	textFragment       = "a fragment (#) never reaches a server, leave it out"
	textSecretForm     = "want whsec_ followed by at least 24 bytes in base64"
	textNoSuchEvent    = "there is no such event, want some of %s"
	textNoWebhook      = "there is no webhook, want HOLDPOINT_WEBHOOK_URL set as well"
	textUnescaped      = "a value is printed without json, in or slack"
	textNotJSON        = "the output of the template is not valid JSON"
	textTooLong        = "the output of the template is larger than 256 KiB"
)

// What is wrong with a template. An operator reads it when Holdpoint starts, and from holdpoint
// check.
const (
	textIndexArguments  = "index wants a list and a number, got %s and %s"
	textIndexRange      = "index %d of a list of %d"
	textPrintfArgument  = "printf wants a text first, got %s"
	textArgumentCount   = "wrong number of arguments"
	textWantTypes       = "want %s and %s, got %s and %s"
	textNotComparable   = "%s and %s cannot be compared"
	textLenOf           = "len of %s"
	textPrinted         = "%s is printed"
	textBreakOutside    = "break outside of range"
	textContinueOutside = "continue outside of range"
	textNotSupported    = "%s is not supported"
	textRangeOver       = "range over %s"
	textRangeAssigns    = "range assigns to a variable that is there: declare it by :="
	textNotDefined      = "template %q is not defined"
	textTooDeep         = "template %q: templates call one another more than %d deep"
	textNotFunction     = "%s is not a function"
	textNoSuchField     = "%s has no field %s"
	textNoFieldWant     = "there is no field %s: want one of %s"
	textWantText        = "want text, got %s"
	textOfEvent         = "of an event %s: %w"
)

// The names of types in these texts.
const (
	typeBoolean = "true or false"
	typeGroup   = "a group of fields"
)

// What happened, in the message of the webhook that a person reads.
const (
	saysOpened     = "A question waits for an answer"
	saysAnswered   = "A question was answered"
	saysCancelled  = "A question was cancelled"
	saysExpired    = "A question has expired"
	saysLost       = "The agent does not know a question any more"
	saysWithdrawn  = "The agent went on without an answer"
	saysUnanswered = "Nobody answered a question in time"
	saysInDoubt    = "Nobody knows whether the agent has acted on an answer"
	saysCarried    = "An answer goes to the agent"
	saysReopened   = "An answer did not reach the agent, and its question waits again"
)
