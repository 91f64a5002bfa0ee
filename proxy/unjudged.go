package proxy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A backend may take a tool message for a decision on a call that the record does not know to have
// asked: Holdpoint was started anew, or somebody made the call up (translate.DecisionReader). The
// same message may be the answer that a backend of another kind waits for. So Holdpoint notes which
// calls the streams of a thread have left to the client (leftcalls.go).

// An unjudged is a tool message that a backend could take for a decision, on a call that nobody
// knows to have asked.
type unjudged struct {
	at    int
	call  string // "" if the message names none
	shown bool   // the messages hold the call
}

// unjudgedAt returns the unjudged messages before the words that end the request, or behind them.
func (r *run) unjudgedAt(last bool) []unjudged {
	reader, ok := r.h.opts.Dialect.(translate.DecisionReader)
	if !ok || r.readFor.carries {
		return nil
	}
	end := lastWords(r.in.Messages)
	from, to := 0, end
	if last {
		from, to = end, len(r.in.Messages)
	}
	spoken := r.spoken()
	var list []unjudged
	var claims *kit.Claims // nil until it is needed
	var known, left map[string]bool
	for at := from; at < to; at++ {
		m := r.in.Messages[at]
		if m.Plain && !strings.EqualFold(m.Role, "tool") || !kit.IsTool(agui.View(m.JSON)) || !reader.Decides(m, last, spoken) {
			continue
		}
		if claims == nil {
			claims, known, left = kit.ClaimsOf(r.in), r.knownToAsk(), r.leftCalls()
		}
		for _, call := range kit.AnsweredCalls(gjson.ParseBytes(m.JSON)) {
			own, shown := claims.Own(call)
			if !known[call] && !r.mayAnswer(call, own, shown, spoken, left) {
				list = append(list, unjudged{at, call, shown})
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
func (r *run) mayAnswer(call string, own, shown bool, spoken string, left map[string]bool) bool {
	if own && spoken == "" && r.h.opts.StoreInMemory && r.notAsked == nil {
		return true
	}
	if !shown {
		own = len(r.in.Tools) > 0 // a client need not send the call with its result
	}
	return r.passed(call, false) || own && r.isLeft(call, left)
}

// knownToAsk returns the calls that a question of the record is about. What a message says on such
// a call is related to that question (readHistory).
func (r *run) knownToAsk() map[string]bool {
	known := map[string]bool{}
	for _, p := range r.pauses() {
		for n := range p.Interrupts {
			for _, call := range askedCalls(&p.Interrupts[n]) {
				known[call] = true
			}
		}
	}
	return known
}

// askedCalls returns the ids by which a message may name the call of a question.
func askedCalls(i *agui.Interrupt) []string {
	list := append([]string{i.Native, i.ToolCallID()}, i.Keys...)
	return slices.DeleteFunc(list, func(call string) bool { return call == "" })
}

// unasked returns a call that the request's last messages decide on, although nobody knows that it
// asked. It is "" if there is no such call.
func (r *run) unasked() string {
	for _, one := range r.unjudgedAt(true) {
		return cmp.Or(one.call, "without an id")
	}
	return ""
}

// disarm makes the unjudged messages harmless that words follow: they are of another day. A message
// on a call that the history does not hold goes.
func (r *run) disarm() {
	reader, ok := r.h.opts.Dialect.(translate.DecisionReader)
	found := r.unjudgedAt(false)
	count := len(found)
	if !ok || count == 0 {
		return
	}
	list := make([]agui.Message, 0, len(r.in.Messages))
	for at, m := range r.in.Messages {
		if len(found) > 0 && found[0].at == at {
			shown := found[0].shown
			if found = found[1:]; !shown {
				continue
			}
			m = reader.Harmless(m)
		}
		list = append(list, m)
	}
	r.in = r.in.WithMessages(list)
	r.log.Warn("messages that could be read as decisions made harmless: nobody knows that their calls asked", "messages", count)
}

// lastWords returns the place behind the last message of a user or of the assistant.
func lastWords(list []agui.Message) int {
	at := len(list)
	for at > 0 && list[at-1].Role != "user" && list[at-1].Role != "assistant" {
		at--
	}
	return at
}
