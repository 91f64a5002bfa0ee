package tell

import (
	"slices"

	"holdpoint/internal/agui"
)

// The texts of this room, in one place: what a person reads in a chat when a run is refused or
// fails. Each says what happened, what stands, and what he can do. Those of an answer that came too
// late are in standing.go. They are in English, whatever the request accepts: a chat has a language
// of its own, which no header tells, and a page that speaks another words them by the code.
//
// The table of codes in docs/errors.md is made from it (TestErrorsTable).

// An Aftermath is what became of the answers of a stream that failed.
type Aftermath int

const (
	HandedOn    Aftermath = iota // the backend has them, and has ended its run
	NothingDone                  // the backend did nothing, or was not asked
	MayHaveRun                   // nobody knows
	GoesOn                       // the backend is at it still
)

// doubt is the consequence of what may have run.
const doubt = " What was approved may or may not have been done. Please check before you ask for it again."

// consequences are the sentences that say what became of the answers.
var consequences = map[Aftermath]string{
	NothingDone: " Nothing was done.",
	MayHaveRun:  doubt,
	GoesOn:      " It may still be at work. Please look again later.",
}

// generalText is the text of an error of the backend's own.
const generalText = "The agent has ended with an error."

// contradictionText is that of a request whose answers contradict each other.
const contradictionText = "Two different answers to one question came together, so nothing was done. Please answer again."

// A codeText has the texts of one code.
type codeText struct {
	code agui.Code
	says string // to the person
	// whole reports that it says all. Otherwise a sentence on what became of the answers follows.
	whole    bool
	happened string // for whoever builds or runs the client, in docs/errors.md
	remedy   string // what they can do
}

// codeTexts lists the codes of Holdpoint's own errors.
var codeTexts = []codeText{
	{agui.PendingInterrupts, "Please answer the open question first. Your message was not handed on.", true,
		"new input came while something is open",
		"answer what it is told with `resume`, with the message beside it; or cancel all of it"},
	{agui.PartialResume, "Please answer all open questions. Nothing was done.", true,
		"an open interrupt is not answered",
		"send one `resume` with all of them"},
	{agui.UnknownInterruptID, "This question is not open any more. Nothing was done with the answer.", true,
		"an id is not open here; if it looks like one of Holdpoint's and the record knows nothing of it, the text says what may be the reason, such as a restart with `memory://`. To a client of .NET's it says how the application keeps its thread; or an answer came in `command.resume` on a thread that waits for nothing",
		"forget the id. A run without `resume` and without a new message is told what is open"},
	{agui.ResumeConflict, "This question has another answer already, and that one counts. Yours was not used.", true,
		"other answers came for a pause that is being resumed or has ended; or the request contradicts itself (`resume` and another form of the answer, or two answers to one question); or the backend keeps an earlier answer to the same question",
		"nothing: the first answer counts. Reload the thread"},
	{agui.ResumeInProgress, "An answer is being carried out. Please wait until that has ended.", true,
		"a resume runs, and this is not the same answers",
		"wait for its end"},
	{agui.ResumeInDoubt, "The agent got the answer, and nobody knows what became of it." + doubt, true,
		"the answers were sent, and nobody saw how that ended",
		"let a person look whether it happened. The next message is an ordinary one; the same answers are not sent again"},
	{agui.InvalidPayload, "The answer does not have the form that the question asks for. Nothing was done. Please answer again.", true,
		"the payload does not fit the schema, is too much to judge, or cannot be said to the backend",
		"correct it, or send `cancelled`; the pause is open"},
	{agui.ApprovalUncertain, "It is not certain what a yes would carry out, so nothing was done. Please deny or cancel it, or load this page again.", true,
		"Holdpoint cannot say what a yes would run: the messages hold the call more than once or ambiguously, or it was too large to be kept ([contract](contract.md#what-was-shown-is-what-runs))",
		"approve with the messages as they were told, or with none; or deny, or cancel"},
	{agui.ApprovalAmbiguous, "One answer could count for several actions here, so nothing was done. Please deny or cancel it.", true,
		"the backend would give the answer to whichever of several calls asks first (LangGraph: tools of one `ToolNode` that run at once), and it is not a denial. The interrupt's `metadata.langgraph.parallel` has those calls. Or [another run](contract.md#two-ordinary-runs-of-one-thread) may have asked since",
		"deny or cancel it; the pause is open. Let the agent make one call at a time"},
	{agui.InterruptExpired, "The time for an answer is over, so nothing was done. The question can only be cancelled.", true,
		"`resolved` came after `expiresAt`",
		"send `cancelled`"},
	{agui.BackendLostInterrupt, "The agent does not know this question any more. Nothing was done with the answer. Please ask it again.", true,
		"the stream shows that this answer reached nobody who asked: the backend does not know the pause any more (it was restarted, or its thread was deleted). If that is not certain, the code is `RESUME_IN_DOUBT`",
		"ask again with an ordinary message; this answer approved nothing"},
	{agui.ThreadBusy, "Another run of this conversation is not over yet. Please try again when it is.", false,
		"a run asks something while another question of its thread is open; or a client has left a run that goes on without it: one of Strands or superagent, or any with `HOLDPOINT_ON_DISCONNECT=finish`; or the backend says so",
		"answer that question; try again when the run has ended"},
	{agui.ThreadForbidden, "This conversation belongs to somebody else. Nothing was done. Please begin a new one.", true,
		"the thread is another principal's ([contract](contract.md#who-may-answer))",
		"take another thread id, or log in as who began the thread"},
	{agui.MessagesNotTaken, "The agent does not take a message of this kind. Please send it as text.", false,
		"in RUN_FINISHED's `metadata.holdpoint.code`: the message beside the answers was not sent, because the run paused again or the backend takes no such message. In RUN_ERROR: the backend takes no run of these messages ([superagent](superagent.md), Strands: the last one is not a user's, or has a picture)",
		"after a pause send it again with the next answers; else send it as text"},
	{agui.StoreUnavailable, "What this conversation waits for cannot be looked up at the moment. Please try again later.", false,
		"nobody can say what the thread waits for. With `HOLDPOINT_STORE_OUTAGE=pass` only a run with answers gets it, or one that asks something ([contract](contract.md#while-the-store-is-away))",
		"try again later; the backend was not called, or its end is in doubt"},
	{agui.StoreFull, "The agent has another question, and there is no room to keep it. Please try again later.", false,
		"the run asks something, and there is no room: as many threads wait as the store holds, or as many bytes, or the questions of this address have their share",
		"try again later; no open question was dropped. `HOLDPOINT_STORE_ENTRIES`, `HOLDPOINT_STORE_BYTES`, `HOLDPOINT_ADDRESS_SHARE`"},
	{agui.AuditUnavailable, "An answer cannot be written down at the moment. Please try again later.", false,
		"an answer cannot be written down, and `HOLDPOINT_AUDIT_REQUIRED` wants it to be ([audit](audit.md#when-it-cannot-be-written))",
		"try again later; the backend was not called, and the question is open"},
	{agui.PauseTooLarge, "The agent has another question, and it is too large to be shown. Please tell whoever runs this service.", false,
		"the run asks what cannot be told: more than 4,096 questions, more bytes than four frames of `HOLDPOINT_MAX_FRAME_BYTES`, or something while more is open in its stream than is kept",
		"nobody was asked anything; let the backend ask less at once"},
	{agui.UpstreamUnreachable, "The agent cannot be reached. Please try again later.", false,
		"there is no connection to the backend",
		"try again; a pause is open as before"},
	{agui.UpstreamStatus, "The agent's server turned the request down.", false,
		"the backend answered 2xx without an event stream, or turned a resume or a later request of the same run down",
		"look at the backend"},
	{agui.UpstreamEOF, "The connection to the agent broke off.", false,
		"the stream ended without a terminal event, or broke off",
		"a plain run can be sent again. A resume may have been carried out, and the text says so"},
	{agui.UpstreamIdle, "The agent has not said anything for a long time.", false,
		"the backend was silent for `HOLDPOINT_STREAM_IDLE_TIMEOUT`",
		"as `UPSTREAM_EOF`; a resume runs on for `HOLDPOINT_RESUME_IDLE_GRACE` (15m), and the same answers wait for its end. Then they are in doubt"},
	{agui.FrameTooLarge, "The agent has sent more at once than can be shown. Please tell whoever runs this service.", false,
		"an event is over `HOLDPOINT_MAX_FRAME_BYTES`; or a question or an end is nested deeper than 1,000, so that nobody could hold it",
		"raise the bound; a resume is in doubt"},
	{agui.UnsupportedEncoding, "The agent's reply cannot be read. Please tell whoever runs this service.", false,
		"the stream is compressed, and neither with gzip nor deflate",
		"let the backend send it plain; a resume is in doubt"},
	{agui.ClientLeft, "The connection was closed before this was handed on. Nothing was done. Please send it again.", true,
		"the client closed its side of the connection before anything was sent to the backend. A client that closed its sending side only reads this",
		"send it again, and keep the connection open; a pause is open as before"},
	{agui.ProxyDraining, "The service is being restarted. Please try again in a moment.", false,
		"Holdpoint shuts down",
		"send it again; a resume is in doubt"},
	{agui.InternalError, "Something went wrong between this page and the agent. Please tell whoever runs this service.", false,
		"Holdpoint itself failed: its dialect panicked, or gave an error that it must not give. The log says where",
		"tell whoever runs it. A pause is open as before. If the answers may have been sent, it is in doubt"},
}

// dialectTexts lists the codes that single dialects send. The agent failed, or its server did not
// send what Holdpoint needs.
var dialectTexts = []codeText{
	{"AGENT_FRAMEWORK_TOO_OLD", "The agent needs an approval, and its server is too old to ask for one. Please tell whoever runs this service.", false,
		"the agent asks for an approval, and its server runs `agent-framework-ag-ui` before 1.0.0rc7 ([microsoft.md](microsoft-python.md#before-100rc7)). The call was not run",
		"let its server install 1.0.0rc7 or later. The next message is an ordinary one"},
	{"STRANDS_INTERRUPT_LOST", "The agent waits for the answer to a question that is not known here. Please tell whoever runs this service, or begin a new conversation.", false,
		"a Strands agent stopped to ask, or waits for an answer, and its server did not send the question. RUN_ERROR's `message` says what the server should send",
		"mend the server; go on in another thread"},
	{"STRANDS_INTERRUPT_UNREADABLE", "The agent has another question, and it cannot be read here. Please tell whoever runs this service.", false,
		"a Strands agent's questions cannot be read from its stream, or are too many",
		"let the server send `result.interrupts` as JSON"},
	{"STRANDS_ERROR", "The agent could not finish its work because of an error. Please tell whoever runs this service.", false,
		"a Strands agent failed. RUN_ERROR's `message` is the agent's own",
		"mend what the message names"},
	{"STRANDS_FORCE_STOP", "The agent gave up its work because a part of it failed. Please tell whoever runs this service.", false,
		"a Strands agent's event loop gave up because a hook or a model failed. RUN_ERROR's `message` is the agent's own",
		"mend what the message names"},
}

// textOf has both tables by code.
var textOf = func() map[agui.Code]*codeText {
	by := make(map[agui.Code]*codeText, len(codeTexts)+len(dialectTexts))
	for _, table := range [][]codeText{codeTexts, dialectTexts} {
		for n := range table {
			by[table[n].code] = &table[n]
		}
	}
	return by
}()

// NeedsAftermath reports whether the code is one of Holdpoint's own errors whose text does not say
// what happened to the answers.
func NeedsAftermath(code agui.Code) bool {
	return slices.ContainsFunc(codeTexts, func(c codeText) bool { return c.code == code && !c.whole })
}

// textFor returns what a person is told of a code. A code that is not known is the backend's own.
func textFor(code agui.Code, became Aftermath) string {
	text := textOf[code]
	switch {
	case text == nil:
		return generalText + consequences[became]
	case text.whole:
		return text.says
	}
	return text.says + consequences[became]
}
