package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// apply adds one event to the transcript: to the messages, the calls, the state, and the set of
// items that are not closed.
func (t *Transcript) apply(ev agui.Event) {
	valid := false
	switch ev.Type {
	case agui.TextContent, agui.CallArgs, agui.ReasoningContent:
		if t.keepsText(ev.Type) {
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
		// The invalid event was passed on, and it is not known how a client reads it.
		t.ForgetMessages()
		t.loseCalls()
		t.ForgetState()
	}
}

// applyOther adds an event to the transcript that belongs neither to a text nor to a call.
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
		t.noteUnknown("activity")
	case agui.MessagesSnapshot:
		t.applyMessages(ev)
	case agui.StateSnapshot:
		t.stateSent, t.stateSeen = true, true
		if state := agui.View(ev.JSON).Get("snapshot").Raw; t.holdsState(len(state)) {
			t.state = json.RawMessage(state) // a copy, because the bytes of the event are reused
		}
	case agui.StateDelta:
		t.stateSent, t.stateSeen = false, true
		t.patchState(ev.Get("delta").Raw)
	}
}

// addMessage adds a complete message of the request or of a snapshot.
func (t *Transcript) addMessage(m agui.Message) {
	msg := &message{id: m.ID, role: m.Role, json: m.JSON, callID: m.ToolCallID}
	t.appendMessage(msg)
	if m.ID != "" {
		t.byID[m.ID] = msg
	}
	for _, c := range gjson.GetBytes(m.JSON, "toolCalls").Array() {
		id := agui.IDText(c.Get("id"))
		if known := t.callByID[id]; known != nil {
			msg.calls = append(msg.calls, known)
			if known.message == nil { // the snapshot replaces the call that the client has
				known.message, known.argumentsLost, known.from, known.latest = msg, false, 0, ""
				known.Name, known.args = c.Get("function.name").Str, []byte(c.Get("function.arguments").Str)
			}
			continue
		}
		t.addCall(msg, &call{Call: agui.Call{
			ID: id, Name: c.Get("function.name").Str, Parent: m.ID, Ended: true, Answered: t.answers[id], StreamedInRun: t.messageSent,
		}, args: []byte(c.Get("function.arguments").Str)})
	}
	if m.Role == "tool" {
		t.answered(m.ToolCallID)
	}
	t.addContents(len(m.JSON))
}

func (t *Transcript) addCall(m *message, c *call) {
	if t.tooLarge {
		m.hadCalls = true
	} else {
		m.calls, c.message = append(m.calls, c), m
	}
	t.calls = append(t.calls, c)
	t.callByID[c.ID] = c
	t.count(c.cost())
	t.addContents(len(c.args))
}

// The estimated memory in bytes of a message, a call and an unclosed item, without their texts.
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
	if t.tooLarge && !c.argumentsLost {
		t.heldArguments -= len(c.args)
		c.dropArguments()
	}
}

// maxAnswers is the largest number of results for unknown calls that are remembered.
const maxAnswers = 4096

// callShare says how much memory is left for calls without a result when the messages are too
// large: the limit divided by callShare. A person may be asked about these calls, so a long
// conversation must not displace them.
const callShare = 4

// describe merges the metadata of an event, in the parameter said, into the known metadata of a
// message or a call.
func (t *Transcript) describe(known *metadata, said gjson.Result) {
	if !t.tooLarge {
		t.addContents(known.merge(said))
	}
}

// applyDelta appends a piece of text to a message or a call. It handles nearly all events of a
// stream, so it parses each event only once, and allocates memory only for the text itself. It does
// not detect an event that is not valid JSON, because every client fails at such an event.
func (t *Transcript) applyDelta(ev agui.Event) {
	t.messageSent = false
	key := "messageId"
	if ev.Type == agui.CallArgs {
		key = "toolCallId"
	}
	var id, delta string // delta is JSON text
	var meta gjson.Result
	types := 0
	agui.View(ev.JSON).ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "type":
			types++
		case key:
			id = v.Str
		case "delta":
			delta = v.Raw
		case "metadata":
			meta = v
		}
		return true
	})
	if types != 1 {
		t.ForgetMessages() // it is not known how a client reads the event
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

// appendText appends a piece of text to a message. delta is its JSON text.
func (t *Transcript) appendText(m *message, delta string) {
	if t.tooLarge {
		t.addContents(len(delta))
		return
	}
	before := len(m.content)
	m.content = agui.AppendPiece(m.content, delta, &m.half)
	t.addContents(len(m.content) - before)
}

// applyText adds an event of a text or of reasoning to the transcript, such as its start or its
// end. For events with a piece of text see applyDelta. applyText reports whether the event is
// valid.
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
		is = "reasoning" // whatever role the event has
	}
	t.messageSent = false
	m := t.byID[id]
	if m == nil {
		m = &message{id: id, role: is, name: textOf(v[name]), subagent: textOf(v[subagent]), streamed: true}
		t.byID[id] = m
		t.appendMessage(m)
	}
	t.describe(&m.meta, gjson.Parse(v[meta]))
	t.appendText(m, v[delta])
	return true
}

// textOf returns the text of a JSON string. The text is a copy, because the bytes of the event are
// reused.
func textOf(raw string) string { return strings.Clone(agui.Text(raw)) }

// applyCall reads several values from an event into an array. These are the indexes of the values
// in the array.
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

// applyCall adds an event of a call to the transcript, such as its start, its end or its result.
// For events with a piece of the arguments see applyDelta. applyCall reports whether the event is
// valid.
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
			t.appendArgs(c, v[callDelta])
			c.Ended = true // a call in chunks has no end event
		}
	case agui.CallResult:
		content := []byte(v[resultContent])
		// without a content the event is invalid, and the message would not be valid JSON
		if len(content) == 0 {
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
		t.addContents(len(content))
	}
	t.messageSent = false
	return true
}

// insertResult inserts a tool message at the position where @ag-ui/client inserts it since version
// 0.0.59: after the message of its call, and after the other results of that message's calls.
func (t *Transcript) insertResult(m *message) {
	t.byID[m.id] = m
	if t.tooLarge {
		t.appendMessage(m) // the order of dropped messages does not matter
		return
	}
	at := len(t.messages) - 1
	c := t.callByID[m.callID]
	known := c != nil && c.message != nil
	if known {
		behind := c.message
		if behind.lastResult != nil {
			behind = behind.lastResult
		}
		// The search begins at the end, because most results follow soon after their call, or after
		// another result for the same message.
		for t.messages[at] != behind {
			at--
		}
	}
	for at++; at < len(t.messages) && t.messages[at].role == "tool"; at++ {
	}
	t.messages = slices.Insert(t.messages, min(at, len(t.messages)), m)
	if known {
		c.message.lastResult = m
	}
	t.count(m.cost())
}

// startCall adds a call to the same message as the client: to the message that the event names as
// parent, or to a new message.
func (t *Transcript) startCall(id string, v *[callKeys]string) {
	meta := gjson.Parse(v[callMeta])
	name := textOf(v[callName])
	// otherwise it is another call, of a model that repeats ids
	if c := t.callByID[id]; c != nil && !c.done {
		t.describe(&c.meta, meta)
		c.from, c.latest, c.StreamedInRun, c.half = len(c.args), name, true, 0
		return
	}
	parent := textOf(v[callParent])
	m := t.byID[parent]
	if parent == "" || m != nil && m.role != "assistant" {
		// A message of another role cannot have calls. So the client makes a new message, with the
		// id of the call.
		parent = id
		m = t.byID[parent]
	}
	if m == nil || m.role != "assistant" {
		m = &message{id: parent, role: "assistant", subagent: textOf(v[callSubagent]), streamed: true}
		t.byID[parent] = m
		t.appendMessage(m)
	}
	c := &call{Call: agui.Call{ID: id, Name: name, Parent: parent, StreamedInRun: true}, argumentsLost: t.argumentsTooLarge}
	t.addCall(m, c)
	t.describe(&c.meta, meta)
}

// appendArgs appends a piece of the arguments to a call. delta is its JSON text.
func (t *Transcript) appendArgs(c *call, delta string) {
	if c == nil {
		return
	}
	if t.tooLarge && c.argumentsLost {
		t.addContents(len(delta))
		return
	}
	before := len(c.args)
	c.args = agui.AppendPiece(c.args, delta, &c.half)
	more := len(c.args) - before
	if t.tooLarge {
		t.addArguments(more)
	}
	t.addContents(more)
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
	t.addContents(len(value))
}
