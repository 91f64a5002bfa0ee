// Package translate is the seam between Holdpoint and the ways in which backends pause: a Dialect for each family,
// one folder each, listed in translate/dialects.
//
// It knows nothing of HTTP, of the store or of the interrupt contract; those are proxy's. A dialect sees events and
// answers, and is the only place that knows its backend's shapes.
package translate

import (
	"encoding/json"
	"iter"

	"holdpoint/internal/agui"
)

// A Dialect knows how one family of backends pauses a run and how it is told to go on. It holds no per-run state and
// is safe for concurrent use.
type Dialect interface {
	// Name is what HOLDPOINT_DIALECT and the records call it.
	Name() string
	// Answers reads the answers out of a request, from resume or from the backend's own form, aliases applied.
	// Pure; called before admission for every run. p is the pause whose ids the request names, open or ended; else the
	// open one; else the one that ended last; else a pause without ID, and a native answer comes back with its native
	// id (or "" if it names none) for admit to refuse. No answers in the request: nil. An error is an *agui.RunError.
	// It need not check that answers cover the pause; admit does.
	Answers(in agui.RunInput, p agui.Pause) ([]agui.Answer, error)
	// Begin is called for every run that is admitted. It returns what to send and the translation of what comes back.
	// An error, an *agui.RunError, refuses the run before the claim; nothing was sent then. Nobody writes into r: who wants
	// it otherwise copies it (Request.With, Request.Plain).
	Begin(r *Request) (Out, Run, error)
}

// A Signer is a Dialect that recognises its backend in a stream that nobody has claimed yet. Only auto asks, and only in
// runs without answers.
//
// A claim at the terminal event is late: the Run that Begin then makes has seen RUN_STARTED and nothing else, and learns of
// the stream from the transcript (Call.Fresh) and from End. Who has to see all of it is an Early.
type Signer interface {
	// Sign says whether the event is this dialect's. Pure. It is asked about CUSTOM events, MESSAGES_SNAPSHOT and the
	// terminal event. r is the request; its Transcript has the stream so far.
	Sign(ev agui.Event, r *Request) bool
}

// A CallSigner is a Dialect that recognises its backend by a tool call that the request does not declare. auto holds the
// events of the call until every CallSigner has said No, or one says Mine.
type CallSigner interface {
	// SignCall is asked about the call's own events; behind an END at which it said Hold, about the next event; and about
	// the terminal event, beside every call that is held. Pure. c is the call as far as it came, ev included. Its ID is ""
	// at an END whose call never began.
	SignCall(ev agui.Event, c agui.Call, r *Request) Verdict
}

// A Verdict is the word of a CallSigner.
type Verdict int

// No: not mine. Hold: wait for the end of this tool call; at its END, for the event that directly follows; at that one, for
// the end of the run, and all that comes until then waits too. Mine: the stream is this dialect's from here on.
const (
	No Verdict = iota
	Hold
	Mine
)

// Show is what a client is told of a pause, HOLDPOINT_CLIENT.
type Show int

// ShowOutcome: the outcome alone. ShowBoth: a CUSTOM on_interrupt beside it. ShowNative: the backend's own form, and
// nothing that Holdpoint makes.
const (
	ShowOutcome Show = iota
	ShowBoth
	ShowNative
)

// A Request is one admitted run.
type Request struct {
	// Input is the client's, already without the messages that carry the answers or, as CopilotKit's, repeat them. Came are
	// all messages that the client sent: it has them, and what they have an id for is not new.
	Input agui.RunInput
	Came  []agui.Message
	Show  Show
	// Transcript is live: it grows with the stream. A Run may keep it.
	Transcript agui.Transcript
	// Pause and Answers are set on a resume: the pause to go on with (its ID is not "") and answers that cover it
	// exactly, each once, in the pause's order, every payload valid against its schema unless marked Own.
	Pause   agui.Pause
	Answers []agui.Answer
	// New are the messages beside the answers that the record lacks; empty but on a resume.
	New []agui.Message
	// Ended are the earlier pauses of the thread that the record still keeps, however they ended, newest first: what they
	// asked may stand in the history without an answer. Their Failed is set. A foreign dialect is also told of those that failed
	// of which nothing else is kept: they have no Interrupts.
	Ended []agui.Pause
	// Valid judges a payload (nil is null) by a responseSchema, as admit did for the client's answers: for what a
	// dialect itself makes of a cancelled one. nil judges nothing.
	Valid func(schema, payload json.RawMessage) error
	// Passed says whether the client was shown the call on this thread in a stream that nobody claimed, and without a result: it
	// is the client's to answer. nil: none was.
	Passed func(call string) bool
}

// Plain is a copy of the request as that of a run without answers.
func (r *Request) Plain() *Request {
	plain := *r
	plain.Pause, plain.Answers, plain.New = agui.Pause{}, nil, nil
	return &plain
}

// With is a copy of the request with another input and other messages beside the answers.
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
	// TakesNew says that Request.New travel in it, all but Left. Of what did not travel proxy tells MESSAGES_NOT_TAKEN if the run
	// pauses again.
	TakesNew bool
	Left     []agui.Message
	// ReadOn says that the answer is read to its end though the client has left, as that of an exchange with answers always
	// is: the backend pauses all the same, and what it asks must be kept; or it takes a hang-up badly.
	ReadOn bool
	None   bool // nothing is sent: RUN_STARTED and Run.End follow at once
	// Withheld are messages of the client's that Body lacks, in the client's order. A backend that sends its history back
	// lacks them too, and a client deletes what a snapshot leaves out: proxy puts them back into the snapshots.
	Withheld []Withheld
}

// A Withheld is a message that a client has and the backend was not sent, or not with all its calls.
type Withheld struct {
	Message agui.Message // as the client has it
	Calls   []string     // those of its calls that were not sent
	Whole   bool         // nothing of it was sent
	// Before are the ids of the messages before it. That of an earlier Withheld is the beginning of it.
	Before []string
}

// A Run translates one exchange. Its methods are called from one goroutine, Event in order, End once and always.
type Run interface {
	// Event is called for every event but the terminal one. It calls emit for what the client is to see: the event
	// itself, another, several, none. ev is valid during the call, and what is emitted during that of emit; Clone what is kept.
	// An error ends the client's run.
	Event(ev agui.Event, emit func(agui.Event)) error
	// End is called with how the exchange ended. An error is told as RUN_ERROR.
	End(e End) (Result, error)
}

// A Finder is a Dialect that finds out which dialect a backend speaks, and says so in Result.Spoke. What
// a backend speaks behind a Dialect that is none is known from the start.
type Finder interface {
	Dialect
	// Finds says whether the named dialect is one of those that it may find.
	Finds(dialect string) bool
}

// A Hinter is a Dialect whose backends have a protocol of their own beside AG-UI, which Holdpoint passes untranslated.
type Hinter interface {
	// Hint is what an operator is to know about requests to the path, "" for nothing. It is logged once.
	Hint(path string) string
}

// A Taker is a Dialect whose backends take less than RunAgentInput for a run or an answer: a body that Holdpoint would let pass
// as somebody else's.
type Taker interface {
	// Takes says why a JSON object that is no run must not reach a backend of the dialect, "" if it may. spoken is the dialect
	// that its path was seen to speak, "" if nobody knows.
	Takes(object []byte, spoken string) (why string)
}

// An Early is a Dialect whose Run must see a stream from its first event, while what tells that the stream is this dialect's
// comes late.
type Early interface {
	// Early is the Run of an ordinary run that nobody has claimed, a Passer. It is shown all that passes but CUSTOM events, emits each as
	// it came, and goes on in the place of Begin's if the dialect claims the stream; else its End is not called.
	Early(r *Request) Run
}

// A HistoryReader is a Dialect whose backend takes decisions out of the messages of a request.
//
// proxy relates the replies to the record. One that names an open question (Interrupt.Keys) is its answer, unless it stood
// there before the question was asked (Pause.Stood). One that names an ended question does not count again. Any other is
// refused if it is the request's last word, or else taken out. So nothing reaches the backend as a decision that is not in
// the record.
type HistoryReader interface {
	// Replies are the decisions that a backend of this family could find in the messages, whoever wrote them. Pure, and quick
	// where there are none. spoken is the dialect that the route is known to speak, "" if nobody knows.
	Replies(in agui.RunInput, spoken string) iter.Seq[Reply]
	// AnswerIn is what a reply in the message says to a question of the dialect, whose Keys have the reply's Key: status and
	// payload. false: it is no answer to that question, or cannot be any more (Reply.Past). Pure.
	AnswerIn(m agui.Message, reply Reply, i agui.Interrupt) (agui.Answer, bool)
}

// A Reply is a decision in a message.
type Reply struct {
	Dialect string // who read it; "" if that is none whose question it could answer
	At      int    // of in.Messages
	Key     string // which question it is for, as Interrupt.Keys have it, or a published id
	// Says is what the reader wants back in AnswerIn: a message may hold very many decisions. Nobody else reads it.
	Says json.RawMessage
	// Asked says that it is a decision even if the record knows no such question: it has the form of one, or the history
	// shows the call that asks. Else it may be the result of an ordinary tool, and is left alone.
	Asked bool
	// Names is the call that a refusal names, "" for a form of which it says that it is an approval.
	Names string
	// Calls are the calls of the history that ask for it. Where the decision is not handed on, they go too.
	Calls []string
	// Unclear says that two readers could read it in two ways: it never answers.
	Unclear bool
	// Past says that the backend would not look for an answer there any more: AnswerIn has the last word on it.
	Past bool
	// Kept says that once the record knows it as the answer the message stays in the history. Else it goes, for some version
	// would carry it out again.
	Kept bool
	// Rest is the message without its decisions, if it says anything else.
	Rest *agui.Message
}

// A Disarmer is a Dialect whose backends take a tool message for a decision, whatever was asked. The same message may be the answer
// that another backend wants, so it is asked only while nobody knows what a route speaks nor what the thread waits for.
type Disarmer interface {
	// Undeclared are the calls, of tools that the request does not declare, on which such messages decide behind all that was
	// said: proxy hands on only what answers a call that passed (Request.Passed).
	Undeclared(in agui.RunInput) []string
	// Disarmed is the input with each such message, wherever it stands, as what no backend takes for a decision; passed is
	// Request.Passed.
	Disarmed(in agui.RunInput, passed func(call string) bool) agui.RunInput
}

// A Passer is a Run that says what it does not look at, so that a row of such events goes on without being shown to it one by
// one. A Run that is none is shown everything.
type Passer interface {
	// Passes says whether Event would emit each event of the type as it came and learn nothing from it, until it is called
	// with an event of another type. Unknown is one type: all that agui does not list, and what proxy has found opaque. false
	// where it depends on the event. It is not asked about terminal events, and does not allocate.
	Passes(t agui.Type) bool
}

// End is how an exchange ended: exactly one of Event, Status, None or the rest (the stream ended without a terminal
// event, by a cut or cleanly).
type End struct {
	Event  agui.Event // the terminal event, if its Type is set
	Status int        // of an answer that is no event stream: a non-2xx, or a 2xx of another media type
	Body   []byte     // the start of that answer's body, at most 64 KiB
	Cut    bool       // the stream broke off with an error; false: a clean end without a terminal event
	None   bool       // nothing was sent
}

// A Result says how the exchange ended. proxy saves first and tells then: Before, the pause's native events if they
// are shown, snapshots, Finish.
type Result struct {
	Before []agui.Event // what was held back
	// Finish is the terminal event; for a pause RUN_FINISHED without outcome, which proxy writes with the ids that it
	// mints. Zero: proxy ends the run by what it saw (RUN_ERROR where no terminal event came).
	Finish agui.Event
	// Asked is the pause, if it has Interrupts.
	Asked Asked
	// Fate is what became of the answers, where the run did not pause. Next, else the pause, else Fate decides.
	Fate Fate
	// Spoke is the dialect that a Finder has found in the stream: that of the pause if it paused, and of the route from
	// then on. "" where there is nothing new to say.
	Spoke string
	// Untaken are messages of a run without answers that the backend did not take, since it was waiting already: they are
	// new input still when they come with the answers.
	Untaken []agui.Message
	Next    *Exchange // one more in the same client run and claim; this end and the next RUN_STARTED are not told
}

// Warn tells an operator something.
type Warn func(msg string, args ...any)

// Asked is a pause as a dialect gives it. proxy makes the ids, saves it and tells it; all it holds is proxy's from then on.
type Asked struct {
	Interrupts []agui.Interrupt
	Private    json.RawMessage // comes back as Request.Pause.Private
	// Sticky says that the backend keeps the first answer to a question, and replays it whenever the question comes back.
	Sticky bool
	// Own are the events by which the backend itself announced the pause, and OwnFinish is its own terminal event. proxy
	// tells them where the client is shown the backend's form, and to one that asks again. A dialect whose form is not
	// on_interrupt sets them for such a client only (ShowNative).
	Own       []json.RawMessage
	OwnFinish json.RawMessage
	// Shown says that Own went out in its place already.
	Shown bool
}

// Pause is the pause as it goes into the record of a dialect, before proxy has given it ids.
func (a Asked) Pause(dialect string) agui.Pause {
	return agui.Pause{
		Dialect: dialect, Interrupts: a.Interrupts, Private: a.Private, Sticky: a.Sticky, Native: a.Own, NativeFinish: a.OwnFinish,
	}
}

// Fate is what became of the answers that were sent. It says nothing of a run without answers.
type Fate int

// Finished: the run ended as Finish says. Untouched: the run error in Finish certainly means that the backend did nothing,
// and the claim is given back. Lost: the backend does not know the question any more (BACKEND_LOST_INTERRUPT). InDoubt: the
// stream does not tell whether what was approved was carried out (RESUME_IN_DOUBT).
const (
	Finished Fate = iota
	Untouched
	Lost
	InDoubt
)

// An Exchange is one request to the backend and the translation of its answer.
type Exchange struct {
	Out Out
	Run Run
}
