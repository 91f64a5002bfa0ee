// Package words holds what Holdpoint writes itself into a chat and finds again in its history: the
// results that it tells of calls, and the ids of the messages that tell a question as a text. They
// are known again by the text alone, so a restart forgets none. Whoever tells them and whoever
// takes them out of a request decides that elsewhere.
package words

import "strings"

// The results that Holdpoint tells of calls. A client of .NET's carries out an answered call that
// got no result, and many backends tell none.
const (
	Approved = "Holdpoint: this was approved and handed on. The agent told no result of it."
	Denied   = "Holdpoint: this was not approved. The agent told no result of it."
	Answered = "Holdpoint: the answer was handed on. The agent told no result of it."
	InDoubt  = "Holdpoint: the answer was handed on, and it is not known whether this was done."
)

// IsOwn reports whether a text is what Holdpoint says as the result of a call.
func IsOwn(text string) bool {
	switch text {
	case Approved, Denied, Answered, InDoubt:
		return true
	}
	return false
}

// questionPrefix begins the id of a message that tells a question as a text.
const questionPrefix = "holdpoint-question-"

// QuestionID returns the id of the message that tells a question as a text.
func QuestionID(interruptID string) string { return questionPrefix + interruptID }

// QuestionOf returns the question that the id of such a message names. ok is false for the id of
// any other message.
func QuestionOf(messageID string) (interruptID string, ok bool) {
	return strings.CutPrefix(messageID, questionPrefix)
}
