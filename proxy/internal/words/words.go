// Package words has the texts and ids that Holdpoint writes into a chat and later recognizes in its
// history: the results that it sends for calls, and the ids of messages that show a question as a
// text. They are recognized by the text alone, so this works after a restart too. Other packages
// decide when they are sent and removed.
package words

import "strings"

// The results that Holdpoint sends for calls. A .NET client carries out an answered call that got
// no result, and many backends send none.
const (
	Approved = "Holdpoint: this was approved and handed on. The agent told no result of it."
	Denied   = "Holdpoint: this was not approved. The agent told no result of it."
	Answered = "Holdpoint: the answer was handed on. The agent told no result of it."
	InDoubt  = "Holdpoint: the answer was handed on, and it is not known whether this was done."
)

// IsOwn reports whether a text is one of the results that Holdpoint sends for calls.
func IsOwn(text string) bool {
	switch text {
	case Approved, Denied, Answered, InDoubt:
		return true
	}
	return false
}

// questionPrefix begins the id of a message that shows a question as a text.
const questionPrefix = "holdpoint-question-"

// QuestionID returns the id of the message that shows a question as a text.
func QuestionID(interruptID string) string { return questionPrefix + interruptID }

// QuestionOf is the inverse of QuestionID: it returns the id of the question that a message with
// this id shows. ok is false if the message shows no question.
func QuestionOf(messageID string) (interruptID string, ok bool) {
	return strings.CutPrefix(messageID, questionPrefix)
}
