// Package translate defines the interfaces between the proxy and the dialects. A Dialect translates
// the way in which one family of backends pauses a run and asks a person. Each Dialect has a folder
// of its own. translate/dialects lists them.
//
// The package has no knowledge of HTTP, the store or the interrupt contract, which belong to
// package proxy. A dialect sees events and answers. It is the only code that knows the formats of
// its backend.
package translate

import (
	"encoding/json"
	"iter"
	"strings"
	"time"

	"holdpoint/internal/agui"
)

// A Dialect translates between AG-UI's interrupts and one family of backends: it recognizes how a
// backend pauses a run, and writes the answers in the form that the backend expects. It holds no
// state of a run and is safe for concurrent use.
type Dialect interface {
	// Name is the name of the dialect in HOLDPOINT_DIALECT and in records.
	Name() string
	// Answers reads the answers out of a request, from resume or from the backend's own form, with
	// aliases applied. It returns nil if the request has no answers. An error is an *agui.RunError.
	// Answers need not check that the answers cover the pause, because the contract does. It is pure.
	// proxy calls it for every run, before it judges the request.
	//
	// p is the first of these that exists: the pause whose ids the request names, open or ended; the
	// open pause; the pause that ended last; a pause without ID. In the last case Answers returns an
	// answer in the backend's own form with its native id, or with "" if it names no id, and the
	// contract refuses the answer.
	Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error)
	// Begin starts an exchange. proxy calls it for every run that is admitted. It returns the request
	// to the backend, and the Run that translates the backend's answer. An error is an *agui.RunError.
	// It refuses the run before the thread is claimed and before anything is sent. r is read-only: a
	// dialect that needs a changed request copies it with Request.With or Request.Plain.
	Begin(r *Request) (Out, Run, error)
}

// A Signer is a Dialect that can recognize its backend in the events of a stream. Only auto uses
// it, and only while no dialect has claimed the stream, in runs without answers.
//
// The claim may come as late as the terminal event. The Run that Begin makes after the claim has
// been given RUN_STARTED and no other event of the stream. It reads the earlier events from the
// transcript (Call.StreamedInRun) and from End. A dialect that must see the whole stream implements
// Early.
type Signer interface {
	// Sign reports whether the event belongs to this dialect. It is pure. auto calls it for CUSTOM
	// events, MESSAGES_SNAPSHOT, the first RAW event and the terminal event. r.Transcript has the
	// stream up to this event.
	Sign(ev agui.Event, r *Request) bool
}

// A CallSigner is a Dialect that recognizes its backend by a tool call that the request does not
// declare. auto holds back the events of the call until every CallSigner has returned No, or one
// has returned Mine.
type CallSigner interface {
	// SignCall judges a tool call. It is pure. auto calls it
	//
	//  - for the events of the call itself;
	//  - for a CUSTOM event that follows the END of a call without a START;
	//  - for the events after an END, if the verdict at that END was HoldToEnd;
	//  - for the terminal event, once for every call that is held.
	//
	// c is the call as far as it has been received, including ev. Its ID is "" at an END without a
	// START.
	SignCall(ev agui.Event, c agui.Call, r *Request) Verdict
}

// A ToolOwner is a CallSigner whose backends ask by a tool of their own.
type ToolOwner interface {
	// Owns reports whether backends of the dialect ask by calling the tool. In a thread that is known
	// to speak the dialect, a call of the tool is the backend's, even if the request declares the
	// tool. It is pure.
	Owns(tool string) bool
}

// A Verdict is the result of CallSigner.SignCall.
type Verdict int

// No: the call does not belong to the dialect. Hold: the verdict follows when the call is complete.
// HoldToEnd: the verdict follows at the end of the run, and all events after the END of the call
// are held back until then. Mine: from this event on the stream belongs to the dialect.
const (
	No Verdict = iota
	Hold
	HoldToEnd
	Mine
)

// Show selects how a pause is reported to a client (HOLDPOINT_CLIENT).
type Show int

// ShowOutcome: only as the outcome of RUN_FINISHED. ShowBoth: as the outcome, and as a CUSTOM
// on_interrupt event. ShowNative: in the backend's own form, without anything that Holdpoint makes.
const (
	ShowOutcome Show = iota
	ShowBoth
	ShowNative
)

// A Request is one admitted run.
type Request struct {
	// Input is the client's request without the messages that carry the answers or repeat them, as
	// CopilotKit's messages do. ClientMessages are all messages that the client sent. A message is new
	// only if no message in ClientMessages has its id.
	Input          agui.RunInput
	ClientMessages []agui.Message
	Show           Show
	// AsksFirst reports that the client does not run a call that an interrupt names, even if it has a
	// tool of that name.
	AsksFirst bool
	// Transcript is live: it grows with the stream. A Run may keep it.
	Transcript agui.Transcript
	// Pause and Answers are set on a resume. Pause is the pause that is answered, and its ID is not
	// "". Answers has exactly one answer for each question, in the order of the pause. Every payload
	// is valid against its schema, unless the answer is marked OwnForm.
	Pause   agui.Pause
	Answers []agui.Answer
	// EndOnly reports that every answer is a cancel, and that the backend has stored an earlier
	// answer, which it would carry out instead of a new one. The dialect then ends the waiting run at
	// the backend without sending an answer. EndOnly is set only if the pause has CancelEnds.
	EndOnly bool
	// NewMessages are the messages that a resume brings in addition to its answers and that the record
	// does not have. It is empty if the run is not a resume.
	NewMessages []agui.Message
	// Sessions reports that the backend stores the conversation of each thread, because the operator
	// says so, or because the client has shown that it sends only new messages. It is set on a resume
	// only. Then Input has no messages except NewMessages, and a dialect whose backends do not
	// recognize messages by their ids sends no other messages.
	Sessions bool
	// EndedPauses are the earlier pauses of the thread that the record still has, newest first,
	// however they ended. The history may contain their calls without an answer. A Foreign also gets
	// failed pauses whose questions the record does not have. These have no Interrupts.
	EndedPauses []EndedPause
	// NamedInterrupts are interrupts that this request or earlier requests of the thread named and
	// that are not on record. Holdpoint may have been restarted since they were asked. Only the client
	// names them, so they need not exist.
	NamedInterrupts []string
	// Valid checks a payload against a responseSchema, as the contract did for the client's answers. A
	// nil payload counts as null. A dialect calls it for the payload that it makes of a cancelled
	// answer. A nil Valid means that nothing is checked.
	Valid func(schema, payload json.RawMessage) error
	// Backend is the backend of the dialect that the thread waited for, or that was last seen on the
	// path (Result.Backend). It is "" if unknown.
	Backend string
	// NewID returns a unique id, for a backend that must not get the client's id. If NewID is nil, the
	// client's id is used.
	NewID func() string
	// SharedRunID reports that another thread has a run with the same id in progress on the path, and
	// that the backend of the path is unknown. A backend that stores paused runs by run id alone would
	// mix up the two runs.
	SharedRunID bool
}

// An EndedPause is an earlier pause of a thread.
type EndedPause struct {
	agui.Pause
	// Failed reports that the pause was answered, and that the run with the answers ended in an error
	// or in doubt. The backend may still have the answers, and carry them out when it continues.
	Failed bool
}

// Plain returns the request as a run without answers: r itself if it has none, or else a copy.
func (r *Request) Plain() *Request {
	if r.Pause.ID == "" && r.Pause.Dialect == "" && len(r.Answers) == 0 && len(r.NewMessages) == 0 {
		return r // a stream keeps r, so no copy is made
	}
	plain := *r
	plain.Pause, plain.Answers, plain.NewMessages = agui.Pause{}, nil, nil
	return &plain
}

// With returns a copy of the request with the given Input and NewMessages.
func (r *Request) With(in agui.RunInput, messages []agui.Message) *Request {
	other := *r
	other.Input, other.NewMessages = in, messages
	return &other
}

// Out is a request to the backend. The zero value sends the client's request unchanged.
type Out struct {
	Method  string              // "" for the method of the client's request
	Path    string              // "" for the path of the client's request; otherwise relative to the address of the upstream
	Header  map[string][]string // set in addition to the client's headers; the names are canonical
	Body    []byte              // nil for the body of the client's request
	Resumes bool                // the request carries the answers; only such an exchange can end in doubt
	// TakesNew reports that the request contains the messages of Request.NewMessages, except those in
	// UnsentMessages. If the run pauses again, proxy reports MESSAGES_NOT_TAKEN for the messages that
	// were not sent.
	TakesNew       bool
	UnsentMessages []agui.Message
	// ReadOn reports that the answer is read to its end even if the client has left. Answers to
	// exchanges with Resumes are always read to the end. ReadOn is for a backend that pauses without
	// its client, so that its question is stored, and for a backend that fails on a hang-up.
	ReadOn bool
	None   bool // nothing is sent: RUN_STARTED and Run.End follow at once
	// Silence is how long the answer may send nothing after RUN_STARTED. Then the client's stream ends
	// as it does for any backend that is silent for too long. 0 selects the usual limit. It is for a
	// backend that never ends a stream in which it has nothing to send.
	Silence time.Duration
	// WithheldMessages are messages of the client that Body lacks, in the client's order. If the
	// backend sends its history back, the history lacks them too, and a client deletes what a snapshot
	// leaves out. So proxy adds them to the snapshots.
	WithheldMessages []WithheldMessage
}

// A WithheldMessage is a message of the client that was not sent to the backend, or was sent
// without some of its calls.
type WithheldMessage struct {
	Message agui.Message // as the client has it
	Calls   []string     // the ids of the calls that were not sent
	Whole   bool         // no part of the message was sent
	// Before has the ids of the messages that precede this message. The Before of an earlier
	// WithheldMessage is a prefix of it.
	Before []string
}

// A Run translates one exchange. proxy calls its methods from one goroutine: Event for each event
// in order, and then End exactly once.
type Run interface {
	// Event translates one event that is not terminal. It calls emit for each event that the client
	// gets in its place: the same event, another one, several, or none. ev is valid only during the
	// call, and an emitted event needs to be valid only during the call of emit. Clone what you keep.
	// An error ends the client's run.
	Event(ev agui.Event, emit func(agui.Event)) error
	// End translates the end of the exchange. An error is sent to the client as RUN_ERROR.
	End(e End) (Result, error)
}

// A Finder is a Dialect that detects which dialect a backend speaks, and reports it in
// Result.DetectedDialect. With any other Dialect the backend's dialect is known from the start.
type Finder interface {
	Dialect
	// Finds reports whether the Finder can detect the named dialect.
	Finds(dialect string) bool
	// Speaks returns the dialect that a backend speaks, or "" if unknown. found is the dialect that
	// was detected for the backend, or "" if none was.
	Speaks(found string) string
	// General reports whether the named dialect is a General that fits any backend.
	General(dialect string) bool
}

// FinderOf returns d as a Finder. If d is not a Finder, the result detects nothing, and Speaks
// always returns the name of d.
func FinderOf(d Dialect) Finder {
	if finder, finds := d.(Finder); finds {
		return finder
	}
	return fixedDialect{d}
}

type fixedDialect struct{ Dialect }

func (fixedDialect) Finds(string) bool { return false }

func (n fixedDialect) Speaks(string) string { return n.Name() }

func (fixedDialect) General(string) bool { return false }

// A General is a Dialect that can serve any backend with the interrupt outcome.
type General interface {
	// General reports whether the dialect asks what any backend with the interrupt outcome asks. Other
	// dialects read that outcome too, so its questions do not identify the framework.
	General() bool
}

// A Freer is a Dialect whose backends may still be waiting although the result of an answer is
// unknown.
type Freer interface {
	// Frees reports whether a cancel of the ended pause may be sent to the backend. It may if the
	// backend reads a cancel as a denial even after it carried out the answer. It is pure.
	Frees(p *agui.Pause) bool
}

// A Locker is a Freer some of whose backends accept no message while they wait, and no answer after
// a message.
type Locker interface {
	// Locks reports whether a message would block the thread forever if the backend still waits for an
	// answer to the ended pause. Then the cancel is sent before the message. It is pure.
	Locks(p *agui.Pause) bool
}

// A Reviver is a Freer that can tell from the id of a question how to deny it at the backend. So a
// question that is not on record can be cancelled once a client has named it.
type Reviver interface {
	// Revive returns a pause with the questions that have these ids. The ids are published ids or the
	// backend's own ids, as clients named them. Each question can only be cancelled. An id that no
	// backend of the dialect makes is left out, and the pause has no Interrupts if no id remains.
	// spoken is the dialect that the path is known to speak. It is pure.
	Revive(ids []string, spoken string) agui.Pause
}

// A Hinter is a Dialect whose backends have a protocol of their own in addition to AG-UI. Holdpoint
// passes that protocol on untranslated.
type Hinter interface {
	// Hint returns what an operator should know about requests to the path, or "". proxy logs it once.
	Hint(path string) string
}

// A Taker is a Dialect whose backends accept an incomplete RunAgentInput as a run or as an answer.
// Without a Taker, Holdpoint would pass such a body on as a request of another API.
type Taker interface {
	// Takes returns why a JSON object that is not a run must not reach a backend of the dialect, or ""
	// if it may. spoken is the dialect that was seen on its path, or "" if unknown.
	Takes(object []byte, spoken string) (why string)
}

// An Interpreter is a Dialect that recognizes words for yes and no that kit.Read does not.
type Interpreter interface {
	// Interpret reads answers to questions of the pause for the audit and other observers. read has
	// the result of kit.Read for each answer, and Interpret overwrites the elements that it can read
	// better. Its result does not affect what is sent to the backend. It is pure.
	Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading)
}

// A Subject is the action that a question is about. A field is zero if the question does not
// contain it.
type Subject struct {
	Name      string          // the name of the action or the tool
	Arguments json.RawMessage // the arguments with which it runs after an approval
}

// A Describer is a Dialect whose backends may accept any value as an answer. The operator then
// configures which values mean yes and no (package yesno).
type Describer interface {
	// Describe returns the subject of a question that has no responseSchema. It returns false if the
	// backend does not accept any value as the answer. It is pure.
	Describe(p agui.Pause, i *agui.Interrupt) (Subject, bool)
}

// An EarlyReader is a Dialect whose Run must see a stream from its first event, although the event
// that identifies its backend comes later.
type EarlyReader interface {
	// Early returns a Run for a run that no dialect has claimed yet. The Run is a Passer. It gets all
	// events that pass except CUSTOM events, and emits each of them unchanged. If the dialect claims
	// the stream, proxy continues with this Run instead of the one that Begin returned. If not, its
	// End is not called.
	Early(r *Request) Run
}

// A HistoryReader is a Dialect whose backend reads decisions from the messages of a request.
//
// proxy compares these replies with the record. A reply that names an open question
// (Interrupt.Keys) is its answer, unless the message existed before the question was asked
// (Pause.EarlierReplies). A reply that names an ended question is not used again. Any other reply
// is refused if it ends the request, and is removed if it does not. So the backend gets no decision
// that is not on record.
type HistoryReader interface {
	// Replies returns the decisions that a backend of this family could find in the messages, whoever
	// wrote them. spoken is the dialect of the thread's open question; if no question is open, the
	// dialect that the path is known to speak; or "" if unknown. Each reply names a message for which
	// MayReply is true. It is pure, and fast if there are no decisions.
	Replies(in agui.RunInput, spoken string) iter.Seq[Reply]
	// AnswerIn returns the answer that a reply in the message gives to question i: its status and
	// payload. i is a question of the dialect whose Keys include reply.Key. AnswerIn returns false if
	// the message does not answer the question, or is too old to answer it (Reply.TooLate). It is
	// pure.
	AnswerIn(m agui.Message, reply Reply, i agui.Interrupt) (agui.Answer, bool)
}

// MayReply reports whether a HistoryReader may name the message. Only a tool message or a message
// that is not plain can hold a decision.
func MayReply(m agui.Message) bool { return !m.Plain || strings.EqualFold(m.Role, "tool") }

// A Reply is a decision in a message.
type Reply struct {
	Dialect string // the dialect that read it; "" if that dialect could not have asked the question
	At      int    // the index of the message in RunInput.Messages
	Key     string // identifies the question: one of Interrupt.Keys, or a published id
	// ReaderState is what the HistoryReader needs back in AnswerIn, because a message may hold very
	// many decisions. Only the HistoryReader reads it.
	ReaderState json.RawMessage
	// Decides reports that the reply is a decision even if the question is not on record, because it
	// has the form of a decision, or because the history contains the call that asks. If Decides is
	// false, the message may be the result of an ordinary tool, and stays.
	Decides bool
	// DecidesUnlessResult reports that the reply is a decision, unless a question of the dialect was
	// about that call but was asked in another way. Then the message is the result of the call. A
	// stream may contain a result without its call.
	DecidesUnlessResult bool
	// DecidesUnlessLeft reports that the reply is a decision, unless a stream of the thread has left
	// the call to the client as a call of one of its own tools. The messages do not contain the call,
	// because a client need not send it.
	DecidesUnlessLeft bool
	// DecidesIfKnown reports that the reply is a decision if the question is on record, although the
	// request declares the tool: a declaration after the question does not make the call the client's.
	DecidesIfKnown bool
	// CallID is the id of the call that a refusal names. It is "" if the refusal speaks of an
	// approval.
	CallID string
	// Calls are the ids of the calls in the history that ask for the reply. If the decision is not
	// sent to the backend, these calls are removed too.
	Calls []string
	// Unclear reports that two backends could read the reply in two ways. It never answers a question.
	Unclear bool
	// TooLate reports that the backend would no longer look for an answer at this place. Then AnswerIn
	// decides whether it is one.
	TooLate bool
	// Replaces reports that the reply replaces an earlier reply to the same question, even if the two
	// differ. A reply that was refused stays in the history, and a new one follows it.
	Replaces bool
	// Keep reports that the message stays in the history once it is recorded as the answer. If false,
	// the message is removed, because some version of the backend would carry it out again.
	Keep bool
	// Rest is the message without its decisions, or nil if it contains nothing else.
	Rest *agui.Message
}

// A Continuer is a Dialect some of whose backends run all calls of a history that have no result as
// soon as the request brings the result of a call of a tool that it declares. They run a call even
// if nobody was asked about it.
//
// proxy removes such a call from its message, unless a stream of the agent has left it open in a
// run without a question, and unless the request declares its tool. Begin, not proxy, decides about
// the calls of the pause that a request answers.
type Continuer interface {
	// Continues reports whether a backend may do so in a thread of the given dialect. spoken is as in
	// HistoryReader.Replies, and backend as in Request.Backend. It is pure and fast.
	Continues(spoken, backend string) bool
}

// A Stateless is a Dialect some of whose backends keep nothing between two runs, and whose model
// providers refuse a history with a call that has no result. If Holdpoint loses a question, its
// call stays in the chat without a result, and nobody can answer it.
//
// proxy removes such a call from its message if a user's message follows it and a client of the
// chat has named a question whose id only such a backend makes, unless the request declares the
// tool of the call. Other messages are unchanged. If the dialect knows the backend, Begin removes
// the call.
type Stateless interface {
	// AsksUnder reports whether only a backend of this kind makes such a question id, and returns the
	// id of the call that the question is about. id is the backend's own id. spoken is as in
	// HistoryReader.Replies. It is pure and fast.
	AsksUnder(id, spoken string) (call string, asks bool)
	// KeepsNothing reports whether a backend of this kind made the pause. Such a backend reads the
	// question and the answer from each request, so it gets an answer on any thread that the client
	// names. Any other backend gets it on the thread that asked. It is pure.
	KeepsNothing(p *agui.Pause) bool
	// ReadsCalls reports whether the backend that made the pause gives its model the calls of each
	// request's messages. This is true of each backend that keeps nothing. It is pure.
	ReadsCalls(p *agui.Pause) bool
}

// A DecisionReader is a Dialect whose backends recognize a decision in a tool message by its
// content alone. So such a message can decide on a call that is not on record, because Holdpoint
// was restarted, or because somebody made the call up.
//
// proxy calls it for messages on calls that are not on record. It refuses such a decision at the
// end of a request, and makes it harmless if a user's message follows. A backend of another dialect
// may need the same message as its answer. So proxy passes a message on if a stream of the thread
// has left its call to the client, or if the request declares the tool of its call, where that is
// possible.
type DecisionReader interface {
	// ReadsDecisions reports whether Decides can return true in a thread of the given dialect. spoken
	// is as in Decides. It is pure and fast.
	ReadsDecisions(spoken string) bool
	// Decides reports whether a backend could read a tool message as a decision. last reports that no
	// user or assistant message follows it, because some backends look only there. spoken is the
	// dialect of the thread's question or of its path, or "" if unknown. It is pure, and fast if the
	// result is false.
	Decides(m agui.Message, last bool, spoken string) bool
	// Harmless returns the message with a content that no backend of the dialect reads as a decision.
	// The message is not the last one. It is pure.
	Harmless(m agui.Message) agui.Message
}

// A Passer is a Run that skips some events. A row of events that it skips is forwarded without
// calling Event for each. Any other Run gets every event.
type Passer interface {
	// Passes reports whether Event would emit each event of the type unchanged and would not change
	// the state of the Run, until Event is called with an event of another type. It returns false if
	// that depends on the event. The type Unknown stands for all events that agui does not list and
	// for those that proxy cannot parse. proxy does not ask about terminal events. It does not
	// allocate.
	Passes(t agui.Type) bool
}

// End is the way in which an exchange ended. At most one of Event, Status and None is set. If none
// of them is set, the stream ended without a terminal event, cleanly or by a cut.
type End struct {
	Event  agui.Event // the terminal event, if its Type is set
	Status int        // the status of an answer that is not an event stream: not 2xx, or 2xx with another media type
	Body   []byte     // the start of that answer's body, at most 64 KiB
	Cut    bool       // the stream broke off with an error; false for a clean end without a terminal event
	None   bool       // nothing was sent
	// Refused reports that the backend certainly did not accept the request, because there was no
	// connection or because of its Status.
	Refused bool
}

// A Result is the end of an exchange as the client sees it. proxy first saves the pause and then
// sends, in this order: HeldEvents, the pause's own events if the client is shown them, snapshots,
// Finish.
type Result struct {
	HeldEvents []agui.Event // events that were held back
	// Finish is the terminal event. For a pause it is RUN_FINISHED without an outcome; proxy adds the
	// outcome with the ids that it makes. If Finish is zero, proxy ends the run according to what it
	// saw, with RUN_ERROR if the stream had no terminal event.
	Finish agui.Event
	// Asked is the pause, if it has Interrupts.
	Asked AskedPause
	// Failed reports that the exchange failed although Asked has questions that are still open. proxy
	// sends the questions, and then the reason: Fate, the backend's error, or how the stream ended.
	Failed bool
	// Fate is the outcome of the answers if the run did not pause. proxy ignores it if Next or Asked
	// is set.
	Fate Fate
	// DetectedDialect is the dialect that a Finder detected in the stream. It is the dialect of the
	// pause if the run paused, and of the route from then on. It is "" if nothing new was detected. A
	// dialect sets its own name if it refuses the question that the stream asks.
	DetectedDialect string
	// Backend identifies the backend of the dialect that made the stream, in a word of the dialect's
	// own. Later requests get it as Request.Backend. It is "" if they do not need it.
	Backend string
	// UnacceptedMessages are messages of a run without answers that the backend did not accept,
	// because it was already waiting. They count as new input when they are sent again with the
	// answers.
	UnacceptedMessages []agui.Message
	Next               *Exchange // another exchange in the same client run and claim; the client gets neither this end nor the next RUN_STARTED
}

// Warn writes a log line of level WARN for the operator.
type Warn func(msg string, args ...any)

// AskedPause is a pause as a dialect returns it. proxy makes the ids, saves the pause and sends it
// to the client. proxy owns everything that it holds.
type AskedPause struct {
	Interrupts []agui.Interrupt
	Private    json.RawMessage // returned to the dialect as Request.Pause.Private
	// KeepsFirstAnswer reports that the backend stores the first answer to a question, and uses it
	// again whenever the question is asked again.
	KeepsFirstAnswer bool
	// FirstAsked reports that this run itself asked the questions, so that the backend has not stored
	// an answer to them. It is for questions whose ids do not distinguish them from earlier questions
	// with the same text.
	FirstAsked bool
	// CancelEnds reports that the dialect can end the waiting run without an answer (Request.EndOnly).
	// So a cancel of every question takes effect although the backend has stored another answer.
	CancelEnds bool
	// NativeEvents are the events by which the backend itself announced the pause, and NativeFinish is
	// its terminal event. proxy sends them to a client that is shown the backend's form, also when the
	// client asks for the pause again. A dialect whose form is not on_interrupt sets them only for
	// such a client (ShowNative).
	NativeEvents []json.RawMessage
	NativeFinish json.RawMessage
	// NativeShown reports that the client already has the events in NativeEvents.
	NativeShown bool
}

// Pause returns the pause as it is stored in the record, before proxy gives it ids.
func (a AskedPause) Pause(dialect string) agui.Pause {
	return agui.Pause{
		Dialect: dialect, Interrupts: a.Interrupts, Private: a.Private, KeepsFirstAnswer: a.KeepsFirstAnswer, FirstAsked: a.FirstAsked, CancelEnds: a.CancelEnds, Native: a.NativeEvents, NativeFinish: a.NativeFinish,
	}
}

// Fate is the outcome of the answers that were sent. It is meaningless for a run without answers.
type Fate int

// Finished: the run ended as Finish describes. Untouched: the error in Finish proves that the
// backend did nothing, so the claim is released. Lost: the backend no longer has the question
// (BACKEND_LOST_INTERRUPT). InDoubt: the stream does not show whether what was approved was carried
// out (RESUME_IN_DOUBT).
const (
	Finished Fate = iota
	Untouched
	Lost
	InDoubt
)

// An Exchange is one request to the backend, and the Run that translates its answer.
type Exchange struct {
	Out Out
	Run Run
}
