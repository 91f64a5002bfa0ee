package api

import "holdpoint/internal/agui"

// The texts in which the desk's API tells a person what happened, what is now in effect, and what
// the person can do. The desk's page has its own words for a refusal, by its code
// (internal/desk/page). The table of codes in docs/errors.md is made from codeTexts
// (TestErrorsTable).

// The details of problem documents, grouped by what is refused.
const (
	// Authentication.
	textWantToken      = "nobody is signed in: send Authorization: Bearer with a token of the desk"
	textNotAToken      = "this is not a token of the desk"
	textNotByProxy     = "the proxy in front says who asks, and this request did not come through it: %s"
	textManyTokens     = "too many wrong tokens came from this address, and this is another one: wait, then send a right one"
	textBadName        = "the name of the caller has control characters, or is not valid UTF-8"
	textOwnPage        = "want Sec-Fetch-Site: same-origin or the Origin of this page: a browser is signed in here, and another page could have sent this"
	textOtherOrigin    = "a page of another origin cannot change anything here"
	textAnotherCaller  = "somebody else is signed in here than %s says: nothing was done"
	textNoSessions     = "there is no sign-in here: each request says who sends it"
	textNoTLS          = "a browser signs in over TLS, or on its own machine: otherwise the network sees the token (docs/desk-reference.md#signing-in)"
	textSignedOutHere  = "you are signed out in this process and in this browser; the store could not note it, so other processes still take a copy of the cookie"
	textManyChanges    = "you decided too much in too short a time: nothing was done this time, try again in a moment"
	textMayNotDo       = "you may see this, but you may not %s it"
	textMayNotRead     = "you may see that this waits, but you may not read it"
	textNothingHere    = "there is nothing at this path; the API begins at /v1/approvals"
	textMethod         = "%s is not known at this path"
	textStoreAway      = "the store does not answer at the moment: try again; Holdpoint's log has the reason"
	textRecordUnread   = "the record cannot be read: it is damaged, sealed with a key that is not known, or of a newer version; Holdpoint's log has the reason"
	textNoApproval     = "there is no such approval, or it is forgotten"
	textNoQuestion     = "the approval has no such question"
	textNoCall         = "the question has no such call; they are counted from 0"
	textQueryUnread    = "the query cannot be read"
	textTwiceInQuery   = "%q stands there twice"
	textNoParameter    = "%q is not a parameter of this list"
	textWantState      = "state: want waiting, decided, carrying, doubt or ended"
	textWantCursor     = "cursor: want one that this API has given"
	textWantLimit      = "limit: want 1 to %d"
	textWantPerAgent   = "perAgent: want 1 to %d"
	textWantJSON       = "want Content-Type: application/json"
	textBodyTooLarge   = "the body has more than %d bytes"
	textBodyNotUTF8    = "the body is not valid UTF-8"
	textBodyKeyTwice   = "the body has a key twice: %v"
	textSpelling       = "key %q must be spelled %q"
	textBodyUnread     = "the body cannot be read: %v"
	textBodyTooDeep    = "it is nested deeper than %d levels"
	textBodyMore       = "there is something behind it"
	textOtherQuestion  = "the body names another question than the path"
	textNoDecisions    = "decisions: want one for each question that is decided"
	textQuestionTwice  = "a question stands there twice"
	textElsewhere      = "another Holdpoint serves the agent of this question, or it was asked before there was a desk: decide it there"
	textNotWritten     = "the decision cannot be written to the audit at the moment, so it was not taken: try again"
	textNotFreed       = "this cannot be written to the audit at the moment, so the thread was not freed: try again"
	textEnded          = "it has ended already: approval.end says how, when and by whom"
	textDecided        = "it was decided otherwise: approval.questions say by whom and when"
	textCarried        = "somebody has answered it, and the answer is on its way to the agent"
	textCarriedStill   = "somebody has answered it, and the answer is on its way to the agent: it ends with that run, or is in doubt when approval.carriedUntil has passed"
	textWantDigest     = "digest: want the one of the question that was read, so that nobody decides what he has not seen"
	textOtherDigest    = "the digest is not that of this question: read it again"
	textReasonOfDeny   = "reason: it goes to the agent with a deny; a comment stays here"
	textReasonTooLong  = "reason: it has more than %d bytes"
	textCommentTooLong = "comment: it has more than %d bytes"
	textNotKnown       = "%s: Holdpoint does not know which answer to this question means that; send answer with its payload, or cancel"
	textOwnPayload     = "payload: %s has the question's own; send answer for another"
	textNoPlace        = "reason: this agent has no place for it; a comment stays here"
	textCancelPayload  = "payload: a cancel has none"
	textWantDecision   = "decision: want approve, deny, cancel or answer"
)

// Notes on values that are shown only as raw text, or not at all.
const (
	noteUnknown = "the call is not known in full: nobody can say what a yes lets run"
	noteNoJSON  = "the arguments are not a JSON object"
	noteTwice   = "a key stands there twice, and backends do not agree which one counts"
	noteBroken  = "it is not valid UTF-8: the broken bytes are replaced here"
	noteDeep    = "it is nested so deep that some programs cannot read it as JSON"
	secretNote  = "a secret, not shown"
)

// noteCodes maps each note to its code, for a page with its own words.
var noteCodes = map[string]string{
	noteUnknown: "unknown", noteNoJSON: "noObject", noteTwice: "twice", noteBroken: "broken", noteDeep: "deep", secretNote: "secret",
}

// A codeText is the row in docs/errors.md for one code of problem documents.
type codeText struct {
	code     string
	statuses string
	text     string // the detail; if the details differ, their common beginning
	happened string
	remedy   string
}

// codeTexts has a row for each code of the desk's responses. The last rows are for codes of runs:
// the desk's response has such a code if the agent's own Holdpoint refused the decision
// (proxy/internal/tell).
var codeTexts = []codeText{
	{codeUnauthenticated, "401", textWantToken, "the request does not show who sends it, or its token or cookie is not valid (any more)", "sign in, or send a token; `auth` says which way this desk takes"},
	{codeTries, "429", textManyTokens, "an address sent more than ten wrong tokens", "wait for `Retry-After`. A right token counts at any time"},
	{codeForged, "403", "the header … is not accepted from this address", "the header that names the caller came from an address that is not a trusted peer", "come through the proxy, or set `HOLDPOINT_DESK_TRUSTED_PEERS`"},
	{codeKeys, "503", "the issuer's keys are not there", "the keys of the issuer could not be fetched, so no token can be verified", "try again; the log has the reason"},
	{codeConnection, "400, 503", "the reason", "the listener refused the connection: too many, or a request that two servers could read differently", "close idle connections, or mend the proxy in front ([limits.md](limits.md))"},
	{codeCrossOrigin, "403", textOtherOrigin, "a browser sent this from a page of another origin, or did not say from which", "use the desk's own page; a program sends `Origin` or `Sec-Fetch-Site`"},
	{codeAnother, "412", "somebody else is signed in here than Holdpoint-Caller says: nothing was done", "somebody else has signed in in the same browser", "load the page again"},
	{codeNoSessions, "409", textNoSessions, "a browser tried to sign in where a proxy or an issuer says who asks", "come through the proxy, or send a token with each request"},
	{codeNoTLS, "403", textNoTLS, "a browser tried to sign in over HTTP from another machine", "use HTTPS ([desk-reference.md](desk-reference.md#signing-in))"},
	{codeForbidden, "403", "you may see this, but you may not decide it", "the policy does not give the caller this right", "ask somebody who has it, or change the policy ([desk.md](desk.md#rights))"},
	{codeChanges, "429", textManyChanges, "one caller changed more than a hundred things at once, or one a second since", "wait for `Retry-After`; nothing was done"},
	{codeNotFound, "404", textNothingHere, "the path is not one of the API", "see [desk-api.yaml](desk-api.yaml)"},
	{codeMethod, "405", "PUT is not known at this path", "the path does not take the method", "`Allow` names those that it takes"},
	{codeMediaType, "415", textWantJSON, "the body is not JSON", "send it as `application/json`"},
	{codeParameter, "400, 413", "which one, and what it has to be", "a parameter or the body cannot be used; 413: the body is too large", "correct it; nothing was done"},
	{codeNoApproval, "404", textNoApproval, "the id is not known, the record is forgotten, or the caller may not see it", "read the list again"},
	{codeNoQuestion, "404", textNoQuestion, "the approval does not have the question", "read the approval again"},
	{codeNoCall, "404", textNoCall, "the question does not have the call", "count calls from 0"},
	{codeNoDigest, "428", textWantDigest, "the decision does not say which question it is about", "send the `digest` of the question that was read"},
	{codeDigest, "412", textOtherDigest, "the question changed after it was read", "read it again, then decide"},
	{codeNotKnown, "422", "approve: Holdpoint does not know which answer to this question means that; send answer with its payload, or cancel", "the question has no known yes or no", "send `answer` with a `payload`, or `cancel`"},
	{codeNoPlace, "422", textNoPlace, "the agent does not take a reason with a no", "deny without `reason`; `comment` stays here"},
	{codeElsewhere, "409", textElsewhere, "this process does not serve the agent, and may not judge for the one that does", "decide it at the desk of the agent's Holdpoint"},
	{codeDecided, "409", textDecided, "somebody decided the question first, and otherwise", "read `approval.questions`; the first decision counts"},
	{codeEnded, "409", textEnded, "the question has ended", "read `approval.end`; nothing can change it"},
	{codeInProgress, "409", textCarried, "an answer is on its way to the agent", "wait for its end; nothing can be changed meanwhile"},
	{codeStore, "503", textStoreAway, "Holdpoint cannot reach its store", "try again; no decision was lost"},
	{codeAudit, "503", textNotWritten, "`HOLDPOINT_AUDIT_REQUIRED` is set and the audit cannot be written", "mend the audit ([audit.md](audit.md#when-it-cannot-be-written)), and decide again"},
	{codeUnread, "500", textRecordUnread, "the record is damaged, sealed with an unknown key, or of a newer version", "give Holdpoint the key (`HOLDPOINT_STORE_KEYS`) or the version that wrote it"},
	{string(agui.InvalidPayload), "422", ofRun, "the answer does not fit the question", "correct it; the detail says what does not fit"},
	{string(agui.InterruptExpired), "422", ofRun, "the time for an answer is over", "`cancel` it, or give it up"},
	{string(agui.ResumeConflict), "422", ofRun, "the decision contradicts another one", "read the approval again; the first one counts"},
	{string(agui.UnknownInterruptID), "422", ofRun, "the question is not open any more", "read the list again"},
	{string(agui.ApprovalUncertain), "422", ofRun, "Holdpoint cannot say what a yes would run", "`deny` or `cancel` it"},
	{string(agui.ApprovalAmbiguous), "422", ofRun, "the agent would give the answer to whichever of several calls asks first", "`deny` or `cancel` it"},
	{string(agui.UpstreamStatus), "422", ofRun, "what was kept of the run cannot be sent", "decide it in the chat"},
	{string(agui.InternalError), "422", ofRun, "Holdpoint failed", "its log says where"},
}

// ofRun is the detail in the table if the detail is the message that a RUN_ERROR would have.
const ofRun = "the message that a RUN_ERROR would have"

// Errors in a token of HOLDPOINT_DESK_TOKEN or of its file.
const (
	textTokenTwice    = "the same token is in an earlier line"
	textNoTokenInFile = "it has no token: want one, such as openssl rand -hex 32 makes"
	textNoHash        = "the last word is not a hash, want sha256: and 64 hex digits, such as printf %s TOKEN | sha256sum makes"
	textBadWord       = "the %s has control characters, or more than %d bytes"
	textTokenSigns    = "the token has characters other than letters, digits and - . _ ~ + / =, want one such as openssl rand -hex 32 makes"
	textShortToken    = "the token has %d characters, want at least %d, such as openssl rand -hex 32 makes"
)

// Log lines. The comment of each says to the operator what it means and what to do;
// docs/warnings.md is made from these comments.
const (
	// A request of the desk failed, because the store did not answer or because a record could not
	// be read. The caller is told so, and no decision is lost. The line has the reason: look at the
	// store's server, or give Holdpoint the key that the record is sealed with.
	logStoreAway = "desk: the store did not answer"

	// The desk leaves out records that it cannot read, and its page shows their number. They are
	// damaged, sealed with a key that this process does not have, or written by a newer version.
	// Give Holdpoint the key (HOLDPOINT_STORE_KEYS), or run the newer version.
	logListUnread = "desk: records of the list cannot be read"

	// A request for the desk set the header that names the caller, but came from an address that is
	// not of HOLDPOINT_DESK_TRUSTED_PEERS. It was refused. If the address is your proxy's, add it
	// to the variable; otherwise somebody tries to pass for another person.
	logNotBelieved = "desk: a request names its caller in a header, and came from an address that may not"

	// A request for the desk had a token that the desk does not know, and was refused. One such
	// line is usually a mistyped or replaced token. Many from one address are somebody who guesses;
	// the desk answers that address more slowly.
	logWrongToken = "desk: a wrong token"

	// A person signed out, but the store could not save it. This process and the browser know it,
	// but other processes still accept a copy of the session's cookie until it ends. The person was
	// told so; if the cookie may have been copied, change the token.
	logNotSignedOut = "desk: other processes do not know who was signed out"

	// A person wanted to free a thread at the desk. HOLDPOINT_AUDIT_REQUIRED is set and the audit
	// log cannot be written, so nothing was done. Mend the audit log; the person can then try
	// again.
	logNotFreed = "desk: a thread is not freed, because the audit log cannot be written"

	// A thread was freed at the desk, but the audit log has no line of it. This line has the pause
	// and the person; add it to your own records, and mend the audit log.
	logFreedUnaudited = "desk: a thread was freed, but the audit log could not be written"
)

// What a person reads in the answer to his decision.
const textSessionOver = "the session is over: sign in again"
