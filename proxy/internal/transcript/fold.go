package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// apply folds one event into messages, calls, state and what is open.
func (t *Transcript) apply(ev agui.Event) {
	valid := false
	switch ev.Type {
	case agui.TextContent, agui.CallArgs, agui.ReasoningContent:
		if t.keeps(ev.Type) {
			t.applyDelta(ev)
		}
		return
	case agui.TextStart, agui.TextEnd, agui.TextChunk, agui.ReasoningMsgStart, agui.ReasoningMsgEnd, agui.ReasoningMsgChunk:
		valid = t.applyText(ev)
	case agui.CallStart, agui.CallEnd, agui.CallChunk, agui.CallResult:
		valid = t.applyCall(ev)
	default:
		if valid = ev.Valid(); valid {
			t.applyOther(ev)
		}
	}
	if !valid {
		// Opaque: it was passed on, and what a client makes of it is not known.
		t.ForgetMessages()
		t.loseCalls()
		t.ForgetState()
	}
}

// applyOther folds an event that belongs to no text and no call.
func (t *Transcript) applyOther(ev agui.Event) {
	switch ev.Type {
	case agui.StepStarted:
		t.begin(agui.StepFinished, ev.Get("stepName").Str)
	case agui.StepFinished:
		t.end(agui.StepFinished, ev.Get("stepName").Str)
	case agui.ReasoningStart:
		t.begin(agui.ReasoningEnd, ev.Get("messageId").Str)
	case agui.ThinkingStart:
		t.begin(agui.ThinkingEnd, "")
	case agui.ThinkingTextStart:
		t.begin(agui.ThinkingTextEnd, "")
	case agui.ReasoningEnd, agui.ThinkingEnd, agui.ThinkingTextEnd:
		t.end(ev.Type, ev.Get("messageId").Str)
	case agui.SubagentStarted:
		t.begin(agui.SubagentFinished, ev.Get("subagentRunId").Str)
	case agui.SubagentFinished, agui.SubagentErrored:
		t.end(agui.SubagentFinished, ev.Get("subagentRunId").Str)
	case agui.ReasoningEncrypted:
		t.applyEncrypted(ev)
	case agui.ActivitySnapshot, agui.ActivityDelta:
		t.messageSent = false
		t.miss("activity")
	case agui.MessagesSnapshot:
		t.applyMessages(ev)
	case agui.StateSnapshot:
		t.stateSent, t.stateSeen = true, true
		if state := agui.View(ev.JSON).Get("snapshot").Raw; t.holdsState(len(state)) {
			t.state = json.RawMessage(state) // a copy: the event's bytes go
		}
	case agui.StateDelta:
		t.stateSent, t.stateSeen = false, true
		t.patchState(ev.Get("delta").Raw)
	}
}

// addMessage takes a whole message, of the request or of a snapshot.
func (t *Transcript) addMessage(m agui.Message) {
	msg := &message{id: m.ID, role: m.Role, json: m.JSON, callID: m.ToolCallID}
	t.keep(msg)
	if m.ID != "" {
		t.byID[m.ID] = msg
	}
	for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
		id := c.Get("id").Str
		if known := t.callByID[id]; known != nil {
			msg.calls = append(msg.calls, known)
			if known.in == nil { // of a snapshot: what the client has of it from here on
				known.in, known.lost, known.from, known.latest = msg, false, 0, ""
				known.Name, known.args = c.Get("function.name").Str, []byte(c.Get("function.arguments").Str)
			}
			continue
		}
		t.addCall(msg, &call{Call: agui.Call{
			ID: id, Name: c.Get("function.name").Str, Parent: m.ID, Ended: true, Answered: t.answers[id], Fresh: t.messageSent,
		}, args: []byte(c.Get("function.arguments").Str)})
	}
	if m.Role == "tool" {
		t.answered(m.ToolCallID)
	}
	t.grow(len(m.JSON))
}

func (t *Transcript) addCall(m *message, c *call) {
	if t.tooLarge {
		m.asked = true
	} else {
		m.calls, c.in = append(m.calls, c), m
	}
	t.calls = append(t.calls, c)
	t.callByID[c.ID] = c
	t.count(c.cost())
	t.grow(len(c.args))
}

// What is kept of a message or a call beside its texts, and of what is open.
const (
	messageCost = 320
	callCost    = 280
	openCost    = 160
)

func (t *Transcript) answered(callID string) {
	c := t.callByID[callID]
	if c == nil {
		return
	}
	c.Answered = true
	if t.tooLarge && !c.lost {
		t.held -= len(c.args)
		c.lose()
	}
}

// maxAnswers bounds the results that are kept of calls that are not known.
const maxAnswers = 4096

// callShare is the part of the bound that calls without a result keep when the messages are too
// large. A person may be asked about these calls, and a long conversation must not take them away.
const callShare = 4

// describe adds what an event says of a message or a call to what is known of it.
func (t *Transcript) describe(known *metadata, said gjson.Result) {
	if !t.tooLarge {
		t.grow(known.merge(said))
	}
}

// applyDelta appends to a message or a call. Nearly all events of a stream come here, so each is
// read once, and only the text itself needs memory. An event that is not JSON is not found out
// here. Every client fails at it.
func (t *Transcript) applyDelta(ev agui.Event) {
	t.messageSent = false
	key := "messageId"
	if ev.Type == agui.CallArgs {
		key = "toolCallId"
	}
	var id, delta string
	var meta gjson.Result
	types := 0
	agui.View(ev.JSON).ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "type":
			types++
		case key:
			id = v.Str
		case "delta":
			delta = v.Str
		case "metadata":
			meta = v
		}
		return true
	})
	if types != 1 {
		t.ForgetMessages() // opaque
		t.loseCalls()
	} else if ev.Type == agui.CallArgs {
		if c := t.callByID[id]; c != nil {
			t.appendArgs(c, delta)
			t.describe(&c.meta, meta)
		}
	} else if m := t.byID[id]; m != nil {
		t.appendText(m, delta)
		t.describe(&m.meta, meta)
	}
}

func (t *Transcript) appendText(m *message, delta string) {
	if !t.tooLarge {
		m.content = append(m.content, delta...)
	}
	t.grow(len(delta))
}

// applyText folds an event of a text, or of reasoning, that is not a piece of it. It returns
// whether the event is valid.
func (t *Transcript) applyText(ev agui.Event) bool {
	const messageID, role, name, subagent, meta, delta, keys = 0, 1, 2, 3, 4, 5, 6
	var v [keys]string
	if !ev.Read(v[:], "messageId", "role", "name", "subagentRunId", "metadata", "delta") {
		return false
	}
	id, is := textOf(v[messageID]), cmp.Or(textOf(v[role]), "assistant")
	switch ev.Type {
	case agui.TextStart:
		t.begin(agui.TextEnd, id)
	case agui.ReasoningMsgStart:
		t.begin(agui.ReasoningMsgEnd, id)
	case agui.TextEnd, agui.ReasoningMsgEnd:
		t.end(ev.Type, id)
		if m := t.byID[id]; m != nil {
			t.describe(&m.meta, gjson.Parse(v[meta]))
		}
		return true
	case agui.TextChunk:
		id = cmp.Or(id, t.lastText)
		t.lastText = id
	case agui.ReasoningMsgChunk:
		id = cmp.Or(id, t.lastThought)
		t.lastThought = id
	}
	if ev.Type == agui.ReasoningMsgStart || ev.Type == agui.ReasoningMsgChunk {
		is = "reasoning" // whatever the event says
	}
	t.messageSent = false
	m := t.byID[id]
	if m == nil {
		m = &message{id: id, role: is, name: textOf(v[name]), subagent: textOf(v[subagent]), streamed: true}
		t.byID[id] = m
		t.keep(m)
	}
	t.describe(&m.meta, gjson.Parse(v[meta]))
	t.appendText(m, agui.Text(v[delta]))
	return true
}

// textOf returns the text of a JSON string, copied out of an event.
func textOf(raw string) string { return strings.Clone(agui.Text(raw)) }

// Values of a call's event.
const (
	callID = iota
	callName
	callParent
	callSubagent
	callMeta
	callDelta
	resultID
	resultContent
	callKeys
)

// applyCall folds an event of a call that is not a piece of its arguments. It returns whether the
// event is valid.
func (t *Transcript) applyCall(ev agui.Event) bool {
	var v [callKeys]string
	if !ev.Read(v[:], "toolCallId", "toolCallName", "parentMessageId", "subagentRunId", "metadata", "delta", "messageId", "content") {
		return false
	}
	id := textOf(v[callID])
	switch ev.Type {
	case agui.CallStart:
		t.begin(agui.CallEnd, id)
		t.startCall(id, &v)
	case agui.CallEnd:
		t.end(agui.CallEnd, id)
		if c := t.callByID[id]; c != nil {
			c.Ended = true
			t.describe(&c.meta, gjson.Parse(v[callMeta]))
		}
		return true
	case agui.CallChunk:
		if id == "" {
			id = t.lastCall
		}
		t.lastCall = id
		if c := t.callByID[id]; c == nil || c.done && v[callName] != "" {
			t.startCall(id, &v)
		}
		if c := t.callByID[id]; c != nil {
			t.appendArgs(c, agui.Text(v[callDelta]))
			c.Ended = true // a chunk needs no end
		}
	case agui.CallResult:
		content := []byte(v[resultContent])
		if len(content) == 0 { // without one the event is not valid, and the message would not be JSON
			content = []byte(`""`)
		}
		m := &message{id: textOf(v[resultID]), role: "tool", callID: id, result: content, subagent: textOf(v[callSubagent]), streamed: true}
		t.describe(&m.meta, gjson.Parse(v[callMeta]))
		if t.tooLarge {
			m.result = nil
		}
		t.insertResult(m)
		t.answered(id)
		if c := t.callByID[id]; c != nil {
			c.done = true
		} else if len(t.answers) < maxAnswers {
			if t.answers == nil {
				t.answers = map[string]bool{}
			}
			t.answers[id] = true
		}
		t.grow(len(content))
	}
	t.messageSent = false
	return true
}

// insertResult puts a tool message where clients from 0.0.59 on have it: behind the call's message
// and its other results.
func (t *Transcript) insertResult(m *message) {
	t.byID[m.id] = m
	if t.tooLarge {
		t.keep(m) // the order of messages that are not known is nobody's concern
		return
	}
	at := len(t.messages) - 1
	c := t.callByID[m.callID]
	known := c != nil && c.in != nil
	if known {
		behind := c.in
		if behind.lastResult != nil {
			behind = behind.lastResult
		}
		for t.messages[at] != behind { // from the end: most results follow their calls, or the results of the same message, closely
			at--
		}
	}
	for at++; at < len(t.messages) && t.messages[at].role == "tool"; at++ {
	}
	t.messages = slices.Insert(t.messages, min(at, len(t.messages)), m)
	if known {
		c.in.lastResult = m
	}
	t.count(m.cost())
}

// startCall puts the call where the client puts it: onto the message that is named as its parent,
// or onto a new one.
func (t *Transcript) startCall(id string, v *[callKeys]string) {
	meta := gjson.Parse(v[callMeta])
	name := textOf(v[callName])
	if c := t.callByID[id]; c != nil && !c.done { // else one more of a model whose ids repeat
		t.describe(&c.meta, meta)
		c.from, c.latest, c.Fresh = len(c.args), name, true
		return
	}
	parent := textOf(v[callParent])
	m := t.byID[parent]
	if parent == "" || m != nil && m.role != "assistant" {
		// A message that is not the assistant's cannot have calls: the client makes one under the
		// call's own id.
		parent = id
		m = t.byID[parent]
	}
	if m == nil || m.role != "assistant" {
		m = &message{id: parent, role: "assistant", subagent: textOf(v[callSubagent]), streamed: true}
		t.byID[parent] = m
		t.keep(m)
	}
	c := &call{Call: agui.Call{ID: id, Name: name, Parent: parent, Fresh: true}, lost: t.full}
	t.addCall(m, c)
	t.describe(&c.meta, meta)
}

func (t *Transcript) appendArgs(c *call, delta string) {
	if c == nil {
		return
	}
	switch {
	case !t.tooLarge:
		c.args = append(c.args, delta...)
	case !c.lost:
		c.args = append(c.args, delta...)
		t.hold(len(delta))
	}
	t.grow(len(delta))
}

func (t *Transcript) applyEncrypted(ev agui.Event) {
	id, value := ev.Get("entityId").Str, ev.Get("encryptedValue").Str
	if t.tooLarge {
		return
	}
	if c := t.callByID[id]; c != nil && ev.Get("subtype").Str == "tool-call" {
		c.encrypted = value
	} else if m := t.byID[id]; m != nil {
		m.encrypted = value
	}
	t.grow(len(value))
}
