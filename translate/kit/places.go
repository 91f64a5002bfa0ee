package kit

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Places visits messages in order, and finds those that answer a call in its place. An answer is in
// its place if it directly follows the message with the call, or if only other tool messages are
// between the two. An answer in another place could become the last message of an exchange. A
// backend that reads answers at the end would then carry it out again.
type Places struct {
	list  []agui.Message
	next  int             // index of the first message that was not visited
	calls map[string]bool // calls of the message at index at; false if the call has an answer
	at    int             // index of the message that the current tool messages follow

	// CallAt is the index of the message with the answered call, or -1 if the answer is not in its
	// place. Repeated is true if the call already had an answer. Answers sets both.
	CallAt   int
	Repeated bool
}

// PlacesIn returns a Places that visits the messages of the list from the first on.
func PlacesIn(list []agui.Message) Places { return Places{list: list} }

// Answers reports whether the tool message at index at is the first answer to a call, and is in its
// place. The index at must not decrease from one call of Answers to the next.
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
			p.calls[agui.IDText(call.Get("id"))] = true
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
