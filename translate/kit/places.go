package kit

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Places visits messages in order, and finds those that answer a call in its place, which means
// directly after the message with the call. An answer in another place could become the last
// message of an exchange, and a backend that looks there would carry it out again.
type Places struct {
	list  []agui.Message
	next  int             // the first message that was not visited
	calls map[string]bool // calls of the message at; false if the call has its answer
	at    int             // the index of the message with calls that the current tool messages follow

	// CallAt is the index of the message with the answered call, or -1 if the call is not in its
	// place. Repeated reports that the call already had an answer. Both are set by Answers.
	CallAt   int
	Repeated bool
}

// PlacesIn returns Places that begin with the first message.
func PlacesIn(list []agui.Message) Places { return Places{list: list} }

// Answers reports whether the tool message at index at is the first answer to a call of the message
// that it follows, with only tool messages between the two. at must not decrease from call to call.
func (p *Places) Answers(at int) bool {
	for ; p.next < at; p.next++ {
		m := &p.list[p.next]
		if m.Role == "tool" {
			continue
		}
		if p.calls, p.at = nil, p.next; m.Plain {
			continue
		}
		for _, call := range Calls(gjson.ParseBytes(m.JSON)) {
			if p.calls == nil {
				p.calls = map[string]bool{}
			}
			p.calls[call.Get("id").Str] = true
		}
	}
	id := p.list[at].ToolCallID
	open, there := p.calls[id]
	if open {
		p.calls[id] = false
	}
	if p.CallAt, p.Repeated = -1, there && !open; there {
		p.CallAt = p.at
	}
	return open
}
