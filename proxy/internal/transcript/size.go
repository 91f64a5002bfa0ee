package transcript

import (
	"slices"

	"holdpoint/internal/agui"
)

// keep appends a message.
func (t *Transcript) keep(m *message) {
	t.messages = append(t.messages, m)
	t.count(m.cost())
}

func (m *message) cost() int {
	return messageCost + len(m.id) + len(m.role) + len(m.name) + len(m.callID) + len(m.subagent)
}

func (c *call) cost() int { return callCost + len(c.ID) + len(c.Name) + len(c.Parent) }

// names returns the limit for ids in bytes. It is at least 1 MiB, however small the limit for
// contents is, because no pause can be shown without ids.
func (t *Transcript) names() int { return max(t.limit, 1<<20) }

// count adds n bytes to the size of the data of messages and calls other than their contents. If
// that is too large, the oldest messages and calls are dropped.
func (t *Transcript) count(n int) {
	if t.ids += n; t.ids <= 2*t.names() {
		return
	}
	t.tooLarge, t.thinned, t.ids = true, true, 0
	t.messages, t.calls = t.newest(t.messages, t.calls)
	t.byID, t.callByID = map[string]*message{}, map[string]*call{}
	for _, m := range t.messages {
		if m.id != "" {
			t.byID[m.id] = m
		}
	}
	for _, c := range t.calls {
		t.callByID[c.ID] = c
	}
	t.ForgetMessages()
}

// newest returns the last messages and calls that fit into half the limit for ids each, and adds
// their size to t.ids.
func (t *Transcript) newest(messages []*message, calls []*call) ([]*message, []*call) {
	from := len(messages)
	for size := 0; from > 0 && size+messages[from-1].cost() <= t.names()/2; from-- {
		size += messages[from-1].cost()
		t.ids += messages[from-1].cost()
	}
	first := len(calls)
	for size := 0; first > 0 && size+calls[first-1].cost() <= t.names()/2; first-- {
		size += calls[first-1].cost()
		t.ids += calls[first-1].cost()
	}
	return slices.Clone(messages[from:]), slices.Clone(calls[first:])
}

// grow adds n bytes to the size of the contents. If they exceed the limit, they are dropped and
// only ids are kept.
func (t *Transcript) grow(n int) {
	t.size += n
	if t.size > t.limit && !t.tooLarge {
		t.ForgetMessages()
	}
}

// ForgetMessages drops the contents of the messages, which are then not known any more.
func (t *Transcript) ForgetMessages() {
	t.seed()
	t.tooLarge = true
	for _, m := range t.messages {
		if m.json != nil && m.role == "user" {
			continue // its content is needed to recognize an edited message, see agui.See
		}
		m.json = nil
	}
	for _, m := range t.messages {
		m.asked = m.asked || len(m.calls) > 0
		m.content, m.result, m.calls, m.lastResult, m.encrypted, m.meta = nil, nil, nil, nil, "", metadata{}
	}
	t.held = 0
	for _, c := range t.calls {
		c.in, c.encrypted, c.meta = nil, "", metadata{}
		if t.held += len(c.args); c.Answered || t.held > t.limit/callShare {
			t.held -= len(c.args)
			c.lose()
		}
	}
}

// keeps reports whether text pieces of the type are kept.
func (t *Transcript) keeps(typ agui.Type) bool { return !t.tooLarge || typ == agui.CallArgs && !t.full }

// lose drops the arguments. It is then not known what an approval would run.
func (c *call) lose() { c.args, c.from, c.lost = nil, 0, true }

func (t *Transcript) loseCalls() {
	for _, c := range t.calls {
		c.lose()
	}
	t.held, t.full = 0, true
}

// hold adds n bytes to the size of the arguments that are kept although the messages are too large.
// If they are too large too, the arguments of calls that have not ended are dropped.
func (t *Transcript) hold(n int) {
	if t.held += n; t.held <= t.limit/callShare {
		return
	}
	t.full = true
	for _, c := range t.calls {
		if !c.Ended {
			c.lose()
		}
	}
}
