// Package contract implements the interrupt contract as pure functions: the same case always gets
// the same ruling, and the functions change nothing. The package does not know HTTP, the engines of
// the store, or backends; the caller describes the request in a Case. It follows
// https://docs.ag-ui.com/concepts/interrupts; docs/contract.md has the rules with their tests.
//
// Package proxy uses it for the requests of a chat. Package contract does not import proxy, because
// other doors use it too: a door is a way in which a question can be answered, such as the desk.
package contract

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Case is the input of Judge. Judge does not change the Case.
type Case struct {
	// Input is the client's request, unchanged.
	Input agui.RunInput
	// Answers has the answers in the request, in whatever form they were sent. It is nil if the
	// request has none.
	Answers []agui.Answer
	// ReadFor is the id of a pause, open or ended. The answers were read from the request as
	// answers to the questions of this pause. It is "" if no pause was known.
	ReadFor string
	// ReadError says why the answers could not be read. It is nil if they could.
	ReadError *agui.RunError
	// RepeatedAnswers has the messages that only repeat the recorded answers to pauses that have
	// ended.
	RepeatedAnswers []agui.SeenMessage
	// MixedMessages has those messages of Answers or RepeatedAnswers that contain other content
	// besides the answer.
	MixedMessages []agui.SeenMessage
	// EndsInStrayDecision reports that the end of the request is a decision on an unknown question.
	// StrayCallID is the id of the call that the decision names, or "" if it names no call.
	EndsInStrayDecision bool
	StrayCallID         string
	// UnaskedCallID is the id of the call on which the last message of the request decides, if the
	// record has no question about this call. Otherwise it is "". It is ignored if the request has
	// answers.
	UnaskedCallID string
	// Record is the record of the thread in the store.
	Record store.Record
	// Carry is set if Holdpoint itself makes the request in order to send the decisions on a pause
	// to the backend. It is the id of that pause. Such a request either resumes this pause or does
	// nothing. It never becomes an ordinary run.
	Carry string
	// OtherPrincipal reports that the record belongs to another principal.
	OtherPrincipal bool
	// OtherThread reports that Record is not the record of the thread that the request names. It is
	// the record of another thread, which has the question that the request answers. Apart from
	// this question, the record does not affect the request.
	OtherThread bool
	// NewThreads reports that the client is a .NET client, which uses a new thread for each run
	// unless the application keeps the thread.
	NewThreads bool
	// GivesUp reports that the client cannot answer the open pause in any form, and was sent the
	// question as a text. A new message of the user then cancels the pause.
	GivesUp bool
	// InMemory reports that the store keeps the record in memory: a restart loses the record, and
	// other processes cannot read it.
	InMemory bool
	// ForwardsCancel reports whether a cancel of a pause that ended in doubt must be sent to the
	// backend. This is so if the backend may still wait and does not read a cancel as an approval.
	// ForwardsCancel is also called for a pause with CancelEnds whose run ended in an error. A nil
	// ForwardsCancel counts as a function that returns false.
	ForwardsCancel func(p *agui.Pause) bool
	// LocksThread reports whether a new message would block the thread forever if the backend still
	// waits for an answer to p, a pause that ended in doubt. A nil LocksThread counts as a function
	// that returns false.
	LocksThread func(p *agui.Pause) bool
	// NamedPause is a pause made of questions that are not on record but that clients of the thread
	// have named. It is set only if the backend is known and reads a cancel as a denial. Its
	// SeenMessages are the messages that do not count as new. It is nil if there are no such
	// questions.
	NamedPause *agui.Pause
	// RecordedResults returns a function that reports whether a message repeats a result that is on
	// record: at the end of the pause of ended, or at the open pause if ended is nil. Some clients
	// give the message another id than the stream. If RecordedResults is nil, only ids count.
	RecordedResults func(ended *store.Result) func(m agui.Message) bool
	// Valid checks a payload against a responseSchema. A nil payload counts as null.
	Valid func(schema, payload json.RawMessage) error
}

// A Ruling says what proxy must do with a request.
type Ruling struct {
	Do Act
	// Refusal is the error that the client gets. It is set if Do is Refuse.
	Refusal *agui.RunError
	// Standing describes the answers that are valid instead of the refused answers. It may be set
	// if Do is Refuse, or if AnswersUnused is set. It is nil if there are no such answers.
	Standing *Standing
	// AsksAgain reports that the open pause may be sent to the client again. It may be set if Do is
	// Refuse.
	AsksAgain bool
	// EndKind is the way in which the open pause ends before proxy acts, or "" if the pause does
	// not end. Withdrawn: the pause is given up, because no answer to it can be sent. Doubtful: the
	// refusal tells the client that the answers may or may not have been carried out.
	EndKind store.EndKind
	// Answers has one answer for each question, in the pause's order. It is set if Do is Resume.
	Answers []agui.Answer
	// EndOnly reports that the answers are cancels which only end the waiting run, see
	// translate.Request.EndOnly. It may be set if Do is Resume.
	EndOnly bool
	// NewMessages has the messages that the record does not have. It is set if Do is Resume, and if
	// MissedEnd is set.
	NewMessages []agui.Message
	// Replay is the stored end that is sent to the client again. If Do is Reopen, it is the result
	// of the ended pause.
	Replay *store.Result
	// MissedEnd is the end of a pause that the chat has not seen. It may be set if Do is Pass. The
	// messages on record then replace the older messages of the request, and NewMessages has the
	// rest.
	MissedEnd *store.Result
	// OmittedParts is the set of the parts of the request that are not sent to the backend.
	OmittedParts OmittedParts
	// AnswersUnused is the reason why the answers in the request are not used. If Do is Pass or
	// Resume, the answers were sent with a new message, but the run with the first answers ended in
	// an error of which this request's client was not told. A Resume then sends the decisions that
	// were made elsewhere. If Do is EmptyRun, it is the reason why a cancel is not sent.
	AnswersUnused *agui.RunError
}

// An Act is what proxy does with a request.
type Act int

const (
	// Pass: the request is an ordinary run. proxy sends it to the backend.
	Pass Act = iota
	// Resume: every question has an answer. proxy claims the pause, and then sends the answers.
	Resume
	// TellAgain: proxy sends the open pause to the client again.
	TellAgain
	// EmptyRun: proxy sends the client an empty run, because the request has no answer and nothing
	// new.
	EmptyRun
	// Replay: an earlier run had the same answers. proxy sends the client the stored end of that
	// run.
	Replay
	// Wait: another run is sending the same answers. proxy waits until that run has ended, and then
	// judges the request again.
	Wait
	// Refuse: proxy ends the run with RUN_ERROR.
	Refuse
	// Reopen: proxy opens the ended pause again, only so that it can be cancelled, and then judges
	// the request again.
	Reopen
)

// OmittedParts is a set of bits. Each bit stands for a part of a request that is not sent to the
// backend.
type OmittedParts int

const (
	// OmitArray stands for the resume array.
	OmitArray OmittedParts = 1 << iota
	// OmitCommand stands for an answer in forwardedProps.command.
	OmitCommand
)
