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
	// Unread is the error if the answers could not be read.
	Unread *agui.RunError
	// Settled are the messages that repeat the answers on record of ended pauses.
	Settled []agui.SeenMessage
	// Mixed are the messages that have an answer of Answers or Settled and also other content.
	Mixed []agui.SeenMessage
	// Stray reports that the request ends with a decision on an unknown question. StrayNames is the id
	// of the call that the decision names, if it names one.
	Stray      bool
	StrayNames string
	// Unasked is the id of a call that the request's last message decides on although no question
	// about the call is on record. It is "" if there is none, and is ignored if the request has
	// answers.
	Unasked string
	// Record is the record of the thread in the store.
	Record store.Record
	// Carry is the id of a pause if Holdpoint itself makes the request in order to send the pause's
	// decisions to the backend. Such a request carries this pause or does nothing. It never becomes an
	// ordinary run.
	Carry string
	// Stranger reports that the record belongs to another principal.
	Stranger bool
	// Elsewhere reports that Record is the record of another thread than the one that the request
	// names, because that record has the question that the request answers. Nothing else in it affects
	// the request.
	Elsewhere bool
	// NewThreads reports that the client is a .NET client, which uses a new thread for each run unless
	// the application keeps the thread.
	NewThreads bool
	// GivesUp reports that the client cannot answer the open pause in any form and was sent the
	// question as a text. Then a new message of the user cancels the pause.
	GivesUp bool
	// InMemory reports that the store of the record is in memory: a restart loses it, and other
	// processes do not share it.
	InMemory bool
	// Frees reports whether a cancel of a pause that ended in doubt is to be sent to the backend. It
	// is if the backend may still wait and does not read a cancel as an approval. Frees is also called
	// for a pause with CancelEnds whose run ended in an error. A nil Frees reports false.
	Frees func(p *agui.Pause) bool
	// Locks reports whether a new message would block the thread forever if the backend still waits
	// for an answer to a pause that ended in doubt. A nil Locks reports false.
	Locks func(p *agui.Pause) bool
	// Named is a pause made of the questions that clients of the thread named and that are not on
	// record, if their backend is known and reads a cancel as a denial. Its Seen are the messages that
	// are not new. It is nil if there are no such questions.
	Named *agui.Pause
	// Valid checks a payload against a responseSchema. A nil payload counts as null.
	Valid func(schema, payload json.RawMessage) error
}

// A Ruling is the decision on a request.
type Ruling struct {
	Do Act
	// Refusal is the error of an act Refuse.
	Refusal *agui.RunError
	// Stands, with Refuse and NotTaken, describes the answers that are valid instead of the refused
	// ones. It is nil if there are none.
	Stands *Standing
	// Reask, with Refuse, reports that the open pause may be sent to the client again.
	Reask bool
	// Ends is the way in which the open pause ends before the act is done, or "" if it does not end.
	// Withdrawn: the pause is given up, because no answer to it can be sent. Doubtful: the refusal
	// reports the doubt.
	Ends store.How
	// Answers, with Resume, has one answer for each question, in the pause's order.
	Answers []agui.Answer
	// EndOnly, with Resume, reports that the answers are cancels that end the waiting run, see
	// translate.Request.EndOnly.
	EndOnly bool
	// New, with Resume and Missed, are the messages that the record does not have.
	New []agui.Message
	// Replay is the stored end that is sent again. With Reopen it is the way in which the pause ended.
	Replay *store.Result
	// Missed, with Pass, is an end that the chat has not seen. The messages on record replace the
	// older messages of the request; New are the others.
	Missed *store.Result
	// Leave lists the parts of the request that are not sent to the backend.
	Leave Leave
	// NotTaken, with Pass and Resume, is why the answers sent with a new message are not used: the run
	// with the first answers ended in an error, and this request's client was not told. A Resume then
	// sends the decisions that were made elsewhere. With Quiet it is why a cancel is not sent.
	NotTaken *agui.RunError
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
	// Quiet: the client gets an empty run, because the request has no answer and nothing new.
	Quiet
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

// Leave is a set of bits for the parts of a request that are not sent to the backend.
type Leave int

const (
	// LeaveArray: the resume array.
	LeaveArray Leave = 1 << iota
	// LeaveCommand: an answer in forwardedProps.command.
	LeaveCommand
)
