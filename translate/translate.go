// Package translate defines the interfaces between package proxy and the dialects. Each family of
// backends pauses a run and asks a person in its own way, and a Dialect translates this way. Each
// Dialect has a folder of its own. translate/dialects lists them.
//
// The package has no knowledge of HTTP, the store or the interrupt contract. These belong to
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

// A Dialect translates between AG-UI's interrupts and one family of backends. It recognizes how a
// backend pauses a run, and writes the answers in the form that the backend expects. It holds no
// state of a run and is safe for concurrent use.
type Dialect interface {
	// Name returns the name of the dialect in HOLDPOINT_DIALECT and in records.
	Name() string
	// Answers returns the answers in a request. It reads them from resume or from the backend's own
	// form, and replaces aliases. It returns nil if the request has no answers. An error is an
	// *agui.RunError. Answers need not check that each question of the pause has an answer, because
	// the contract checks this. Answers is pure. proxy calls it for every run, before it judges the
	// request.
	//
	// The parameter p is the first of these pauses that exists:
	//
	//   - the pause whose ids the request names, open or ended
	//   - the open pause
	//   - the pause that ended last
	//   - a pause without ID
	//
	// If p has no ID, Answers returns an answer in the backend's own form with its native id, or
	// with "" if the answer has no id. The contract then refuses this answer.
	Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error)
	// Begin starts an exchange. proxy calls it for every run that is admitted. It returns the
	// request to the backend, and the Run that translates the backend's response. An error is an
	// *agui.RunError. An error refuses the run before the thread is claimed and before anything is
	// sent. r is read-only. If a dialect needs a changed request, it copies r with Request.With or
	// Request.Plain.
	Begin(r *Request) (Out, Run, error)
}

// A Signer is a Dialect that can recognize its backend by the events of a stream. Only the dialect
// auto uses it, only in runs without answers, and only while no dialect has claimed the stream.
//
// A Signer may claim the stream as late as the terminal event. After the claim, auto calls Begin.
// The Run that Begin returns gets RUN_STARTED, but not the other events before the claim. It reads
// those from the transcript (Call.StreamedInRun) and in its method End. A dialect that must see the
// whole stream implements EarlyReader.
type Signer interface {
	// Sign reports whether the event shows that the stream belongs to this dialect. It is pure.
	// auto calls it for CUSTOM events, MESSAGES_SNAPSHOT, the first RAW event and the terminal
	// event. r.Transcript has the stream up to this event.
	Sign(ev agui.Event, r *Request) bool
}

// A CallSigner is a Dialect that recognizes its backend by a tool call whose tool the request does
// not declare. auto holds back the events of the call until every CallSigner has returned No, or
// one has returned Mine.
type CallSigner interface {
	// SignCall returns the verdict on a tool call. It is pure. auto calls it
	//
	//  - for the events of the call itself;
	//  - for a CUSTOM event that follows the END of a call without a START;
	//  - for the events after an END, if the verdict at that END was HoldToEnd;
	//  - for the terminal event, once for every call that is held.
	//
	// c has what has been received of the call so far, including ev. Its ID is "" at an END without
	// a START.
	SignCall(ev agui.Event, c agui.Call, r *Request) Verdict
}

// A ToolOwner is a CallSigner for backends that ask by a tool of their own.
type ToolOwner interface {
	// Owns reports whether backends of the dialect ask by calling this tool. It is pure. If a
	// thread is known to speak the dialect, a call of the tool is the backend's question, even if
	// the request declares the tool.
	Owns(tool string) bool
}

// A Verdict is the result of CallSigner.SignCall.
type Verdict int

// No means that the call does not belong to the dialect. Hold means that the dialect decides when
// the call is complete. HoldToEnd means that it decides at the end of the run; all events after the
// END of the call are held back until then. Mine means that the stream belongs to the dialect from
// this event on.
const (
	No Verdict = iota
	Hold
	HoldToEnd
	Mine
)

// Show selects the form in which a pause is reported to a client (HOLDPOINT_CLIENT).
type Show int

// ShowOutcome reports a pause only as the outcome of RUN_FINISHED. ShowBoth reports it as the
// outcome, and as a CUSTOM on_interrupt event. ShowNative reports it in the backend's own form, and
// adds nothing of Holdpoint.
const (
	ShowOutcome Show = iota
	ShowBoth
	ShowNative
)

// A Request is one admitted run.
type Request struct {
	// Input is the client's request. It lacks messages that carry the answers or repeat them, as
	// CopilotKit's messages do. ClientMessages are all messages that the client sent. A message of
	// the backend is new to the client only if no message in ClientMessages has its id.
	Input          agui.RunInput
	ClientMessages []agui.Message
	Show           Show
	// AsksFirst reports that the client does not run a call by itself if an interrupt names the
	// call, even if the client has a tool of that name.
	AsksFirst bool
	// Transcript is the conversation. It grows while the stream is read. A Run may keep a reference
	// to it.
	Transcript agui.Transcript
	// Pause and Answers are set on a resume. Pause is the pause that the request answers, and its
	// ID is not "". Answers has exactly one answer for each question, in the order of the pause.
	// Every payload is valid against the schema of its question, unless the answer is marked
	// OwnForm.
	Pause   agui.Pause
	Answers []agui.Answer
	// EndOnly reports that every answer is a cancel, and that the backend has stored an earlier
	// answer, which it would carry out instead of a new one. The dialect then ends the waiting run at
	// the backend without sending an answer. EndOnly is set only if the pause has CancelEnds.
	EndOnly bool
	// NewMessages are the messages of a resume that neither carry an answer nor are on record. They
	// are empty if the run is not a resume.
	NewMessages []agui.Message
	// Sessions reports that the backend stores the conversation of each thread. The operator has
	// configured this, or the client has shown it by sending only new messages. It is set only on a
	// resume. If it is set, Input has no messages except NewMessages. A dialect whose backends do
	// not recognize messages by their ids then sends no other messages.
	Sessions bool
	// EndedPauses are the earlier pauses of the thread that are still on record, newest first,
	// however they ended. The history may contain calls of these pauses that have no answer. For a
	// Foreign dialect, the list also has failed pauses whose questions are no longer on record.
	// These have no Interrupts.
	EndedPauses []EndedPause
	// NamedInterrupts are ids of interrupts that a client named in this request or in earlier
	// requests of the thread, and that are not on record. Holdpoint may have been restarted since
	// these interrupts were asked. Only the client named them, so they may not exist.
	NamedInterrupts []string
	// Valid checks a payload against a responseSchema, as the contract checked the client's
	// answers. A nil payload counts as null. If a dialect makes a payload for a cancelled answer,
	// it checks this payload with Valid. If Valid is nil, the dialect checks nothing.
	Valid func(schema, payload json.RawMessage) error
	// Backend is the Result.Backend of this dialect that the pause of the thread has, or that was
	// last seen on the path. It is "" if it is unknown.
	Backend string
	// NewID returns a unique id. It is for backends that must not get an id that the client chose.
	// If NewID is nil, the dialect uses the client's id.
	NewID func() string
	// SharedRunID reports that a run of another thread with the same run id is in progress on the
	// path, and that the backend of the path is unknown. A backend that stores paused runs under
	// their run ids alone would mix up the two runs.
	SharedRunID bool
}

// An EndedPause is an earlier pause of a thread. It is no longer open.
type EndedPause struct {
	agui.Pause
	// Failed reports that the pause was answered, and that the run with the answers ended in an error
	// or in doubt. The backend may still have the answers, and carry them out when it continues.
	Failed bool
}

// Plain returns the request as a run without answers. If r has no answers, that is r itself, and
// otherwise a copy.
func (r *Request) Plain() *Request {
	if r.Pause.ID == "" && r.Pause.Dialect == "" && len(r.Answers) == 0 && len(r.NewMessages) == 0 {
		return r // a stream keeps r, so a copy would cost memory
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

// Out is a request to the backend. Its zero value stands for the client's request unchanged.
type Out struct {
	Method  string              // "" means the method of the client's request
	Path    string              // relative to the upstream's address; "" means the client's path
	Header  map[string][]string // added to the client's headers; the names are canonical
	Body    []byte              // nil means the body of the client's request
	Resumes bool                // the request has answers; only such an exchange can end in doubt
	// TakesNew reports that the request contains the messages of Request.NewMessages, except those
	// in UnsentMessages. If the run pauses again, proxy sends the client the code
	// MESSAGES_NOT_TAKEN for the messages that the request did not contain.
	TakesNew       bool
	UnsentMessages []agui.Message
	// ReadOn reports that proxy reads the response to its end even if the client has left. If
	// Resumes is set, proxy always reads to the end. ReadOn is for a backend that can pause after
	// its client has left, so that its question is stored, and for a backend that fails if the
	// connection closes.
	ReadOn bool
	None   bool // nothing is sent: RUN_STARTED and Run.End follow at once
	// Silence is how long the backend may send nothing after RUN_STARTED. After this time the
	// client's stream ends as for any backend that is silent for too long. 0 means the usual limit.
	// Silence is for a backend that never ends a stream in which it has nothing to send.
	Silence time.Duration
	// WithheldMessages are messages of the client that Body does not contain, in the client's
	// order. If the backend sends its history back in a snapshot, that history lacks them too, and
	// a client deletes the messages that a snapshot lacks. So proxy adds them to the snapshots.
	WithheldMessages []WithheldMessage
}

// A WithheldMessage is a message of the client that was not sent to the backend at all, or was sent
// without some of its calls.
type WithheldMessage struct {
	Message agui.Message // as the client has it
	Calls   []string     // the ids of the calls that were not sent
	Whole   bool         // no part of the message was sent
	// Before has the ids of all messages that precede this message in the client's history. For two
	// WithheldMessages, the Before of the earlier one is the beginning of the Before of the later
	// one.
	Before []string
}

// A Run translates one exchange. proxy calls its methods from one goroutine. It calls Event for
// each event in order, and then End exactly once.
type Run interface {
	// Event translates one event that is not terminal. It calls emit for each event that the client
	// gets in place of ev: the same event, another event, several events, or no event. ev is valid
	// only during the call of Event, and an emitted event must be valid only during the call of
	// emit. So a Run must clone an event that it stores. An error ends the client's run.
	Event(ev agui.Event, emit func(agui.Event)) error
	// End translates the end of the exchange. proxy sends an error to the client as RUN_ERROR.
	End(e End) (Result, error)
}

// A Finder is a Dialect that detects which dialect a backend speaks, and returns it in
// Result.DetectedDialect. With any Dialect that is not a Finder, the backend's dialect is known
// from the start.
type Finder interface {
	Dialect
	// Finds reports whether the Finder can detect the named dialect.
	Finds(dialect string) bool
	// Speaks returns the dialect that a backend speaks, or "" if it is unknown. found is the
	// dialect that the Finder has detected for the backend, or "".
	Speaks(found string) string
	// General reports whether the dialect of this name implements General and its General returns
	// true.
	General(dialect string) bool
}

// FinderOf returns d as a Finder. If d is not a Finder, the result never detects a dialect, and its
// Speaks always returns the name of d.
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

// A General is a Dialect that may be able to serve any backend with the interrupt outcome.
type General interface {
	// General reports whether the dialect's questions are those that any backend with the interrupt
	// outcome asks. Other dialects read that outcome too. So such a question does not show which
	// framework the backend uses.
	General() bool
}

// A Freer is a Dialect whose backends may still wait for an answer although an answer was sent and
// its result is unknown.
type Freer interface {
	// Frees reports whether proxy may send the backend a cancel of the ended pause. It may if the
	// backend reads a cancel as a denial even after it has carried out an answer. Frees is pure.
	Frees(p *agui.Pause) bool
}

// A Locker is a Freer with backends that accept no message while they wait, and no answer after
// such a message.
type Locker interface {
	// Locks reports whether a message would block the thread forever if the backend still waits for
	// an answer to the ended pause. proxy then sends the cancel before the message. Locks is pure.
	Locks(p *agui.Pause) bool
}

// A Reviver is a Freer that needs only the id of a question to deny the question at the backend. So
// if a client names a question that is not on record, the question can be cancelled.
type Reviver interface {
	// Revive returns a pause with a question for each of the ids. The ids are published ids or the
	// backend's own ids, as clients named them. Each question can only be cancelled. An id that no
	// backend of the dialect can have made is left out. If no id remains, the pause has no
	// Interrupts. detectedDialect is the dialect that the path is known to speak. Revive is pure.
	Revive(ids []string, detectedDialect string) agui.Pause
}

// A Hinter is a Dialect whose backends have a protocol of their own in addition to AG-UI. Holdpoint
// forwards requests of that protocol without translating them.
type Hinter interface {
	// Hint returns a text about requests to the path for the operator, or "". proxy logs the text
	// once.
	Hint(path string) string
}

// A Taker is a Dialect whose backends accept an incomplete RunAgentInput as a run or as an answer.
// Without a Taker, Holdpoint would forward such a body unread, as a request of another API.
type Taker interface {
	// Takes returns the reason why a JSON object that is not a run must not reach a backend of the
	// dialect. It returns "" if the object may reach it. detectedDialect is the dialect that was seen
	// on the path of the request, or "" if it is unknown.
	Takes(object []byte, detectedDialect string) (why string)
}

// An Interpreter is a Dialect that recognizes words for yes and no that kit.Read does not
// recognize.
type Interpreter interface {
	// Interpret reads the meaning of answers to questions of the pause, for the audit and other
	// observers. read has the result of kit.Read for each answer. Interpret replaces those elements
	// of read that it can determine better. Its result does not change what is sent to the backend.
	// Interpret is pure.
	Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading)
}

// A Subject is the action that a question is about. A field is zero if the question does not
// contain it.
type Subject struct {
	Name      string          // the name of the action or the tool
	Arguments json.RawMessage // the arguments with which the action runs if it is approved
}

// A Describer is a Dialect with backends that accept any value as an answer. For such a backend,
// the operator configures which values mean yes and no (package yesno).
type Describer interface {
	// Describe returns the subject of a question that has no responseSchema. It returns false if
	// the backend accepts only certain values as the answer. Describe is pure.
	Describe(p agui.Pause, i *agui.Interrupt) (Subject, bool)
}

// An EarlyReader is a Dialect whose Run must see a stream from its first event, although an event
// that identifies the backend comes later.
type EarlyReader interface {
	// Early returns a Run for a run that no dialect has claimed yet. This Run is a Passer. It gets
	// all events that are forwarded, except CUSTOM events, and emits each of them unchanged. If the
	// dialect claims the stream, proxy continues with this Run instead of the Run that Begin
	// returned. If the dialect does not claim the stream, proxy does not call the End of this Run.
	Early(r *Request) Run
}

// A HistoryReader is a Dialect whose backend reads decisions from the messages of a request.
//
// proxy compares these decisions (each is a Reply) with the record:
//
//   - If the reply names an open question (Interrupt.Keys), it is the answer to this question,
//     unless its message existed before the question was asked (Pause.EarlierReplies).
//   - If the reply names an ended question, it is not used again.
//   - Any other reply is refused if it ends the request, and is removed if it does not.
//
// So the backend gets no decision that is not on record.
type HistoryReader interface {
	// Replies returns the decisions that a backend of this family could read in the messages,
	// whoever wrote the messages. detectedDialect is the dialect of the thread's open question. If no
	// question is open, detectedDialect is the dialect that the path is known to speak, or "" if it is
	// unknown. Each Reply is in a message for which MayReply returns true. Replies is pure, and
	// fast if there are no decisions.
	Replies(in agui.RunInput, detectedDialect string) iter.Seq[Reply]
	// AnswerIn returns the answer (status and payload) that the reply in message m gives to the
	// question i. i is a question of the dialect, and its Keys include reply.Key. AnswerIn returns
	// false if the message does not answer the question, or is too old to answer it
	// (Reply.TooLate). AnswerIn is pure.
	AnswerIn(m agui.Message, reply Reply, i agui.Interrupt) (agui.Answer, bool)
}

// MayReply reports whether a message may hold a decision that a HistoryReader reads. Only a tool
// message or a message that is not plain may.
func MayReply(m agui.Message) bool { return !m.Plain || strings.EqualFold(m.Role, "tool") }

// A Reply is a decision that a HistoryReader read in a message.
type Reply struct {
	Dialect string // the dialect that read it; "" if that dialect cannot have asked the question
	At      int    // the index of the message in RunInput.Messages
	Key     string // identifies the question: one of Interrupt.Keys, or a published id
	// ReaderState is data of the HistoryReader that proxy returns to it in AnswerIn. With this
	// data, the HistoryReader finds the decision again in a message with very many decisions. proxy
	// does not read it.
	ReaderState json.RawMessage
	// Decides reports that the reply is a decision even if its question is not on record. This is
	// certain if the reply has the form of a decision, or if the history contains the call that
	// asks. If Decides is false, the message may be the result of an ordinary tool, so proxy does
	// not remove it.
	Decides bool
	// DecidesUnlessResult reports that the reply is a decision, unless a question of the dialect
	// about this call was asked in another way. In that case the message is the result of the call.
	// A stream may contain a result without its call.
	DecidesUnlessResult bool
	// DecidesUnlessLeft reports that the reply is a decision, unless a stream of the thread has
	// left the call to the client, as a call of one of the client's own tools. The messages do not
	// contain the call, because a client need not send it.
	DecidesUnlessLeft bool
	// DecidesIfKnown reports that the reply is a decision if its question is on record. This holds
	// even if the request declares the tool of the call: a tool that is declared after the question
	// does not turn the call into a call of the client.
	DecidesIfKnown bool
	// CallID is the id of the call that the text of a refusal names. If it is "", the text speaks
	// of an approval instead.
	CallID string
	// Calls are the ids of the calls in the history that asked for this reply. If the decision is
	// not sent to the backend, proxy removes these calls too.
	Calls []string
	// Unclear reports that two backends could read the reply differently. Such a reply never
	// answers a question.
	Unclear bool
	// TooLate reports that other messages follow, so the backend may no longer look for an answer
	// in this message. AnswerIn then decides whether the reply is an answer.
	TooLate bool
	// Replaces reports that this reply replaces an earlier reply to the same question, even if the
	// two replies differ. If a reply was refused, it stays in the client's history, and a new reply
	// follows it.
	Replaces bool
	// Keep reports that the message stays in the history after its reply was recorded as an answer.
	// If Keep is false, proxy removes the message, because some version of the backend would carry
	// out the decision again. For the same reason proxy removes the message if TooLate is set, and
	// the messages after it were removed.
	Keep bool
	// Rest is the message without its decisions. It is nil if the message contains only decisions.
	Rest *agui.Message
}

// A Continuer is a Dialect some of whose backends run calls that nobody approved. If a request has
// the result of a call of a tool that the request declares, such a backend runs all calls of the
// history that have no result.
//
// proxy removes such a call from its message, with two exceptions: a stream of the agent has left
// the call open in a run without a question, or the request declares the tool of the call. For the
// calls of the pause that a request answers, Begin decides instead of proxy.
type Continuer interface {
	// Continues reports whether a backend may run such calls in a thread of the given dialect.
	// detectedDialect is as in HistoryReader.Replies, and backend as in Request.Backend. Continues is
	// pure and fast.
	Continues(detectedDialect, backend string) bool
}

// A Stateless is a Dialect some of whose backends store nothing between two runs, and whose model
// providers refuse a history with a call that has no result. If Holdpoint loses a question, the
// call of the question stays in the chat without a result, and nobody can answer it.
//
// proxy removes such a call from its message if a user's message follows it, if a client of the
// chat has named a question whose id only such a backend makes, and if the request does not declare
// the tool of the call. Other messages stay unchanged. If the backend is known to speak the
// dialect, Begin removes the call instead.
type Stateless interface {
	// AsksUnder reports whether only a backend of this kind makes such a question id, and returns the
	// id of the call that the question is about. id is the backend's own id. detectedDialect is as in
	// HistoryReader.Replies. AsksUnder is pure and fast.
	AsksUnder(id, detectedDialect string) (call string, asks bool)
	// KeepsNothing reports whether a backend that stores nothing made the pause. Such a backend
	// reads the question and the answer from each request. So proxy sends it an answer on any
	// thread that the client names, and sends any other backend the answer on the thread that
	// asked. KeepsNothing is pure.
	KeepsNothing(p *agui.Pause) bool
	// ReadsCalls reports whether the backend that made the pause sends its model the calls in the
	// messages of each request. This is true of each backend that stores nothing. ReadsCalls is
	// pure.
	ReadsCalls(p *agui.Pause) bool
}

// A DecisionReader is a Dialect whose backends recognize a decision in a tool message by its
// content alone. So such a message can decide on a call that is not on record, because Holdpoint
// was restarted, or because somebody invented the call.
//
// proxy calls a DecisionReader for messages on calls that are not on record. It refuses such a
// decision if it is at the end of a request, and makes it harmless if a user's message follows. A
// backend of another dialect may need the same message as its answer. So where this is possible,
// proxy forwards a message if a stream of the thread has left its call to the client, or if the
// request declares the tool of its call.
type DecisionReader interface {
	// ReadsDecisions reports whether Decides can return true in a thread of the given dialect.
	// detectedDialect is as in Decides. ReadsDecisions is pure and fast.
	ReadsDecisions(detectedDialect string) bool
	// Decides reports whether a backend could read a tool message as a decision. isLast reports that
	// no user or assistant message follows m, because some backends read only such a message.
	// detectedDialect is the dialect of the thread's question or of its path, or "" if it is unknown.
	// Decides is pure, and fast if it returns false.
	Decides(m agui.Message, isLast bool, detectedDialect string) bool
	// Harmless returns the message with a content that no backend of the dialect reads as a
	// decision. m is not the last message of the request. Harmless is pure.
	Harmless(m agui.Message) agui.Message
}

// A Passer is a Run that does not need to see all events. proxy forwards consecutive events of the
// types that it does not need without calling Event for each of them. A Run that is not a Passer
// gets every event.
type Passer interface {
	// Passes reports whether proxy may forward events of type t without calling Event. It may if
	// Event would emit each of them unchanged and would not change the state of the Run. The result
	// holds until Event is called with an event of another type. Passes returns false if this
	// depends on the event. The type Unknown stands for all events that agui does not list or that
	// proxy cannot parse. proxy does not call Passes for terminal events. Passes does not allocate.
	Passes(t agui.Type) bool
}

// End is the way in which an exchange ended. At most one of Event, Status and None is set. If all
// three are zero, the stream ended without a terminal event: it broke off if Cut is set, and was
// closed otherwise.
type End struct {
	Event agui.Event // the terminal event, if its Type is set
	// Status is the status of a response that is not an event stream: not 2xx, or 2xx with another
	// media type.
	Status int
	Body   []byte // the first bytes of that response's body, at most 64 KiB
	Cut    bool   // the stream broke off with an error
	None   bool   // nothing was sent to the backend (Out.None)
	// Refused reports that the backend certainly did not accept the request, because no connection
	// was made or because of its Status.
	Refused bool
}

// A Result is the end of an exchange as the client sees it. proxy first saves the pause. Then it
// sends, in this order: HeldEvents, NativeEvents of the pause if the client is shown them,
// snapshots, and Finish.
type Result struct {
	HeldEvents []agui.Event // events that the Run held back
	// Finish is the terminal event. For a pause it is RUN_FINISHED without an outcome, and proxy
	// adds the outcome with the ids that it makes. If Finish is zero, proxy ends the run by what
	// the stream showed, with RUN_ERROR if the stream had no terminal event.
	Finish agui.Event
	// Asked is the pause. If Asked has no Interrupts, the run did not pause.
	Asked AskedPause
	// Failed reports that the exchange failed, and that the questions of Asked are nevertheless
	// open. proxy sends the questions, and then the reason of the failure: the Fate, the backend's
	// error, or how the stream ended.
	Failed bool
	// Fate is what became of the answers, if the run did not pause. proxy ignores it if Next or
	// Asked is set.
	Fate Fate
	// DetectedDialect is the dialect that a Finder detected in the stream. It becomes the dialect
	// of the pause, if the run paused, and of the route. It is "" if nothing new was detected. If a
	// dialect refuses a question in the stream, it sets its own name.
	DetectedDialect string
	// Backend identifies the backend that made the stream. It is a name that the dialect chooses.
	// Later requests of the thread or path get it as Request.Backend. It is "" if they do not need
	// it.
	Backend string
	// UnacceptedMessages are messages of a run without answers that the backend did not accept,
	// because it was already waiting. If the client sends them again together with the answers,
	// they count as new input.
	UnacceptedMessages []agui.Message
	// Next is another exchange in the same client run and claim. The client gets neither the end of
	// this exchange nor the RUN_STARTED of the next.
	Next *Exchange
}

// Warn writes a log line of level WARN for the operator.
type Warn func(msg string, args ...any)

// AskedPause is a pause as a dialect returns it. proxy makes the ids, saves the pause and sends it
// to the client. The dialect must not change an AskedPause or its content after it has returned it.
type AskedPause struct {
	Interrupts []agui.Interrupt
	Private    json.RawMessage // given back to the dialect as Request.Pause.Private
	// KeepsFirstAnswer reports that the backend stores the first answer to a question. If it asks
	// the same question again, it uses that answer again.
	KeepsFirstAnswer bool
	// FirstAsked reports that this run itself asked the questions for the first time, so the
	// backend has no stored answer to them. It is set if the ids of the questions do not
	// distinguish them from earlier questions with the same text.
	FirstAsked bool
	// CancelEnds reports that the dialect can end the waiting run without an answer
	// (Request.EndOnly). So if every question is cancelled, the cancel takes effect even if the
	// backend has stored another answer.
	CancelEnds bool
	// NativeEvents are the events by which the backend itself announced the pause, and NativeFinish
	// is its terminal event. proxy sends them to a client that is shown the backend's own form, and
	// sends them again if the client asks for the pause again. A dialect whose backends announce a
	// pause by other events than on_interrupt sets them only for such a client (ShowNative).
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

// Fate is what became of the answers that an exchange sent. It has no meaning for a run without
// answers.
type Fate int

// The values of a Fate. Finished: the run ended as Result.Finish describes. Untouched: the error in
// Result.Finish proves that the backend did nothing, so package proxy releases its claim on the
// pause, and the answers may be sent again. Lost: the backend no longer has the question
// (BACKEND_LOST_INTERRUPT). InDoubt: the stream does not show whether an approved action was
// carried out (RESUME_IN_DOUBT).
const (
	Finished Fate = iota
	Untouched
	Lost
	InDoubt
)

// An Exchange is one request to the backend, and the Run that translates the response.
type Exchange struct {
	Out Out
	Run Run
}
