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
// same message may be the answer that a backend of another kind waits for. So this process notes
// which calls the streams of a thread have left to the client.

// noteCall notes a call of the stream, and its result. A call of a tool that the request declares
// is the client's own.
func (r *run) noteCall(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		name := ev.Get("toolCallName").Str
		if name == "" {
			return
		}
		if len(r.openCalls) == maxOpenCalls {
			r.openCalls = slices.Delete(r.openCalls, 0, 1)
		}
		r.openCalls = append(r.openCalls, openCall{ev.Get("toolCallId").Str, r.in.Declares(name)})
	case agui.CallResult:
		if len(r.openCalls) > 0 {
			id := ev.Get("toolCallId").Str
			r.openCalls = slices.DeleteFunc(r.openCalls, func(c openCall) bool { return c.id == id })
		}
	}
}

// An openCall is a call of the stream without a result so far.
type openCall struct {
	id  string
	own bool // the request declares its tool
}

// keepOpenCalls remembers the calls that a run left to the client. plainly reports that the run
// ended well and asked nothing: then a call that the request does not declare is the client's to
// answer, too. It is called once the claim has ended.
func (r *run) keepOpenCalls(plainly bool) {
	r.noteReused()
	for _, c := range r.openCalls {
		if c.own || plainly {
			r.h.passed.Add(passedCallOf(r.ledger.key, c.id, c.own), struct{}{})
		}
	}
	r.openCalls = nil
}

// passed reports whether this process saw the call on the run's thread, left to the client to
// answer. own asks for a call of a tool that the request of that run declared.
func (r *run) passed(call string, own bool) bool {
	return r.h.passed.Contains(passedCallOf(r.ledger.key, call, own))
}

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
	var known map[string]bool
	for at := from; at < to; at++ {
		m := r.in.Messages[at]
		if m.Plain && !strings.EqualFold(m.Role, "tool") || !kit.IsTool(agui.View(m.JSON)) || !reader.Decides(m, last, spoken) {
			continue
		}
		if claims == nil {
			claims, known = kit.ClaimsOf(r.in), r.knownToAsk()
		}
		for _, call := range kit.AnsweredCalls(gjson.ParseBytes(m.JSON)) {
			own, shown := claims.Own(call)
			if spoken != "" && !shown {
				own = len(r.in.Tools) > 0 // a client need not send the call with its result
			}
			if !known[call] && !r.mayAnswer(call, own, spoken) {
				list = append(list, unjudged{at, call, shown})
				break
			}
		}
	}
	return list
}

// mayAnswer reports whether the client may answer a call that the record does not know. own reports
// that the request claims the call for one of the client's tools.
//
// While nobody knows what the route speaks, that claim is believed: the backend may be of any kind.
// Where a dialect is known whose backend would take the message for a decision, it is not believed
// if a restart may have lost what waited. While the store cannot be asked it is never believed,
// because the call may have asked.
func (r *run) mayAnswer(call string, own bool, spoken string) bool {
	switch {
	case !own:
		return r.passed(call, false)
	case r.notAsked == nil && (spoken == "" || !r.h.opts.StoreInMemory):
		return true
	}
	return r.passed(call, true)
}

// knownToAsk returns the calls that a question of the record is about. What a message says on such
// a call is related to that question (readHistory).
func (r *run) knownToAsk() map[string]bool {
	known := map[string]bool{}
	for _, p := range r.pauses() {
		for n := range p.Interrupts {
			i := &p.Interrupts[n]
			for _, call := range append([]string{i.Native, i.ToolCallID()}, i.Keys...) {
				if call != "" {
					known[call] = true
				}
			}
		}
	}
	return known
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
