package history

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A backend may take a tool message for a decision on a call that the record does not know to have
// asked: Holdpoint was started anew, or somebody made the call up (translate.DecisionReader). The
// same message may be the answer that a backend of another kind waits for. So Holdpoint notes which
// calls the streams of a thread have left to the client (leftcalls.go).

// An unjudgedMessage is a tool message that a backend could take for a decision, on a call that
// nobody knows to have asked.
type unjudgedMessage struct {
	at    int
	call  string // "" if the message names none
	shown bool   // the messages hold the call
}

// unjudgedMessages returns the unjudged messages before the words that end the request, or after
// them (last).
func (v *View) unjudgedMessages(last bool) []unjudgedMessage {
	reader := v.Dialect.Decisions
	if reader == nil || v.Carries {
		return nil
	}
	end := endOfWords(v.Input.Messages)
	from, to := 0, end
	if last {
		from, to = end, len(v.Input.Messages)
	}
	var list []unjudgedMessage
	var claims *kit.ClaimedCalls // nil until it is needed
	var known, left map[string]bool
	for at := from; at < to; at++ {
		m := v.Input.Messages[at]
		if m.Plain && !strings.EqualFold(m.Role, "tool") || !kit.IsTool(agui.View(m.JSON)) || !reader.Decides(m, last, v.Spoken) {
			continue
		}
		if claims == nil {
			// What a message says on a call that a question is about is related to that question
			// (ReadReplies).
			claims, known, left = kit.ClaimsOf(*v.Input), askedCalls(v.pauses()...), leftCalls(v.Record)
		}
		for _, call := range kit.AnsweredCalls(gjson.ParseBytes(m.JSON)) {
			own, shown := claims.Own(call)
			if !known[call] && !v.mayAnswer(call, own, shown, left) {
				list = append(list, unjudgedMessage{at, call, shown})
				break
			}
		}
	}
	return list
}

// mayAnswer reports whether the client may answer a call that the record does not know. own reports
// that the request claims the call for one of the client's tools, and shown that its messages hold
// the call. left are the calls that the record has noted.
//
// A call that a stream of the thread left to the client is the client's. The claim alone is
// believed only while nobody knows what the route speaks, because the backend may be of any kind,
// and only if a restart may have lost the note of the call. While the store cannot be asked it is
// never believed, because the call may have asked.
func (v *View) mayAnswer(call string, own, shown bool, left map[string]bool) bool {
	if own && v.Spoken == "" && v.InMemory && !v.NotAsked {
		return true
	}
	if !shown {
		own = len(v.Input.Tools) > 0 // a client need not send the call with its result
	}
	return v.Memory.Passed(call, false) || own && v.isLeft(call, left)
}

// Unasked returns a call that the request's last messages decide on, although nobody knows that it
// asked. It is "" if there is no such call.
func Unasked(v *View) string {
	for _, one := range v.unjudgedMessages(true) {
		return cmp.Or(one.call, "without an id")
	}
	return ""
}

// Disarm returns the messages of the request with those made harmless that could be read as
// decisions and that words follow: they are of another day. A message on a call that the history
// does not hold goes. count is how many there are; list is the request's own if there are none.
func Disarm(v *View) (list []agui.Message, count int) {
	found := v.unjudgedMessages(false)
	if count = len(found); count == 0 {
		return v.Input.Messages, 0
	}
	list = make([]agui.Message, 0, len(v.Input.Messages))
	for at, m := range v.Input.Messages {
		if len(found) > 0 && found[0].at == at {
			shown := found[0].shown
			if found = found[1:]; !shown {
				continue
			}
			m = v.Dialect.Decisions.Harmless(m)
		}
		list = append(list, m)
	}
	return list, count
}

// endOfWords returns the place after the last message of a user or of the assistant.
func endOfWords(list []agui.Message) int {
	at := len(list)
	for at > 0 && list[at-1].Role != "user" && list[at-1].Role != "assistant" {
		at--
	}
	return at
}
