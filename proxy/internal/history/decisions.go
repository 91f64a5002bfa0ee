package history

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A backend may read a tool message as a decision on a call that has no question on record, because
// Holdpoint was restarted or somebody made the call up (translate.DecisionReader). For a backend of
// another kind, the same message may be the result that it waits for. So Holdpoint remembers which
// calls the streams of a thread have left to the client (leftcalls.go).

// An unjudgedMessage is a tool message that a backend could read as a decision, on a call that has
// no question on record.
type unjudgedMessage struct {
	at    int
	call  string // "" if the message names no call
	shown bool   // the messages have the call
}

// unjudgedMessages returns the unjudged messages after the last message of the user or the
// assistant (last), or before it.
func (v *View) unjudgedMessages(last bool) []unjudgedMessage {
	reader := v.Dialect.Decisions
	if reader == nil || v.CarriesDecisions {
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
		if m.Plain && !strings.EqualFold(m.Role, "tool") || !kit.IsTool(agui.View(m.JSON)) || !reader.Decides(m, last, v.KnownDialect) {
			continue
		}
		if claims == nil {
			// ReadReplies handles messages about a call that a question is about.
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

// mayAnswer reports whether the client may send a result for a call that has no question on record.
// own reports that the request declares the tool of the call, and shown that its messages have the
// call. left are the calls that the record notes as left to the client.
//
// A call that a stream of the thread left to the client may be answered. Otherwise the declaration
// alone counts only while the dialect of the route is unknown, because the backend may be of any
// kind, and only if a restart may have lost the note of the call. While the store cannot be reached
// it never counts, because the call may have a question.
func (v *View) mayAnswer(call string, own, shown bool, left map[string]bool) bool {
	if own && v.KnownDialect == "" && v.InMemory && !v.NotAsked {
		return true
	}
	if !shown {
		own = len(v.Input.Tools) > 0 // a client may send the result without the call
	}
	return v.Memory.IsLeftToClient(call, false) || own && v.isLeft(call, left)
}

// UnaskedCall returns a call that the last messages of the request decide on although no question
// about it is on record, "" if there is none.
func UnaskedCall(v *View) string {
	for _, one := range v.unjudgedMessages(true) {
		return cmp.Or(one.call, textWithoutID)
	}
	return ""
}

// Disarm returns the messages of the request in which messages that could be read as decisions, and
// that later text follows, are rewritten so that they cannot be: they are old. Such a message is
// removed if the history does not have its call. count is the number of these messages; if it is 0,
// list is the request's own.
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

// endOfWords returns the index after the last message of a user or of the assistant.
func endOfWords(list []agui.Message) int {
	at := len(list)
	for at > 0 && list[at-1].Role != "user" && list[at-1].Role != "assistant" {
		at--
	}
	return at
}
