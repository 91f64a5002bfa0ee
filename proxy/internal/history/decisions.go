package history

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// A backend may read a tool message as a decision on a call although no question about the call is
// on record. The record may be lost after a restart, or somebody may have made the call up
// (translate.DecisionReader). For another kind of backend, the same message may be the result for
// which it waits. So Holdpoint remembers which calls the streams of a thread have left to the
// client (leftcalls.go).

// An unjudgedMessage is a tool message about a call that has no question on record, and that a
// backend could read as a decision.
type unjudgedMessage struct {
	at    int
	call  string // "" if the message names no call
	shown bool   // the messages of the request contain the call
}

// unjudgedMessages returns some of the unjudged messages of the request. If isLast is true, these
// are the ones after the last message of the user or the assistant. If isLast is false, they are
// the ones before it.
func (v *View) unjudgedMessages(isLast bool) []unjudgedMessage {
	reader := v.Dialect.Decisions
	if reader == nil || v.CarriesDecisions {
		return nil
	}
	end := endOfWords(v.Input.Messages)
	from, to := 0, end
	if isLast {
		from, to = end, len(v.Input.Messages)
	}
	var list []unjudgedMessage
	var claims *kit.ClaimedCalls // nil until it is needed
	var known, left map[string]bool
	isTurnResult := v.turnResults()
	for at := from; at < to; at++ {
		m := v.Input.Messages[at]
		if m.Plain && !strings.EqualFold(m.Role, "tool") || !kit.IsTool(agui.View(m.JSON)) || !reader.Decides(m, isLast, v.KnownDialect) || isTurnResult(m) {
			continue
		}
		if claims == nil {
			// If a question is about the call, ReadReplies handles the message.
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
// own is true if the request declares the tool of the call. shown is true if the request's messages
// contain the call. left are the calls about which the record notes that they were left to the
// client.
//
// If a stream of the thread left the call to the client, the client may answer it. Otherwise own
// alone counts only under three conditions. The dialect of the route must be unknown, so that the
// backend may be of any kind. A restart must be able to have lost the note of the call. And the
// record must be loaded, because otherwise the call may have a question.
func (v *View) mayAnswer(call string, own, shown bool, left map[string]bool) bool {
	if own && v.KnownDialect == "" && v.InMemory && !v.NotAsked {
		return true
	}
	if !shown {
		own = len(v.Input.Tools) > 0 // a client may send a result without its call
	}
	return v.Memory.IsLeftToClient(call, false) || own && v.isLeft(call, left)
}

// UnaskedCall returns a call on which the last messages of the request decide, although no question
// about it is on record. It returns "" if there is none.
func UnaskedCall(v *View) string {
	for _, one := range v.unjudgedMessages(true) {
		return cmp.Or(one.call, textWithoutID)
	}
	return ""
}

// Disarm returns the messages of the request. It rewrites messages that could be read as decisions
// and that later text follows. Such decisions are old, so no backend may read them as decisions. If
// the history does not contain the call of such a message, the message is removed. count is the
// number of messages that were rewritten or removed. If it is 0, list is the request's own list.
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

// turnResults returns a function that reports whether a message is a result that the record has
// from the turn that asked the open question. The backend sent such a result itself, or Holdpoint
// let it pass when the turn began. So the message is not a decision, whatever its text is.
func (v *View) turnResults() func(agui.Message) bool {
	isResult := func(m agui.Message) bool { return m.Role == "tool" && m.ToolCallID != "" }
	known := sync.OnceValue(func() map[callResult]bool {
		set := map[callResult]bool{}
		for _, m := range slices.Backward(MessagesIn(v.askedMessages())) {
			if m.Role == "user" {
				break
			}
			if isResult(m) {
				set[resultOf(m)] = true
			}
		}
		return set
	})
	// a message with further keys could contain another decision
	return func(m agui.Message) bool { return isResult(m) && m.Plain && known()[resultOf(m)] }
}

// endOfWords returns the index after the last message of a user or of the assistant in the list.
func endOfWords(list []agui.Message) int {
	at := len(list)
	for at > 0 && list[at-1].Role != "user" && list[at-1].Role != "assistant" {
		at--
	}
	return at
}
