package tell

import (
	"slices"

	"holdpoint/internal/agui"
)

// These are the texts that a person reads in a chat when a run is refused or fails. Each text says
// what happened, what the state of the question is, and what the person can do. All texts are in
// English, whatever Accept-Language says, because no header says which language the chat uses. A
// page in another language can show its own text for the code.
//
// The table of codes in docs/errors.md is made from these tables (TestErrorsTable).

// An Aftermath says what became of the answers of a run whose stream failed.
type Aftermath int

const (
	AnswersDelivered Aftermath = iota // the backend received the answers, and its run has ended
	NothingDone                       // the backend did nothing, or it got no request
	MayHaveRun                        // it is not known whether the backend acted on the answers
	StillRunning                      // the backend may still be working on the answers
)

// doubtSentence is the sentence for the person if the approved action may or may not have run.
const doubtSentence = " What was approved may or may not have been done. Please check before you ask for it again."

// consequences has, for each Aftermath, the sentence that ends an error text.
var consequences = map[Aftermath]string{
	NothingDone:  " Nothing was done.",
	MayHaveRun:   doubtSentence,
	StillRunning: " It may still be at work. Please look again later.",
}

// generalText is the text for an error that the backend itself reported.
const generalText = "The agent has ended with an error."

// contradictionText is the text for a request whose answers contradict each other.
const contradictionText = "Two different answers to one question came together, so nothing was done. Please answer again."

// A codeText has the texts about an error code.
type codeText struct {
	code agui.Code
	says string // the text for the person
	// whole means that says is the complete text. If it is false, a sentence of consequences
	// follows.
	whole    bool
	happened string // for developers and operators of the client, in docs/errors.md
	remedy   string // what developers and operators can do
}

// codeTexts lists the codes of Holdpoint's own errors.
var codeTexts = []codeText{
	{agui.PendingInterrupts, "Please answer the open question first. Your message was not handed on.", true,
		"the request has new input while a question is open",
		"answer the questions that the response lists with `resume`, together with the message; or cancel all of them"},
	{agui.PartialResume, "Please answer all open questions. Nothing was done.", true,
		"the request answers some of the open interrupts, and not all",
		"send one `resume` with all of them"},
	{agui.UnknownInterruptID, "This question is not open any more. Nothing was done with the answer.", true,
		"the request names an interrupt that is not open on this thread, or brings an answer in `command.resume` while the thread waits for none. If the id has Holdpoint's form and no record has it, the message names a likely reason, such as a restart with `memory://`. A client of .NET is told how the application keeps its thread",
		"forget the id. Send a run without `resume` and without a new message: the response lists what is open. If nothing is open, this is an ordinary run"},
	{agui.ResumeConflict, "This question has another answer already, and that one counts. Yours was not used.", true,
		"the question is being resumed with other answers, or was answered differently before. Or the request contradicts itself: it has `resume` and another form of the answer, or two answers to one question. Or the backend keeps an earlier answer to the same question",
		"nothing: the first answer counts. Show the text, which says who answered what; reload the thread"},
	{agui.ResumeInProgress, "An answer is being carried out. Please wait until that has ended.", true,
		"a resume of the thread is running, and this request does not have the same answers",
		"wait until that run has ended"},
	{agui.ResumeInDoubt, "The agent got the answer, and nobody knows what became of it." + doubtSentence, true,
		"the answers were sent to the backend, and the end of that run was not seen",
		"have a person check whether the action happened. The next message starts an ordinary run; the same answers are not sent again"},
	{agui.InvalidPayload, "The answer does not have the form that the question asks for. Nothing was done. Please answer again.", true,
		"the payload does not fit the schema, is too large to be checked, or has no form that the backend accepts",
		"correct the payload, or send `cancelled`; the question is still open"},
	{agui.ApprovalUncertain, "It is not certain what a yes would carry out, so nothing was done. Please deny or cancel it, or load this page again.", true,
		"Holdpoint cannot tell which call a yes would run: the messages hold the call more than once or ambiguously, or it was too large to be kept ([contract](contract.md#what-was-shown-is-what-runs))",
		"approve with the messages as the stream showed them, or without messages; or deny, or cancel"},
	{agui.ApprovalAmbiguous, "One answer could count for several actions here, so nothing was done. Please deny or cancel it.", true,
		"the backend would give the answer to whichever of several calls asks first (LangGraph: tools of one `ToolNode` that run at once), and it is not a denial. The interrupt's `metadata.langgraph.parallel` has those calls. Or [another run](contract.md#two-ordinary-runs-of-one-thread) may have raised a question since",
		"deny or cancel it; the question is still open. Have the agent make one call at a time"},
	{agui.InterruptExpired, "The time for an answer is over, so nothing was done. The question can only be cancelled.", true,
		"the request has `resolved`, and `expiresAt` is past",
		"send `cancelled`"},
	{agui.BackendLostInterrupt, "The agent does not know this question any more. Nothing was done with the answer. Please ask it again.", true,
		"the stream shows that the backend does not know the pause any more, so the answer had no effect: it was restarted, or its thread was deleted. If that is not certain, the code is `RESUME_IN_DOUBT`",
		"send an ordinary message, so that the agent can ask again; this answer approved nothing"},
	{agui.ThreadBusy, "Another run or another question of this conversation is still open. Please answer that question, or try again later.", false,
		"a run raises a question while another question of its thread is open; or a client has left a run that continues without it: one of Strands or superagent, or any with `HOLDPOINT_ON_DISCONNECT=finish`; or the backend reports that the thread is busy",
		"answer the open question, or try again when the other run has ended"},
	{agui.ThreadForbidden, "This conversation belongs to somebody else. Nothing was done. Please begin a new one.", true,
		"the thread is another principal's ([contract](contract.md#who-may-answer))",
		"use another thread id, or log in as the user who began the thread"},
	{agui.MessagesNotTaken, "The agent does not take a message of this kind. Please send it as text.", false,
		"the code is in RUN_FINISHED's `metadata.holdpoint.code`, and not in a `refusal`, if the message that came with the answers was not sent, because the run paused again or the backend accepts no such message. It is in RUN_ERROR if the backend accepts no run with these messages ([superagent](superagent.md), Strands: the last one is not a user's, or has a picture)",
		"after a pause, send the message again with the next answers; otherwise send it as text"},
	{agui.StoreUnavailable, "The open questions of this conversation cannot be looked up at the moment. Please try again later.", false,
		"the store cannot be asked, so it is not known whether the thread waits for an answer. With `HOLDPOINT_STORE_OUTAGE=pass` only a run with answers gets this code, or one that raises a question ([contract](contract.md#while-the-store-is-away))",
		"a run without answers: try again later. A resume: send the same answers again later. They are sent to the agent once; if they were sent already, the response is their end, or `RESUME_IN_DOUBT`"},
	{agui.StoreFull, "The agent has another question, and there is no room to keep it. Please try again later.", false,
		"the run raises a question, and the store has no room for it: its limit of open questions or of bytes is reached, or this client address has used up its share",
		"try again later; no open question was dropped. The limits are `HOLDPOINT_STORE_ENTRIES`, `HOLDPOINT_STORE_BYTES`, `HOLDPOINT_ADDRESS_SHARE`"},
	{agui.AuditUnavailable, "An answer cannot be written down at the moment. Please try again later.", false,
		"the audit log cannot be written, and `HOLDPOINT_AUDIT_REQUIRED` is set ([audit](audit.md#when-it-cannot-be-written))",
		"try again later; the backend was not called, and the question is open"},
	{agui.PauseTooLarge, "The agent has another question, and it is too large to be shown. Please tell whoever runs this service.", false,
		"the run raises more than 4,096 questions at once, or questions of more bytes than four frames of `HOLDPOINT_MAX_FRAME_BYTES`; or more messages and calls are open in its stream than Holdpoint keeps",
		"the person was asked nothing; have the backend ask less at once"},
	{agui.UpstreamUnreachable, "The agent cannot be reached. Please try again later.", false,
		"Holdpoint cannot connect to the backend",
		"send it again; an open question stays open"},
	{agui.UpstreamStatus, "The agent's server turned the request down.", false,
		"the backend answered 2xx without an event stream, or refused a resume or a later request of the same run",
		"look at the backend's log. If the text for the person says that an approved action may have happened, check that before it is approved again"},
	{agui.UpstreamEOF, "The connection to the agent broke off.", false,
		"the backend's stream ended without a terminal event, or broke off",
		"a run without answers: send it again. A resume: the action may have happened, and then the text for the person says so. Have a person check it; Holdpoint does not send the same answers again"},
	{agui.UpstreamIdle, "The agent has not said anything for a long time.", false,
		"the backend was silent for `HOLDPOINT_STREAM_IDLE_TIMEOUT`. Or the client has left a run that continues without it, and the run did not end within an hour; RUN_ERROR's `message` says which",
		"a run without answers: send it again. A resume continues for `HOLDPOINT_RESUME_IDLE_GRACE` (15m): send the same answers again, and that request waits for its end. After that the answers are in doubt"},
	{agui.FrameTooLarge, "The agent has sent more at once than can be shown. Please tell whoever runs this service.", false,
		"an event is larger than `HOLDPOINT_MAX_FRAME_BYTES`; or a question, or the end of a run, is nested deeper than 1,000, so that Holdpoint cannot read it",
		"raise the limit; the answers of a resume are in doubt"},
	{agui.UnsupportedEncoding, "The agent's reply cannot be read. Please tell whoever runs this service.", false,
		"the stream is compressed with something other than gzip or deflate",
		"have the backend send it uncompressed; the answers of a resume are in doubt"},
	{agui.ClientLeft, "The connection was closed before your message reached the agent. Nothing was done. Please send it again.", true,
		"the client closed its side of the connection before anything was sent to the backend. Only a client that still reads sees this",
		"send it again, and keep the connection open; an open pause stays open"},
	{agui.ProxyDraining, "The service is being restarted. Please try again in a moment.", false,
		"Holdpoint shuts down",
		"a run without answers: send it again. A resume: send the same answers again. If the agent had not got them, they are sent now. Otherwise the response is `RESUME_IN_DOUBT`, and a person must check whether the action happened"},
	{agui.InternalError, "Something went wrong between this page and the agent. Please tell whoever runs this service.", false,
		"Holdpoint itself failed: its dialect panicked, or returned an error that it must not return. The log says where",
		"tell the operator of Holdpoint. An open pause stays open, unless the answers may have been sent: then they are in doubt"},
}

// dialectTexts lists the codes that only one dialect sends. They mean that the agent failed, or
// that its server did not send what Holdpoint needs.
var dialectTexts = []codeText{
	{"AGENT_FRAMEWORK_TOO_OLD", "The agent needs an approval, and its server is too old to ask for one. Please tell whoever runs this service.", false,
		"the agent asks for an approval, and its server runs `agent-framework-ag-ui` before 1.0.0rc7 ([microsoft-python.md](microsoft-python.md#before-100rc7)). The call was not run",
		"install 1.0.0rc7 or later on its server. The next message starts an ordinary run"},
	{"STRANDS_INTERRUPT_LOST", "The agent waits for the answer to a question that is not known here. Please tell whoever runs this service, or begin a new conversation.", false,
		"a Strands agent stopped to ask, or waits for an answer, and its server did not send the question. RUN_ERROR's `message` says what the server should send",
		"correct the server; continue in another thread"},
	{"STRANDS_INTERRUPT_UNREADABLE", "The agent has another question, and it cannot be read here. Please tell whoever runs this service.", false,
		"a Strands agent's questions cannot be read from its stream, or are too many",
		"have the server send `result.interrupts` as JSON"},
	{"STRANDS_ERROR", "The agent could not finish its work because of an error. Please tell whoever runs this service.", false,
		"a Strands agent failed. RUN_ERROR's `message` is the agent's own",
		"correct what the message names"},
	{"STRANDS_FORCE_STOP", "The agent gave up its work because a part of it failed. Please tell whoever runs this service.", false,
		"a Strands agent's event loop gave up because a hook or a model failed. RUN_ERROR's `message` is the agent's own",
		"correct what the message names"},
}

// textOf has the entries of codeTexts and dialectTexts, each under its code.
var textOf = func() map[agui.Code]*codeText {
	by := make(map[agui.Code]*codeText, len(codeTexts)+len(dialectTexts))
	for _, table := range [][]codeText{codeTexts, dialectTexts} {
		for n := range table {
			by[table[n].code] = &table[n]
		}
	}
	return by
}()

// NeedsAftermath reports whether the code is one of Holdpoint's own errors, and its text does not
// say by itself what happened to the answers.
func NeedsAftermath(code agui.Code) bool {
	return slices.ContainsFunc(codeTexts, func(c codeText) bool { return c.code == code && !c.whole })
}

// textFor returns the text for a person about an error code. If the code is unknown, it is the
// backend's own, and the text is generalText.
func textFor(code agui.Code, aftermath Aftermath) string {
	text := textOf[code]
	switch {
	case text == nil:
		return generalText + consequences[aftermath]
	case text.whole:
		return text.says
	}
	return text.says + consequences[aftermath]
}

// The texts about an answer that was too late: what counts, since when, where and by whom, and that
// the answer of the request was not used. The last placeholder of the first four is one of the
// sentences that begin with "unused".
const (
	standKept         = "The agent keeps the first answer to this question, and would act on that whatever is said now. %s You can give the first answer again, or cancel."
	standClosed       = "This question was closed without an answer %s. %s"
	standClosedByTime = "Nobody answered this question in time, and it was closed %s. %s"
	standCarried      = "Another answer is being carried out. %s"
	standAnswered     = "This was answered %s"
	standOne          = "This was %s"
	standSame         = "These were %s"
	standParts        = "Of %d questions %s"
	standPartOne      = "%d was %s"
	standPart         = "%d were %s"
	standJoin         = ", and "
	standGoesOn       = ", and that is being carried out"
	standFailed       = ", and the agent's run ended with an error"

	unusedAnswers = "Your answers were not used."
	unusedAnswer  = "Your %s was not used."

	nounCancellation = "cancellation"
	nounApproval     = "approval"
	nounDenial       = "denial"
	nounAnswer       = "answer"

	answerCancelled = "cancelled"
	answerAnswered  = "answered"
	answerAtDesk    = " at the desk"
	answerInChat    = " in this chat"
	answerElsewhere = " elsewhere"
	answerBy        = " by %s"

	timeUnknown  = "already"
	timeToday    = "at 15:04 UTC"                   // a layout of time.Format
	timeOtherDay = "on 2 January 2006 at 15:04 UTC" // a layout of time.Format
)
