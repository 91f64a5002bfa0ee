package transcript

import (
	"slices"

	"holdpoint/internal/agui"
)

// appendMessage appends a message.
func (t *Transcript) appendMessage(m *message) {
	t.messages = append(t.messages, m)
	t.count(m.cost())
}

func (m *message) cost() int {
	return messageCost + len(m.id) + len(m.role) + len(m.name) + len(m.callID) + len(m.subagent)
}

func (c *call) cost() int { return callCost + len(c.ID) + len(c.Name) + len(c.Parent) }

// names returns the limit for the ids of messages and calls, in bytes. It is at least 1 MiB,
// however small the limit for contents is, because no pause can be shown without ids.
func (t *Transcript) names() int { return max(t.limit, 1<<20) }

// count adds n bytes to the size of the messages and calls without their contents, such as their
// ids. If that size is too large, the oldest messages and calls are dropped.
func (t *Transcript) count(n int) {
	if t.ids += n; t.ids <= 2*t.names() {
		return
	}
	t.tooLarge, t.messagesDropped, t.ids = true, true, 0
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

// newest returns the newest messages and the newest calls. Each of the two lists may have half of
// the limit for ids. newest adds the size of both lists to t.ids.
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

// addContents adds n bytes to the size of the contents. If the contents exceed the limit, they are
// dropped, and only the ids remain.
func (t *Transcript) addContents(n int) {
	t.size += n
	if t.size > t.limit && !t.tooLarge {
		t.ForgetMessages()
	}
}

// ForgetMessages drops the contents of the messages, so that they are no longer known. The ids
// remain, and the content of each user message.
func (t *Transcript) ForgetMessages() {
	t.seed()
	t.tooLarge = true
	for _, m := range t.messages {
		if m.json != nil && m.role == "user" {
			continue // the content is needed to recognize an edited message, see agui.NewSeenMessage
		}
		m.json = nil
	}
	for _, m := range t.messages {
		m.hadCalls = m.hadCalls || len(m.calls) > 0
		m.content, m.result, m.calls, m.lastResult, m.encrypted, m.meta = nil, nil, nil, nil, "", metadata{}
	}
	t.heldArguments = 0
	for _, c := range t.calls {
		c.message, c.encrypted, c.meta = nil, "", metadata{}
		if t.heldArguments += len(c.args); c.Answered || t.heldArguments > t.limit/callShare {
			t.heldArguments -= len(c.args)
			c.dropArguments()
		}
	}
}

// keepsText reports whether the pieces of text in events of this type are still kept.
func (t *Transcript) keepsText(typ agui.Type) bool {
	return !t.tooLarge || typ == agui.CallArgs && !t.argumentsTooLarge
}

// dropArguments drops the arguments of the call. Then it is not known what an approval of the call
// would run.
func (c *call) dropArguments() { c.args, c.from, c.argumentsLost = nil, 0, true }

func (t *Transcript) loseCalls() {
	for _, c := range t.calls {
		c.dropArguments()
	}
	t.heldArguments, t.argumentsTooLarge = 0, true
}

// addArguments adds n bytes to the size of the arguments that are kept although the messages are
// too large. If these arguments exceed their share of the limit, the arguments of all calls that
// have not ended are dropped.
func (t *Transcript) addArguments(n int) {
	if t.heldArguments += n; t.heldArguments <= t.limit/callShare {
		return
	}
	t.argumentsTooLarge = true
	for _, c := range t.calls {
		if !c.Ended {
			c.dropArguments()
		}
	}
}
