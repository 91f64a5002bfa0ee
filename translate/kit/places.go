package kit

import (
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// Places goes through messages in their order, and finds those that answer a call in its place. An
// answer that stands elsewhere could become the last word of an exchange, and a backend that looks
// there would carry it out again.
type Places struct {
	list  []agui.Message
	next  int             // the first message that was not looked at
	calls map[string]bool // of the message at; false: it has its answer
	at    int             // of the message with calls that the ones at hand stand behind

	// Behind is where the message with the call stands that was answered, -1 if none there was. Again
	// says that the call had its answer already. Both are of the last question.
	Behind int
	Again  bool
}

// PlacesIn begins with the first message.
func PlacesIn(list []agui.Message) Places { return Places{list: list} }

// Answers reports whether the tool message at a place is the first to answer a call of the message
// that it stands behind, with nothing but tool messages between. Places only grow.
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
	if p.Behind, p.Again = -1, there && !open; there {
		p.Behind = p.at
	}
	return open
}
