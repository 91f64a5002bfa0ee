// Package translate is the seam between Holdpoint and the ways in which backends pause. Each family
// of backends has a Dialect in a folder of its own. translate/dialects lists them.
//
// It knows nothing of HTTP, of the store or of the interrupt contract. proxy knows those. A dialect
// sees events and answers, and is the only place that knows its backend's shapes.
package translate

import (
	"encoding/json"
	"iter"
	"strings"
	"time"

	"holdpoint/internal/agui"
)

// A Dialect knows how one family of backends pauses a run, and how it is told to go on. It holds no
// state of a run and is safe for concurrent use.
type Dialect interface {
	// Name is what HOLDPOINT_DIALECT and the records call it.
	Name() string
	// Answers reads the answers out of a request, from resume or from the backend's own form, with
	// aliases applied. It is pure. proxy calls it for every run, before it judges the request.
	// Without answers it returns nil. An error is an *agui.RunError. It need not check that the
	// answers cover the pause, because the contract does.
	//
	// p is the first of these that there is: the pause whose ids the request names, open or ended;
	// the open pause; the pause that ended last; a pause without ID. In the last case a native
	// answer comes back with its native id, or with "" if it names none, and the contract refuses
	// it.
	Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error)
	// Begin is called for every run that is admitted. It returns what to send, and the translation
	// of what comes back. An error, an *agui.RunError, refuses the run before the claim, and
	// nothing was sent then. Nobody writes into r. Whoever needs another request copies it
	// (Request.With, Request.Plain).
	Begin(r *Request) (Out, Run, error)
}

// A Signer is a Dialect that recognises its backend in a stream that nobody has claimed yet. Only
// auto asks it, and only in runs without answers.
//
// A claim at the terminal event is late. The Run that Begin then makes has seen RUN_STARTED and
// nothing else. It learns of the stream from the transcript (Call.Fresh) and from End. A dialect
// that must see the whole stream is an Early.
type Signer interface {
	// Sign reports whether the event is this dialect's. It is pure. auto asks it about CUSTOM events,
	// MESSAGES_SNAPSHOT, the first RAW event and the terminal event. r is the request; its
	// Transcript has the stream so far.
	Sign(ev agui.Event, r *Request) bool
}

// A CallSigner is a Dialect that recognises its backend by a tool call that the request does not
// declare. auto holds the events of the call until every CallSigner has said No, or one says Mine.
type CallSigner interface {
	// SignCall is pure. auto asks it
	//
	//   - about the call's own events;
	//   - about the CUSTOM event behind the END of a call that never began;
	//   - about the events behind an END at which it said HoldToEnd;
	//   - about the terminal event, once for every call that is held.
	//
	// c is the call as far as it came, ev included. Its ID is "" at an END whose call never began.
	SignCall(ev agui.Event, c agui.Call, r *Request) Verdict
}

// A ToolOwner is a CallSigner whose backends ask by a tool of their own.
type ToolOwner interface {
	// Owns reports whether backends of the dialect ask by the tool. Where the thread is known to
	// speak the dialect, such a call is the backend's, even if the request declares the tool. It is
	// pure.
	Owns(tool string) bool
}

// A Verdict is what a CallSigner says.
type Verdict int

// No: the call is not mine. Hold: wait for the end of this tool call. HoldToEnd: at its END, wait
// for the end of the run. Everything that comes behind that END waits too. Mine: the stream is this
// dialect's from here on.
const (
	No Verdict = iota
	Hold
	HoldToEnd
	Mine
)

// Show is how a client is told of a pause, HOLDPOINT_CLIENT.
type Show int

// ShowOutcome: the outcome alone. ShowBoth: a CUSTOM on_interrupt beside it. ShowNative: the
// backend's own form, and nothing that Holdpoint makes.
const (
	ShowOutcome Show = iota
	ShowBoth
	ShowNative
)

// A Request is one admitted run.
type Request struct {
	// Input is the client's request. Messages that carry the answers, or repeat them as
	// CopilotKit's do, are taken out. Came are all messages that the client sent, those included. A
	// message with an id of one of them is not new.
	Input agui.RunInput
	Came  []agui.Message
	Show  Show
	// AsksFirst says that the client carries out no call that an interrupt names, even if it has a
	// tool of that name.
	AsksFirst bool
	// Transcript is live: it grows with the stream. A Run may keep it.
	Transcript agui.Transcript
	// Pause and Answers are set on a resume. Pause is the pause to go on with, and its ID is not
	// "". Answers cover it exactly: each question once, in the pause's order. Every payload is
	// valid against its schema, unless the answer is marked Own.
	Pause   agui.Pause
	Answers []agui.Answer
	// EndOnly says that every answer is a cancel, and that the backend keeps another answer, which
	// it would carry out in place of any that is sent now. The dialect ends what waits, and sends
	// no answer. It is set only if the pause has CancelEnds.
	EndOnly bool
	// New are the messages beside the answers that the record does not have. It is empty except on
	// a resume.
	New []agui.Message
	// Sessions reports that the backend keeps the conversation of each thread. The operator says it:
	// nothing tells a client that sends new messages only from a chat that begins anew. It is set on a
	// resume only, and then Input has no messages but New. A dialect whose backends do not know
	// messages by their ids sends no others.
	Sessions bool
	// Ended are the earlier pauses of the thread that the record still keeps, newest first, however
	// they ended. What they asked may stand in the history without an answer. A Foreign is also
	// told of failed pauses whose questions the record does not keep. Those have no Interrupts.
	Ended []EndedPause
	// Named are interrupts that requests of this thread named, this one or earlier ones, and that
	// the record does not know. Holdpoint may have been started anew since they were asked. They
	// are a client's words, and Holdpoint itself asked none of them.
	Named []string
	// Valid judges a payload by a responseSchema, as the contract did for the client's answers. A
	// nil payload is null. It is for what a dialect itself makes of a cancelled answer. A nil Valid
	// judges nothing.
	Valid func(schema, payload json.RawMessage) error
	// Backend is which backend of its dialect the thread waited for, or its path was seen to lead
	// to (Result.Backend). It is "" if nobody knows.
	Backend string
	// NewID makes an id that nobody else has, for a backend that must not be told the client's. A
	// nil NewID makes none.
	NewID func() string
	// SharedRunID says that another thread has a run of the same id under way on the path, and that
	// nobody knows which backend is there. A backend that keeps what waits by run id alone would
	// take the two for one.
	SharedRunID bool
}

// An EndedPause is an earlier pause of a thread.
type EndedPause struct {
	agui.Pause
	// Failed says that the pause was answered, and that the run with the answers ended in an error
	// or in doubt. The backend may hold the answers still, and carry them out when it goes on.
	Failed bool
}

// Plain returns the request as a run without answers: r itself if it is one, else a copy.
func (r *Request) Plain() *Request {
	if r.Pause.ID == "" && r.Pause.Dialect == "" && len(r.Answers) == 0 && len(r.New) == 0 {
		return r // a stream keeps it
	}
	plain := *r
	plain.Pause, plain.Answers, plain.New = agui.Pause{}, nil, nil
	return &plain
}

// With returns a copy of the request with another input and other messages beside the answers.
func (r *Request) With(in agui.RunInput, messages []agui.Message) *Request {
	other := *r
	other.Input, other.New = in, messages
	return &other
}

// Out is a request to the backend. The zero value sends the client's request as it came.
type Out struct {
	Method  string              // "": the client's
	Path    string              // "": the client's; else below the upstream's address
	Header  map[string][]string // canonical names; set on top of the client's
	Body    []byte              // nil: the client's
	Resumes bool                // it carries the answers: only such an exchange can be in doubt
	// TakesNew says that the messages of Request.New travel in it, except those in Left. If the run
	// pauses again, proxy tells MESSAGES_NOT_TAKEN for the messages that did not travel.
	TakesNew bool
	Left     []agui.Message
	// ReadOn says that the answer is read to its end although the client has left, as the answer of
	// an exchange with answers always is. It is for a backend that pauses all the same, so that its
	// question is kept, and for one that takes a hang-up badly.
	ReadOn bool
	None   bool // nothing is sent: RUN_STARTED and Run.End follow at once
	// Silence is how long the answer may say nothing behind RUN_STARTED before the client's stream
	// is ended, as that of any backend that was silent for too long. 0 is as long as any. It is for
	// a backend that never ends a stream in which it has nothing to say.
	Silence time.Duration
	// Withheld are messages of the client that Body lacks, in the client's order. A backend that
	// sends its history back lacks them too, and a client deletes what a snapshot leaves out. So
	// proxy puts them back into the snapshots.
	Withheld []WithheldMessage
}

// A WithheldMessage is a message that a client has and that the backend was not sent, or not with
// all its calls.
type WithheldMessage struct {
	Message agui.Message // as the client has it
	Calls   []string     // those of its calls that were not sent
	Whole   bool         // nothing of it was sent
	// Before are the ids of the messages before it. The Before of an earlier Withheld is the
	// beginning of it.
	Before []string
}

// A Run translates one exchange. Its methods are called from one goroutine: Event in order, End
// once and always.
type Run interface {
	// Event is called for every event except the terminal one. It calls emit for what the client is
	// to see: the event itself, another, several, or none. ev is valid during the call. An emitted
	// event must be valid during the call of emit. Clone what you keep. An error ends the client's
	// run.
	Event(ev agui.Event, emit func(agui.Event)) error
	// End is told how the exchange ended. An error is told as RUN_ERROR.
	End(e End) (Result, error)
}

// A Finder is a Dialect that finds out which dialect a backend speaks. It says so in Result.Spoke.
// Behind any other Dialect it is known from the start.
type Finder interface {
	Dialect
	// Finds reports whether it may find the named dialect.
	Finds(dialect string) bool
	// Speaks returns the dialect that a backend speaks, "" if nobody knows. found is what was found
	// of it, "" for nothing.
	Speaks(found string) string
	// General reports whether the dialect is one for any backend.
	General(dialect string) bool
}

// FinderOf returns the dialect as a Finder. Any other Dialect finds nothing: each backend
// speaks it.
func FinderOf(d Dialect) Finder {
	if finder, finds := d.(Finder); finds {
		return finder
	}
	return named{d}
}

type named struct{ Dialect }

func (named) Finds(string) bool { return false }

func (n named) Speaks(string) string { return n.Name() }

func (named) General(string) bool { return false }

// A General is a Dialect that may be one for any backend.
type General interface {
	// General reports whether it asks what any backend with the interrupt outcome asks. Other
	// dialects read that outcome too, so its questions do not tell the framework.
	General() bool
}

// A Freer is a Dialect whose backends may wait on although nobody knows what became of an answer.
type Freer interface {
	// Frees reports whether a cancel of the ended pause may be handed on: its backend takes a cancel
	// for a no, even if it carried the answer out. It is pure.
	Frees(p *agui.Pause) bool
}

// A Locker is a Freer some of whose backends take no message while they wait, and no answer after
// one.
type Locker interface {
	// Locks reports whether a message would lock the thread for good if the backend still waits for
	// an answer to the ended pause. Then the cancel goes before the message. It is pure.
	Locks(p *agui.Pause) bool
}

// A Reviver is a Freer that reads in the id of a question how its backend is told no. So a question
// whose record is gone can be cancelled once a client has named it.
type Reviver interface {
	// Revive returns a pause of the questions with these ids, published or the backend's own, as
	// clients named them. Each takes a cancel and nothing else. It leaves out an id that its
	// backends do not make, and the pause has no Interrupts if none is left. spoken is the dialect
	// that the path is known to speak. It is pure.
	Revive(ids []string, spoken string) agui.Pause
}

// A Hinter is a Dialect whose backends have a protocol of their own beside AG-UI. Holdpoint passes
// that protocol untranslated.
type Hinter interface {
	// Hint is what an operator should know about requests to the path, and "" for nothing. It is
	// logged once.
	Hint(path string) string
}

// A Taker is a Dialect whose backends take less than a RunAgentInput for a run or an answer.
// Holdpoint would let such a body pass as a request of another API.
type Taker interface {
	// Takes says why a JSON object that is not a run must not reach a backend of the dialect, and
	// "" if it may. spoken is the dialect that its path was seen to speak, and "" if nobody knows.
	Takes(object []byte, spoken string) (why string)
}

// An Interpreter is a Dialect with words for yes and no that kit.Read does not know.
type Interpreter interface {
	// Interpret reads answers to questions of the pause for those who are told of them, such as the
	// audit. read has what kit.Read made of each answer. Interpret overwrites what it knows better.
	// Nothing is decided by it. Pure.
	Interpret(p agui.Pause, answers []agui.Answer, read []agui.Reading)
}

// A Subject is what a question is about. A field is zero if the question does not say it.
type Subject struct {
	Name      string          // of the action or the tool
	Arguments json.RawMessage // what a yes lets it run with
}

// A Describer is a Dialect whose backends may take any value for an answer. Then the operator says
// what a yes and a no are (package yesno).
type Describer interface {
	// Describe returns what a question without a responseSchema is about. It returns false if the
	// backend does not take any value for the answer. It is pure.
	Describe(p agui.Pause, i *agui.Interrupt) (Subject, bool)
}

// An Early is a Dialect whose Run must see a stream from its first event, although the event that
// shows its backend comes late.
type Early interface {
	// Early is the Run of an ordinary run that nobody has claimed. It is a Passer. It is shown
	// everything that passes except CUSTOM events, and emits each event as it came. If the dialect
	// claims the stream, it goes on in the place of Begin's Run. If not, its End is not called.
	Early(r *Request) Run
}

// A HistoryReader is a Dialect whose backend takes decisions out of the messages of a request.
//
// proxy relates the replies to the record. One that names an open question (Interrupt.Keys) is its
// answer, unless it stood there before the question was asked (Pause.Stood). One that names an
// ended question does not count again. Any other is refused if it is the request's last word, or
// else taken out. So nothing reaches the backend as a decision that is not in the record.
type HistoryReader interface {
	// Replies are the decisions that a backend of this family could find in the messages, whoever
	// wrote them. Pure, and quick where there are none. spoken is the dialect of the thread's open
	// question, else the one that the path is known to speak. It is "" if nobody knows. Replies names
	// only messages that MayReply.
	Replies(in agui.RunInput, spoken string) iter.Seq[Reply]
	// AnswerIn is what a reply in the message says to a question of the dialect, whose Keys have
	// the reply's Key: status and payload. false: it is not an answer to that question, or cannot be
	// any more (Reply.Past). Pure.
	AnswerIn(m agui.Message, reply Reply, i agui.Interrupt) (agui.Answer, bool)
}

// MayReply reports whether a HistoryReader may name the message. A plain message does not hold a
// decision unless it is a tool's.
func MayReply(m agui.Message) bool { return !m.Plain || strings.EqualFold(m.Role, "tool") }

// A Reply is a decision in a message.
type Reply struct {
	Dialect string // who read it; "" if that is none whose question it could answer
	At      int    // of in.Messages
	Key     string // which question it is for, as Interrupt.Keys have it, or a published id
	// Says is what the reader wants back in AnswerIn: a message may hold very many decisions.
	// Nobody else reads it.
	Says json.RawMessage
	// Asked says that it is a decision even if the record knows no such question: it has the form
	// of one, or the history shows the call that asks. Else it may be the result of an ordinary
	// tool, and is left alone.
	Asked bool
	// AskedUnlessResult says that it is one too, unless a question of the dialect was about that
	// call and not asked by it. Then it is the result of the call. A stream may show a result
	// without its call.
	AskedUnlessResult bool
	// AskedUnlessLeft says that it is one too, unless a stream of the thread has left the call to
	// the client as one of its own tools. The messages do not hold the call, which a client need
	// not send.
	AskedUnlessLeft bool
	// AskedIfKnown says that it is one if the record knows the question, although the request
	// declares the tool: who declares a tool late does not make its question the client's own.
	AskedIfKnown bool
	// Names is the call that a refusal names, "" for a form that it calls an approval.
	Names string
	// Calls are the calls of the history that ask for it. Where the decision is not handed on, they
	// go too.
	Calls []string
	// Unclear says that two readers could read it in two ways: it never answers.
	Unclear bool
	// Past says that the backend would not look for an answer there any more: AnswerIn has the last
	// word on it.
	Past bool
	// Replaces says that it counts in place of an earlier reply to the same question, also if it
	// says something else: what a person said stays in a history where it was refused.
	Replaces bool
	// Kept says that once the record knows it as the answer the message stays in the history. Else
	// it goes, for some version would carry it out again.
	Kept bool
	// Rest is the message without its decisions, if it says anything else.
	Rest *agui.Message
}

// A Continuer is a Dialect some of whose backends run the calls of a history that have no result,
// as soon as the request brings the result of a call of a tool that it declares. They run each call
// of that kind, whether anybody was asked about it or not.
//
// proxy takes such a call out of its message, unless a stream of the agent has left it open in a
// run that asked nothing, and unless the request declares its tool. It does not look at the calls
// of the pause that a request answers. Begin decides about those.
type Continuer interface {
	// Continues reports whether a backend may do so where the thread is known to speak a dialect.
	// spoken is as in HistoryReader.Replies, and backend as in Request.Backend. It is pure, and
	// cheap.
	Continues(spoken, backend string) bool
}

// A Stateless is a Dialect some of whose backends keep nothing between two runs, and whose model's
// provider refuses a history with a call that has no result. A question that Holdpoint has lost
// leaves such a call in the chat, which nobody can answer any more.
//
// proxy takes such a call out of its message if a user's message follows it and a client of the
// chat has named a question under whose id only such a backend asks, unless the request declares
// its tool. No message goes by that. Where the dialect knows the backend, Begin does it.
type Stateless interface {
	// AsksUnder reports whether the id of a question shows that a backend of this kind has asked,
	// and returns the id of the call that the question is about. id is the backend's own. spoken is
	// as in HistoryReader.Replies. It is pure, and cheap.
	AsksUnder(id, spoken string) (call string, asks bool)
	// KeepsNothing reports whether a backend of this kind has made the pause. It reads question and
	// answer out of each request, so it gets an answer on whatever thread the client names. Any
	// other backend gets it on the thread that asked. It is pure.
	KeepsNothing(p *agui.Pause) bool
	// ReadsCalls reports whether the backend that has made the pause hands its model the calls of
	// each request's messages. That is true of each backend that keeps nothing. It is pure.
	ReadsCalls(p *agui.Pause) bool
}

// A DecisionReader is a Dialect whose backends read a decision in a tool message by what the
// message says, so that it can decide on a call that nobody knows to have asked: Holdpoint may have
// been started anew, or somebody has made the call up.
//
// proxy asks it about messages on calls that the record does not know. It refuses such a decision
// at the end of a request, and makes it harmless before a person's words. The same message may be
// the answer that the backend of another dialect wants, so it passes on a call that a stream of the
// thread has left to the client; and on one of a tool that the request declares, where that can be.
type DecisionReader interface {
	// ReadsDecisions reports whether Decides can be true where the thread is known to speak a
	// dialect. spoken is as there. It is pure, and cheap.
	ReadsDecisions(spoken string) bool
	// Decides reports whether a backend could take a tool message for a decision. last reports that
	// no user's and no assistant's message follows it: some backends look there only. spoken is the
	// dialect that the thread's question or its path is known to speak, "" if nobody knows. It is
	// pure, and quick where the answer is no.
	Decides(m agui.Message, last bool, spoken string) bool
	// Harmless returns a message that is not the last with another content, which no backend of the
	// dialect takes for a decision. It is pure.
	Harmless(m agui.Message) agui.Message
}

// A Passer is a Run that says which events it does not look at. A row of such events goes on
// without being shown to it one by one. Any other Run is shown everything.
type Passer interface {
	// Passes reports whether Event would emit each event of the type as it came and learn nothing from
	// it, until Event is called with an event of another type. It returns false if that depends on
	// the event. Unknown is one type: everything that agui does not list, and what proxy has found
	// opaque. proxy does not ask it about terminal events. It does not allocate.
	Passes(t agui.Type) bool
}

// End is how an exchange ended. Exactly one of Event, Status and None is set, or none of them: then
// the stream ended without a terminal event, by a cut or cleanly.
type End struct {
	Event  agui.Event // the terminal event, if its Type is set
	Status int        // of an answer that is not an event stream: a non-2xx, or a 2xx of another media type
	Body   []byte     // the start of that answer's body, at most 64 KiB
	Cut    bool       // the stream broke off with an error; false: a clean end without a terminal event
	None   bool       // nothing was sent
	// Refused says that the backend certainly did not take the request: there was no connection, or
	// its Status says so.
	Refused bool
}

// A Result says how the exchange ended. proxy saves first and tells then, in this order: Before,
// the pause's own events if they are shown, snapshots, Finish.
type Result struct {
	Before []agui.Event // what was held back
	// Finish is the terminal event. For a pause it is RUN_FINISHED without an outcome; proxy writes
	// the outcome with the ids that it makes. If it is zero, proxy ends the run by what it saw,
	// with RUN_ERROR if no terminal event came.
	Finish agui.Event
	// Asked is the pause, if it has Interrupts.
	Asked AskedPause
	// Failed says that the exchange has failed, and that Asked is what is open still. proxy tells
	// the questions, and then why: what Fate says, or the backend's error, or what became of the
	// stream.
	Failed bool
	// Fate is what became of the answers if the run did not pause. Next decides first, then the
	// pause, then Fate.
	Fate Fate
	// Spoke is the dialect that a Finder has found in the stream. It is the dialect of the pause if
	// the run paused, and of the route from then on. It is "" if there is nothing new to say. A
	// dialect says its own name if it refuses to ask what the stream asks.
	Spoke string
	// Backend is which backend of its dialect the stream has shown, in a word of the dialect's own.
	// It comes back as Request.Backend. It is "" if later requests need not know.
	Backend string
	// Untaken are messages of a run without answers that the backend did not take, because it was
	// waiting already. They still count as new input when they come with the answers.
	Untaken []agui.Message
	Next    *Exchange // one more in the same client run and claim; this end and the next RUN_STARTED are not told
}

// Warn tells an operator something.
type Warn func(msg string, args ...any)

// AskedPause is a pause as a dialect gives it. proxy makes the ids, saves the pause and tells it.
// Everything that it holds belongs to proxy from then on.
type AskedPause struct {
	Interrupts []agui.Interrupt
	Private    json.RawMessage // comes back as Request.Pause.Private
	// Sticky says that the backend keeps the first answer to a question, and replays it whenever
	// the question comes back.
	Sticky bool
	// FirstAsked says that the run itself went to the questions, so that the backend keeps no
	// answer to them yet. It is for questions that no id tells from earlier ones with the same
	// words.
	FirstAsked bool
	// CancelEnds says that a cancel of every question reaches the backend although it keeps another
	// answer: the dialect can end what waits without an answer (Request.EndOnly).
	CancelEnds bool
	// Own are the events by which the backend itself announced the pause. OwnFinish is its own
	// terminal event. proxy tells them if the client is shown the backend's form, and to a client
	// that asks again. A dialect whose form is not on_interrupt sets them for such a client only
	// (ShowNative).
	Own       []json.RawMessage
	OwnFinish json.RawMessage
	// Shown says that Own went out in its place already.
	Shown bool
}

// Pause returns the pause as it goes into the record of a dialect, before proxy has given it ids.
func (a AskedPause) Pause(dialect string) agui.Pause {
	return agui.Pause{
		Dialect: dialect, Interrupts: a.Interrupts, Private: a.Private, Sticky: a.Sticky, FirstAsked: a.FirstAsked, CancelEnds: a.CancelEnds, Native: a.Own, NativeFinish: a.OwnFinish,
	}
}

// Fate is what became of the answers that were sent. It says nothing of a run without answers.
type Fate int

// Finished: the run ended as Finish says. Untouched: the run error in Finish certainly means that
// the backend did nothing, so the claim is given back. Lost: the backend does not know the question
// any more (BACKEND_LOST_INTERRUPT). InDoubt: the stream does not tell whether what was approved
// was carried out (RESUME_IN_DOUBT).
const (
	Finished Fate = iota
	Untouched
	Lost
	InDoubt
)

// An Exchange is one request to the backend, and the translation of its answer.
type Exchange struct {
	Out Out
	Run Run
}
