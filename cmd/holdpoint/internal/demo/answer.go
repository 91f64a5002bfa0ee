package demo

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// An answer is what the human says to the question.
type answer struct {
	kind answerKind
	to   string // of an edit: the address to send to instead
}

type answerKind string

const (
	approve answerKind = "approve"
	edit    answerKind = "edit"
	deny    answerKind = "deny"
	cancel  answerKind = "cancel"
)

// allAnswers returns all four answers. A demonstration without a terminal gives them in this order.
func allAnswers() []answer {
	return []answer{{kind: approve}, {kind: edit, to: otherAddress}, {kind: deny}, {kind: cancel}}
}

const otherAddress = "alice@example.org"

// parseAnswer takes a word or its first letter.
func parseAnswer(s string) (answerKind, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, a := range allAnswers() {
		if s != "" && strings.HasPrefix(string(a.kind), s) {
			return a.kind, true
		}
	}
	return "", false
}

// entry returns the answer to an interrupt as an entry of the resume array.
func (a answer) entry(interrupt gjson.Result) json.RawMessage {
	id := interrupt.Get("id").Str
	switch a.kind {
	case approve:
		return object("interruptId", id, "status", "resolved", "payload", object("approved", true))
	case edit:
		return object("interruptId", id, "status", "resolved", "payload", object("approved", true, "editedArgs", a.editedArguments()))
	case deny:
		return object("interruptId", id, "status", "resolved", "payload", object("approved", false, "message", "not today"))
	}
	return object("interruptId", id, "status", "cancelled")
}

// editedArguments returns the arguments that an edit asks for.
func (a answer) editedArguments() json.RawMessage {
	return object("to", a.to, "subject", "Report", "body", "All is well.")
}

// decision returns what LangGraph's middleware must be told, and sent whether an email must follow,
// to whom.
func (a answer) decision() (kind, sentTo string) {
	switch a.kind {
	case approve:
		return "approve", "bob@example.org"
	case edit:
		return "edit", a.to
	}
	return "reject", ""
}
