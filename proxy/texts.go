package proxy

// These are the texts of this package. The texts of refusals are messages of RUN_ERROR events, and
// the developer of a client reads them. The comment of each log line tells the operator what the
// line means and what to do. docs/warnings.md is made from these comments.

// The texts of refusals and of errors that end a run.
const (
	textAmbiguousPath  = "this path could be read as another agent's: send it without doubled slashes, escapes and capital letters that the agent's path does not have"
	textRedirect       = "The agent's server redirects this request to where it came from. Holdpoint's log says how to mend it.\n"
	textNoAgent        = "no agent is at this path: each agent has a path of its own here, and this path is below none of them"
	textStoreDown      = "the store cannot be asked, so it is not known whether this thread waits for an answer: try again"
	textInternal       = "Holdpoint failed on this request; its log says where"
	textDraining       = "the proxy is shutting down"
	textIdle           = "the backend was silent for too long (HOLDPOINT_STREAM_IDLE_TIMEOUT)"
	textAlone          = "the client left, and the run did not end within an hour after that: Holdpoint ended it"
	textNotClaimed     = "the answer cannot be claimed in the store, so it was not sent to the backend: try again"
	textUnaudited      = "the audit log cannot be written, so the answer was not sent to the backend: try again"
	textThreadBusy     = "an earlier run of this thread continues without its client: try again when it has ended"
	textClientLeft     = "the client closed its side of the connection before the request was sent to the backend"
	textResumeNotArray = "resume must be an array of entries"
	textTooDeep        = "the backend sent a question, or the end of a run, that is nested deeper than %d"
	textFrameTooLarge  = "the backend sent a frame over the limit (HOLDPOINT_MAX_FRAME_BYTES)"
	textNoTerminal     = "the backend's stream ended without a terminal event"
	textBrokeOff       = "the backend's stream broke off"
	textUntranslated   = "the backend's stream could not be translated"
	textOtherOpen      = "the run asks a question, but another question of this thread is open"
	textLeftResume     = "the client left while a resume of this thread was running"
	textInputUnread    = "the saved input of the run cannot be read: %v"
	textAnswerTooDeep  = "the answer is nested deeper than %d levels"
	textPathUnread     = "the saved path of the run cannot be read"
	textPathNoRun      = "no run can be sent to the saved path"
	textStoreFull      = "the run asks a question, and the store has no room for it: too many questions are open (HOLDPOINT_STORE_ENTRIES, HOLDPOINT_STORE_BYTES)"
	textShareFull      = "the run asks a question, and the open questions of this client address have used up their share of the store (HOLDPOINT_ADDRESS_SHARE)"
	textNotOwner       = "the thread belongs to somebody else"
	textNotSaved       = "the run asks a question, and the store cannot save it: try again"
	textNoStream       = "the backend answered %d without an event stream"
	textStatus         = "the backend answered %d"
	textEncoding       = "the backend's stream has a Content-Encoding that Holdpoint does not read"
	textLapsedAnswers  = "the lease of these answers ended before all of them were sent, and another run began on the thread: nothing more was sent"
	textLapsed         = "another run began on the thread while the answers were being sent: nothing more was sent"
	textNoAnswer       = "the backend closed the connection before it answered"
	textUnreachable    = "the backend cannot be reached"
)

// Lines about the store.
const (
	// The store has failed, and HOLDPOINT_STORE_OUTAGE refuses every run until it answers again.
	// Look at the store's server and at the connection to it.
	logOutageRefuse = "the store cannot be asked: every run is refused (HOLDPOINT_STORE_OUTAGE=refuse). The end is logged, single runs are not"

	// The store has failed, and HOLDPOINT_STORE_OUTAGE lets runs without answers pass unprotected
	// until it answers again. Look at the store's server and at the connection to it.
	logOutagePass = "the store cannot be asked: runs without answers go to the backend, also where a question is open (HOLDPOINT_STORE_OUTAGE=pass). The end is logged, single runs are not"

	// The outage of the store is over. The line says how long it lasted, and how many times
	// Holdpoint looked for a record in vain. There is nothing to do.
	logOutageOver = "the store can be asked again"

	// The store holds a record that cannot be read: it is damaged, it is sealed with a key that
	// this process does not have, or a newer version of Holdpoint wrote it. Every run of the
	// thread is refused. Give Holdpoint the key, or run the newer version.
	logRecordUnread = "the record of the thread cannot be read: its runs are refused"

	// The store failed while an answer was judged. The question stays open, and the person can
	// answer again. If it repeats, look at the store.
	logAskedUnread = "the messages of the open question cannot be read from the store: the answer is refused"

	// An answer was refused because every attempt to claim the question failed, although its
	// record says that it is open. The store contradicts itself, for example a replica of it that
	// lags behind. Look at the store; the question stays open.
	logNotClaimable = "the pause cannot be claimed"

	// HOLDPOINT_AUDIT_REQUIRED is set and the audit log cannot be written, so the answer was not
	// sent to the backend. The question stays open. Mend the file or the disk of the audit log.
	logClaimUnaudited = "an answer is refused: the audit log is required and cannot be written"

	// The store failed when an answer was about to be sent, so it was not sent. The question stays
	// open, and the person can answer again. If it repeats, look at the store.
	logClaimFailed = "an answer is refused: the store did not take its claim"

	// The request answers a question of another thread, and the store failed when its own thread
	// was to be reserved. Nothing was sent, and the question stays open. If it repeats, look at
	// the store.
	logOwnThreadNotKept = "an answer is refused: the store cannot reserve the thread that the request names"

	// It is not known whether an answer was carried out. The client was told so, and the store
	// failed to record that. The next request of the thread is told the same once more. If it
	// repeats, look at the store.
	logDoubtNotClosed = "the store did not close a question whose outcome is unknown: the next request is told of it again"

	// A message was to cancel the open question, and the store failed. The question stays open.
	// The person can send the message again. If it repeats, look at the store.
	logNotWithdrawn = "the store did not close an open question, so the new message is refused"

	// The agent continued in the same stream without waiting for the answer, and the store failed
	// to close the question. The person may still see it, and can cancel it. If it repeats, look
	// at the store.
	logLaterRunNotWithdrawn = "the store did not close a question that the agent has given up: it stays open in the record"

	// The run asked more than can be kept or shown: too many questions, or questions that are too
	// large. The error says which bound was met. Let the agent ask less at once, or raise the
	// variable that the error names.
	logPauseRefused = "a question is not asked, and its run fails"

	// The store is full, the client address has used up its share, or the store failed; the error
	// says which. The run ended with an error, and the person was asked nothing. Raise
	// HOLDPOINT_STORE_ENTRIES, HOLDPOINT_STORE_BYTES or HOLDPOINT_ADDRESS_SHARE, or look at the
	// store.
	logPauseNotSaved = "a question is not asked: the store did not save it"

	// The store failed when a question was to be made findable from other threads. Clients that
	// use a new thread for each run, such as those of .NET, cannot answer it; all others can. If
	// it repeats, look at the store.
	logNotInIndex = "the question is not in the index: it can be answered on its own thread only"

	// The store failed when the messages and the state of a question were to be shown again. The
	// client keeps what it has. If it repeats, look at the store.
	logSnapshotsUnread = "snapshots left out: the store cannot be asked for them"

	// The chat may be shown the end of its question a second time. If it repeats, look at the
	// store.
	logCaughtUpUnsaved = "the store did not note that the chat was shown how its question ended: it is shown that again"

	// The store no longer has the messages, or they were larger than HOLDPOINT_TRANSCRIPT_BYTES,
	// so the chat cannot be shown how its question ended. The agent may ask again. If it repeats,
	// raise HOLDPOINT_TRANSCRIPT_BYTES.
	logMissedUnknown = "the question was decided outside of the chat, and the messages since then are not kept: the backend gets the chat's own history"

	// The application answers the questions of a run one after another, and the store failed to
	// keep an answer. The application has to send all of them. If it repeats, look at the store.
	logPartUnsaved = "answers to some of the questions are not kept: the application is asked for all of them again"

	// A client answered a question that has no record. This process can cancel that question at
	// the backend if it still waits; another replica, or this one after a restart, cannot. If it
	// repeats, look at the store.
	logNamedUnsaved = "the store did not note an unknown question that a client answered: another replica cannot cancel it at the backend"

	// The store failed. Another replica, or this one after a restart, may not recognize an answer
	// in the backend's own form until the backend asks again. If it repeats, look at the store.
	logDialectUnsaved = "the store did not note the dialect of a thread's backend: another replica finds it out when the backend asks again"

	// The store failed. The backend may get its conversation twice with a later answer of this
	// thread. If it repeats, look at the store, or set HOLDPOINT_SESSIONS=true for such a backend.
	logNewOnlyUnsaved = "the store did not note that the client of a thread sends new messages only"

	// The run ended with calls that have no result yet, and only this process knows that it left
	// them open. After a restart, and at another replica, the backend gets the conversation
	// without them. If it repeats, look at the store.
	logLeftOpenUnsaved = "the store did not note the calls that a run left open: after a restart Holdpoint takes them out of the messages"

	// The agent made a call with the id of an earlier one that was asked about. The store failed,
	// so the client's result for the new call may be taken for an answer to the old question. If
	// it repeats, look at the store.
	logReusedCallUnsaved = "the store did not note that the agent has used the id of a call again: the client's result for it may be refused"

	// The run left calls to the client, and the store failed to note them. So only this process
	// knows that the client answers them itself. If it repeats, look at the store.
	logOwnCallsUnsaved = "the store did not note calls of the client's own tools: after a restart, and at another replica, their results may be refused"

	// Holdpoint wrote results for calls that the agent gave none. Another version with other texts
	// would not recognize them in the client's history, and would send them to the agent. If it
	// repeats, look at the store.
	logOwnResultsUnsaved = "the store did not note results that Holdpoint wrote itself: they are recognized by their text only"

	// If the client sends a result for this call, the result may be read as that of one of the
	// client's own tools. If it repeats, look at the store.
	logAskedCallNoted = "the store did not delete the note that a call was left to the client, and the call now needs an approval"
)

// Lines about what the client sends.
const (
	// The client's history changed a call that waits for its answer, so the backend gets the call
	// from the record. Either the client loses or rewrites the arguments of calls, or somebody
	// tries to have another call approved. Look at the client if it repeats.
	logCallsRestored = "calls in the messages differ from those that were shown for approval: the backend gets them as they were shown"

	// Holdpoint cannot judge the answer, and some backends take anything as a yes. Give the
	// question a responseSchema, or describe a yes and a no with HOLDPOINT_ANSWERS.
	logUnclear = "an answer to a question without a schema is neither a clear yes nor a clear no: the backend gets it unchanged. This is logged once"

	// Some client libraries write a result for a call that waits for an approval. The backend does
	// not get such results. There is nothing to do.
	logResultsRemoved = "results taken out of the history: the client wrote them, and their calls were not carried out"

	// The client does not send the calls of its conversation. Holdpoint adds them from the record.
	// There is nothing to do.
	logCallsPutBack = "the client's history has results without their calls: the backend gets the calls as they were shown"

	// The client's history holds an approval that answers no open question. The backend does not
	// get it. If it repeats, the client sends old approvals again, or somebody tries to forge one.
	logApprovalsRemoved = "approvals in the history taken out: no question of this thread is open for them"

	// The backend could read these messages as an approval or a denial, so it gets them as plain
	// text. If Holdpoint was restarted with a store in memory, the question was lost; otherwise
	// somebody may try to forge an approval.
	logDisarmed = "messages that could be read as decisions were changed: no question about their calls is on record"

	// The store failed, so Holdpoint does not know whether a question was about a call in the
	// messages that has no result. The backend could run the call, so Holdpoint removes it from
	// what the backend gets. If this line repeats, look at the store.
	logCallsRemovedUnread = "calls without a result taken out of the messages: the store cannot say whether a question was about them"

	// The client's history holds a call that the backend could run without an approval. It was
	// lost from the record, for example by a restart with a store in memory, or somebody forged
	// it.
	logCallsRemovedUnknown = "calls without a result taken out of the messages: the backend could run them, and no run on record left them to the client"

	// The record of a question is gone, for example after a restart with a store in memory. The
	// chat continues without the call. Use a store that outlives the process.
	logCallsRemovedLost = "calls without a result taken out of the messages: their question is lost, and the backend would refuse the history with them"

	// The state is larger than HOLDPOINT_TRANSCRIPT_BYTES, or one of its patches did not apply.
	// The client keeps the state that it has. Raise HOLDPOINT_TRANSCRIPT_BYTES if the state is
	// large.
	logStateOmitted = "STATE_SNAPSHOT left out: the state is not known"

	// The conversation is larger than HOLDPOINT_TRANSCRIPT_BYTES. The client keeps the messages
	// that it has. Raise the limit if clients need the snapshot.
	logMessagesOmitted = "MESSAGES_SNAPSHOT left out: the messages exceed the limit (HOLDPOINT_TRANSCRIPT_BYTES)"

	// The agent or the client gave two messages the same id. The client keeps the messages that it
	// has. Make the ids unique where the messages are written.
	logMessagesShareID = "MESSAGES_SNAPSHOT left out: two messages have one id, and a client would keep the last one only"

	// The responseSchema of a question is not a schema that Holdpoint can apply; the error says
	// why. The answer goes to the backend unchecked. Mend the schema in the agent.
	logUnchecked = "payload taken unchecked: the schema of its question cannot be used"

	// The person cancelled, and the dialect has no form for this cancel, or the request lacks what
	// it needs. Holdpoint closed the question, and the backend may still wait for its answer. The
	// code of the line says why.
	logCancelUnsaid = "the backend cannot be told that its question is cancelled: the thread continues without"

	// The question was decided at the desk, and the chat sent a new message before that decision
	// was sent. The person at the chat is told that the decision was not carried out. The code of
	// the line says why.
	logDecisionGivenUp = "a decision made outside of the chat cannot be sent with the chat's history: it is dropped, and the new message is sent"
)

// Lines about the backend.
const (
	// The connection failed before the backend sent its header. The error, and a hint if there is
	// one, say why. Check that the backend runs and that HOLDPOINT_UPSTREAM is its address.
	logUnanswered = "the backend did not answer a run"

	// The connection failed before the backend sent its header, and the client got 502. The error,
	// and a hint if there is one, say why. Check that the backend runs and that HOLDPOINT_UPSTREAM
	// is its address.
	logPassingUnanswered = "the backend did not answer a request that is not a run"

	// The connection to the backend ended in the middle of a stream. The client was told so. Look
	// at the backend's log for that time, and at proxies and time limits between Holdpoint and the
	// backend.
	logBrokeOff = "the backend's stream broke off"

	// The address of a run is wrong. The line has the address that Holdpoint asked. Set
	// HOLDPOINT_UPSTREAM to the address of the agent's endpoint, or mend the path that the client
	// uses.
	logNoEndpoint = "the backend has no endpoint at this address (404 or 405)"

	// The hint of the line names what is most likely wrong, and the variable to change.
	logNoStream = "the backend did not answer with a stream"

	// The client would follow this redirect for ever, so it gets 502. Mostly a slash at the end of
	// HOLDPOINT_UPSTREAM is missing or too many. Set HOLDPOINT_UPSTREAM to the address that the
	// backend redirects to.
	logRedirectLoop = "the backend redirects the run to where it came from"

	// The client talks to an endpoint of the AI SDK, which is not AG-UI. Holdpoint protects
	// nothing there. Point the client at an AG-UI endpoint of the agent.
	logAISDK = "the backend answers with the AI SDK's stream, which Holdpoint does not read: approvals in it pass unguarded, and a yes that is sent twice runs twice"

	// A browser asked whether a page may send runs, and the backend refused. Allow the origin in
	// the backend's CORS settings, or set HOLDPOINT_CORS_ORIGINS.
	logPreflightRefused = "the backend allows pages of this origin no requests, so their browsers send none"

	// The backend's questions have the form of another framework than HOLDPOINT_DIALECT names, so
	// they may reach the client in a wrong form. Leave the variable out, or name the dialect that
	// the line tells. It is logged once.
	logOtherDialect = "this backend asks in the dialect %s, and HOLDPOINT_DIALECT=%s names another"

	// Each replica of the agent keeps its threads in its own memory, so an answer that reaches
	// another replica finds no question. Give the agents a shared checkpointer or session store.
	// It is logged once.
	logKeepsLosing = "the agent keeps losing questions that another Holdpoint process has kept: agents that run next to replicas, and agents that restart, need a shared memory of threads, such as a checkpointer"

	// The dialect keeps sending requests to the backend for one run. The run was ended with an
	// error. It is a bug of Holdpoint: please report it with the line before it.
	logTooManyExchanges = "the run wants one exchange after the other: it is ended"

	// An event of the backend has a form that its dialect does not accept; the error says which.
	// Check with holdpoint doctor that HOLDPOINT_DIALECT names the right dialect, and that the
	// backend's version is supported.
	logTranslationFailed = "the backend's stream could not be translated"

	// The backend began another run after the end of the first one, and its dialect refused it;
	// the error says why. The first run is complete.
	logLaterRunFailed = "a second run in the same stream cannot be translated: the stream is ended"
)

// Lines about Holdpoint itself.
const (
	// A bug in Holdpoint ended this run; other runs continue. The client was told that Holdpoint
	// failed. Please report the stack of the line.
	logPanicked = "the run panicked"

	// A bug in a dialect ended this request; other requests continue. The client was told that
	// Holdpoint failed. Please report the line and its stack.
	logDialectFailed = "the dialect failed"

	// HOLDPOINT_HEADER_UNDERSCORES=drop removes such headers, because some backends take them for
	// another header. If the backend needs the header, set the variable to pass.
	logHeaderDropped = "a header was dropped because its name has an underscore. This is logged once"
)

// Hints: what is wrong with the connection to the backend, and which variable corrects it. An
// operator reads them in the log. Clients do not, because they contain the backend's address.
const (
	hintNotTLS         = "the backend does not speak TLS there: HOLDPOINT_UPSTREAM must begin with http://"
	hintTLS            = "the backend speaks TLS there: HOLDPOINT_UPSTREAM must begin with https://"
	hintIfTLS          = "if the backend speaks TLS there, HOLDPOINT_UPSTREAM must begin with https://"
	hintAuthority      = "the system does not know the authority of the backend's certificate: HOLDPOINT_UPSTREAM_CA_FILE names it"
	hintServerName     = "the backend's certificate is for another name: HOLDPOINT_UPSTREAM_SERVER_NAME says which name it must have"
	hintCertificate    = "the backend's certificate is not valid: see its dates with openssl x509 -noout -dates"
	hintNoHost         = "no address is known for the host %s of HOLDPOINT_UPSTREAM"
	hintNothingListens = "nothing listens at %s: start the backend there, or set HOLDPOINT_UPSTREAM to where it listens"
	hintWebPage        = "this is a web page: HOLDPOINT_UPSTREAM must be the address of the agent's endpoint"
	hintOtherDialect   = "if the backend is of another framework than HOLDPOINT_DIALECT=%s, leave that out: holdpoint doctor tells which it is"
	hintSlash          = "a slash at the end of HOLDPOINT_UPSTREAM is missing or too many: set it to the address that the backend redirects to"
	hintOrigins        = "HOLDPOINT_CORS_ORIGINS allows origins in the backend's place (docs/browser.md)"
	hintPathTwice      = "the path holds %q twice: HOLDPOINT_UPSTREAM ends with it and the client's address does too"
	hintAnyDialect     = "leave HOLDPOINT_DIALECT out: then Holdpoint finds the dialect by itself"
)

// What is wrong with a variable of a run. An operator reads it when Holdpoint starts, and from
// holdpoint check.
const (
	textNameForm       = "want at most 100 bytes without control characters"
	textKeepAlive      = "want more than 0, such as 900ms"
	textBodyBytes      = "want at least twice HOLDPOINT_MAX_REQUEST_BYTES, %s"
	textIdleGrace      = "want more than 0, such as 15m"
	textSecondOrNone   = "want at least 1s, or 0 for none"
	textSecond         = "want at least 1s"
	textPathBegins     = "want a path that begins with a slash, such as /billing"
	textPathEnds       = "leave out the slash at the end: the path itself and all below it are the agent's"
	textPathSlashes    = "it has two slashes in a row"
	textPathDots       = "it has a segment of dots"
	textPathCharacters = "want letters, digits and - . _ ~ between the slashes, not %q"
)

// Errors of the package's callers, which no setting of the program causes.
const (
	textStreamsLeft = "proxy: some streams did not end"
	textNoUpstream  = "proxy: no upstream"
	textNoDialect   = "proxy: no dialect"
	textNoStore     = "proxy: no store"
	textPrefix      = "proxy: prefix %q: %w"
	textNoAgents    = "proxy: no agents"
	textTwoBelow    = "proxy: two agents below %q"
	textTwoNames    = "proxy: two agents of one name, %q"
)

// Errors that only the log has.
const (
	textEnded        = "%w: it has ended"
	textClaimRefused = "each claim is refused, although the record allows it"
)

// aboutPage is the page at an agent's address. It says nothing about this installation, because
// anybody may read it.
const aboutPage = `<!doctype html>
<html lang="en">
<title>Holdpoint</title>
<h1>Holdpoint</h1>
<p>Here is an agent that speaks AG-UI, behind Holdpoint, a proxy for its questions.
This address has no page: the agent's backend answered STATUS.</p>
<p>An application talks to the agent by sending a run to the agent's path, with POST. If you
expected a chat, open the address of the application.</p>
</html>
`

// nowherePage is the page at an address where a Router has no agent.
const nowherePage = `<!doctype html>
<html lang="en">
<title>Holdpoint</title>
<h1>Holdpoint</h1>
<p>Here are agents that speak AG-UI, behind Holdpoint, a proxy for their questions.
Each has a path of its own, and this address is no agent's.</p>
<p>An application talks to an agent by sending a run to the agent's path, with POST. If you
expected a chat, open the address of the application.</p>
</html>
`
