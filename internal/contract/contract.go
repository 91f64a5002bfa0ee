// Package contract is the interrupt contract as functions. The same case has the same ruling, and
// asking changes nothing. It knows no HTTP, no store's engine and no backend. Whoever reads a
// request tells it what the request says. It follows https://docs.ag-ui.com/concepts/interrupts;
// docs/contract.md has the rules with their tests.
//
// It stands beside proxy and not below it. Whoever takes answers at another door than a chat asks
// it too.
package contract

import (
	"encoding/json"

	"holdpoint/internal/agui"
	"holdpoint/store"
)

// A Case is all that Judge goes by. Nothing of it is changed.
type Case struct {
	// Input is the request as it came.
	Input agui.RunInput
	// Answers are what the request answers, by whatever form; nil if it answers nothing.
	Answers []agui.Answer
	// ReadFor is the id of the pause that they were read for, "" if none was known.
	ReadFor string
	// Unread is why the answers could not be read.
	Unread *agui.RunError
	// Settled are the messages by which ended pauses were answered, just so.
	Settled []agui.SeenMessage
	// Mixed are the messages with an answer, of Answers or Settled, that say something else too.
	Mixed []agui.SeenMessage
	// Stray reports that the request ends with a decision on an unknown question. StrayNames
	// is the call that it names, if that can be told.
	Stray      bool
	StrayNames string
	// Unasked is a call, "" if there is none, that the request's last word decides on, and that
	// nobody knows to have asked. It counts only where the request has no answers.
	Unasked string
	// Record is what the store holds for the thread.
	Record store.Record
	// Carry is the id of a pause, for a request that Holdpoint itself makes to carry it. Such a
	// request does that or nothing: it never becomes an ordinary run.
	Carry string
	// Stranger says that the record is another principal's.
	Stranger bool
	// Elsewhere reports that the record is of another thread than the one that the request names, and
	// holds the question that the request answers. Nothing else that it holds is in the way of the
	// request.
	Elsewhere bool
	// NewThreads reports that the client is one of .NET's, which take a new thread for each run unless
	// the application keeps it.
	NewThreads bool
	// GivesUp reports that the client can answer the open pause in no form, and was told it as a text.
	// A new message of its person cancels the pause.
	GivesUp bool
	// InMemory says that the record's store loses it with the process, and shares it with no other.
	InMemory bool
	// Frees reports whether a cancel of a pause that ended in doubt is to be handed on all the same:
	// its backend may still wait, and takes a cancel for no yes. The same holds of a pause with
	// CancelEnds whose run ended in an error. A nil Frees reports false.
	Frees func(p *agui.Pause) bool
	// Locks reports whether a new message would lock the thread for good if its backend still waits
	// for an answer to a pause that ended in doubt. A nil Locks reports false.
	Locks func(p *agui.Pause) bool
	// Named is a pause of the questions that clients of the thread named and that the record does not
	// know, if their backend is known and takes a cancel for a no. Its Seen are the messages that are
	// not new. It is nil if there are none.
	Named *agui.Pause
	// Valid judges a payload by a responseSchema; a payload of nil is null.
	Valid func(schema, payload json.RawMessage) error
}

// A Ruling is what is to be done with a request.
type Ruling struct {
	Do Act
	// Refusal is why, with Refuse.
	Refusal *agui.RunError
	// Stands, with Refuse and NotTaken, is what stands in place of the answers; nil if nothing does.
	Stands *Standing
	// Reask, with Refuse: the open pause may be told again.
	Reask bool
	// Ends says how the open pause ends before anything else is done; "" if it does not end so.
	// Withdrawn: it is given up, for nothing that may be said to it can be handed on. Doubtful: the
	// refusal tells the doubt.
	Ends store.How
	// Answers, with Resume, are one for each question, in the pause's order.
	Answers []agui.Answer
	// EndOnly, with Resume: the answers are cancels that end what waits, see
	// translate.Request.EndOnly.
	EndOnly bool
	// New, with Resume and Missed, are the messages that the record lacks.
	New []agui.Message
	// Replay, with Replay, is the end that is told again. With Reopen it is how the pause ended.
	Replay *store.Result
	// Missed, with Pass, is an end that the chat has not seen. What the record knows of the thread by
	// then takes the place of the request's older messages; New are the others.
	Missed *store.Result
	// Leave is what does not go to the backend.
	Leave Leave
	// NotTaken, with Pass and Resume, is why the answers beside a new message do not count: the
	// question ended in an error, and nobody was told so of this request yet. A Resume carries what
	// was decided elsewhere then. With Quiet it is why a cancel goes to nobody.
	NotTaken *agui.RunError
}

// An Act is what is done with a request.
type Act int

const (
	// Pass: it is an ordinary run, and goes to the backend.
	Pass Act = iota
	// Resume: the answers are complete. They are claimed, then sent.
	Resume
	// TellAgain tells the open pause again.
	TellAgain
	// Quiet is an empty run: there was nothing to answer and nothing new.
	Quiet
	// Replay tells how the pause ended that these answers ended.
	Replay
	// Wait until the same answers, which are on their way, have come to their end. Then judge
	// again.
	Wait
	// Refuse ends in RUN_ERROR.
	Refuse
	// Reopen the ended pause, for a cancel and nothing else. Then judge again.
	Reopen
)

// Leave are bits: what of a request stays behind.
type Leave int

const (
	// LeaveArray: the resume array.
	LeaveArray Leave = 1 << iota
	// LeaveCommand: an answer in forwardedProps.command.
	LeaveCommand
)
