// Package words has texts and ids that Holdpoint writes into a chat, and recognizes when they come
// back in the history of a request. These are the results that Holdpoint makes for calls, and the
// ids of messages that show a question as a text. They are recognized by their text alone, so this
// works after a restart too. Other packages decide when Holdpoint sends and removes them.
package words

import "strings"

// IsOwn reports whether a text is one of the results that Holdpoint makes for calls.
func IsOwn(text string) bool {
	switch text {
	case Approved, Denied, Answered, InDoubt:
		return true
	}
	return false
}

// questionPrefix is the beginning of the id of a message that shows a question as a text.
const questionPrefix = "holdpoint-question-"

// QuestionID returns the id of the message that shows a question as a text.
func QuestionID(interruptID string) string { return questionPrefix + interruptID }

// QuestionOf is the inverse of QuestionID: it returns the id of the question that the message with
// this id shows. ok is false if the message does not show a question.
func QuestionOf(messageID string) (interruptID string, ok bool) {
	return strings.CutPrefix(messageID, questionPrefix)
}
