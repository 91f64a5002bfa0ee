package demo

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// An answer is the person's answer to the demonstration's question.
type answer struct {
	kind       answerKind
	newAddress string // the new address of an edit
}

type answerKind string

const (
	approve answerKind = "approve"
	edit    answerKind = "edit"
	deny    answerKind = "deny"
	cancel  answerKind = "cancel"
)

// allAnswers returns one answer of each kind. A demonstration without a terminal gives them in this
// order.
func allAnswers() []answer {
	return []answer{{kind: approve}, {kind: edit, newAddress: otherAddress}, {kind: deny}, {kind: cancel}}
}

const otherAddress = "alice@example.org"

// parseAnswer returns the kind of answer whose name begins with s, such as approve for "a". The
// result is false if there is no such kind.
func parseAnswer(s string) (answerKind, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, a := range allAnswers() {
		if s != "" && strings.HasPrefix(string(a.kind), s) {
			return a.kind, true
		}
	}
	return "", false
}

// entry returns the answer as an entry of the resume array.
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

// editedArguments returns the arguments of the call after an edit.
func (a answer) editedArguments() json.RawMessage {
	return object("to", a.newAddress, "subject", "Report", "body", "All is well.")
}

// decision returns the type of the decision that LangGraph's middleware must get for the answer.
// The result sentTo is the address to which an email must then be sent, or "" if no email may be
// sent.
func (a answer) decision() (kind, sentTo string) {
	switch a.kind {
	case approve:
		return "approve", "bob@example.org"
	case edit:
		return "edit", a.newAddress
	}
	return "reject", ""
}
