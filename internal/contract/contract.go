// Package contract implements the interrupt contract as pure functions: the same case always gets
// the same ruling, and nothing is changed. It has no knowledge of HTTP, of the engines of the store
// or of backends; the caller describes the request in a Case. It follows
// https://docs.ag-ui.com/concepts/interrupts; docs/contract.md has the rules with their tests.
//
// Package proxy uses it for the requests of a chat. It does not depend on proxy, because other
// doors (the desk) use it too.
package contract

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Case is the input of Judge. Judge does not change it.
type Case struct {
	// Input is the client's request, unchanged.
	Input agui.RunInput
	// Answers are the answers in the request, in whatever form they were sent; nil if there are none.
	Answers []agui.Answer
	// ReadFor is the id of the pause that the answers were read for, or "" if no pause was known.
	ReadFor string
	// ReadError is the error if the answers could not be read.
	ReadError *agui.RunError
	// RepeatedAnswers are the messages that repeat the answers on record of ended pauses.
	RepeatedAnswers []agui.SeenMessage
	// MixedMessages are the messages that have an answer of Answers or RepeatedAnswers and also other
	// content.
	MixedMessages []agui.SeenMessage
	// EndsInStrayDecision reports that the request ends with a decision on an unknown question.
	// StrayCallID is the id of the call that the decision names, if it names one.
	EndsInStrayDecision bool
	StrayCallID         string
	// UnaskedCallID is the id of a call that the request's last message decides on although no
	// question about the call is on record. It is "" if there is none, and is ignored if the request
	// has answers.
	UnaskedCallID string
	// Record is the record of the thread in the store.
	Record store.Record
	// Carry is the id of a pause if Holdpoint itself makes the request in order to send the pause's
	// decisions to the backend. Such a request carries this pause or does nothing. It never becomes an
	// ordinary run.
	Carry string
	// OtherPrincipal reports that the record belongs to another principal.
	OtherPrincipal bool
	// OtherThread reports that Record is the record of another thread than the one that the request
	// names, because that record has the question that the request answers. Nothing else in it affects
	// the request.
	OtherThread bool
	// NewThreads reports that the client is a .NET client, which uses a new thread for each run unless
	// the application keeps the thread.
	NewThreads bool
	// GivesUp reports that the client cannot answer the open pause in any form and was sent the
	// question as a text. Then a new message of the user cancels the pause.
	GivesUp bool
	// InMemory reports that the store of the record is in memory: a restart loses it, and other
	// processes do not share it.
	InMemory bool
	// ForwardsCancel reports whether a cancel of a pause that ended in doubt is to be sent to the
	// backend. It is if the backend may still wait and does not read a cancel as an approval.
	// ForwardsCancel is also called for a pause with CancelEnds whose run ended in an error. A nil
	// ForwardsCancel reports false.
	ForwardsCancel func(p *agui.Pause) bool
	// LocksThread reports whether a new message would block the thread forever if the backend still
	// waits for an answer to a pause that ended in doubt. A nil LocksThread reports false.
	LocksThread func(p *agui.Pause) bool
	// NamedPause is a pause made of the questions that clients of the thread named and that are not on
	// record, if their backend is known and reads a cancel as a denial. Its Seen are the messages that
	// are not new. It is nil if there are no such questions.
	NamedPause *agui.Pause
	// Valid checks a payload against a responseSchema. A nil payload counts as null.
	Valid func(schema, payload json.RawMessage) error
}

// A Ruling is the decision on a request.
type Ruling struct {
	Do Act
	// Refusal is the error of an act Refuse.
	Refusal *agui.RunError
	// Standing, with Refuse and AnswersUnused, describes the answers that are valid instead of the
	// refused ones. It is nil if there are none.
	Standing *Standing
	// AsksAgain, with Refuse, reports that the open pause may be sent to the client again.
	AsksAgain bool
	// EndKind is the way in which the open pause ends before the act is done, or "" if it does not
	// end. Withdrawn: the pause is given up, because no answer to it can be sent. Doubtful: the
	// refusal reports the doubt.
	EndKind store.EndKind
	// Answers, with Resume, has one answer for each question, in the pause's order.
	Answers []agui.Answer
	// EndOnly, with Resume, reports that the answers are cancels that end the waiting run, see
	// translate.Request.EndOnly.
	EndOnly bool
	// NewMessages, with Resume and MissedEnd, are the messages that the record does not have.
	NewMessages []agui.Message
	// Replay is the stored end that is sent again. With Reopen it is the way in which the pause ended.
	Replay *store.Result
	// MissedEnd, with Pass, is an end that the chat has not seen. The messages on record replace the
	// older messages of the request; NewMessages are the others.
	MissedEnd *store.Result
	// OmittedParts lists the parts of the request that are not sent to the backend.
	OmittedParts OmittedParts
	// AnswersUnused, with Pass and Resume, is why the answers sent with a new message are not used:
	// the run with the first answers ended in an error, and this request's client was not told. A
	// Resume then sends the decisions that were made elsewhere. With EmptyRun it is why a cancel is
	// not sent.
	AnswersUnused *agui.RunError
}

// An Act is what proxy does with a request.
type Act int

const (
	// Pass: the request is an ordinary run, and is sent to the backend.
	Pass Act = iota
	// Resume: the answers are complete. proxy claims the pause, then sends them.
	Resume
	// TellAgain: the open pause is sent to the client again.
	TellAgain
	// EmptyRun: the client gets an empty run, because the request has no answer and nothing new.
	EmptyRun
	// Replay: the client gets the stored end of the run with the same answers.
	Replay
	// Wait: the same answers are already being sent. proxy waits for the end of that run and judges
	// the request again.
	Wait
	// Refuse: the run ends with RUN_ERROR.
	Refuse
	// Reopen: the ended pause is opened again, only to be cancelled. Then proxy judges the request
	// again.
	Reopen
)

// OmittedParts is a set of bits for the parts of a request that are not sent to the backend.
type OmittedParts int

const (
	// OmitArray: the resume array.
	OmitArray OmittedParts = 1 << iota
	// OmitCommand: an answer in forwardedProps.command.
	OmitCommand
)
