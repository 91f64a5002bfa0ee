package proxy

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// foldBytes is how much of a stream is kept raw before it is folded into messages and state. A run without a pause
// that stays below it is never parsed.
const foldBytes = 256 << 10

// A transcript is what the client of a run has been shown: the messages and the state of its request and what the
// stream made of them, as the official client's reducer does (@ag-ui/client src/apply/default.ts). It keeps the frames
// that matter raw and folds them when somebody asks; RAW and CUSTOM events never matter. It is bounded: over the bound
// the messages or the state are not known any more, and never known in part.
type transcript struct {
	limit int
	raw   []byte // events not folded yet: length, then JSON, each

	messages  []*message
	byID      map[string]*message
	calls     []*call
	callByID  map[string]*call
	size      int // of what is folded, by estimate
	tooLarge  bool
	state     json.RawMessage
	stateLost bool
	stateSize int

	open        []opened // text, reasoning, calls and steps that were begun and not ended, in order
	lastText    string   // for chunks without an id
	lastCall    string
	streamed    bool // anything but RUN_STARTED and CUSTOM was seen
	stateSent   bool // the last event about the state was a whole snapshot
	stateSeen   bool
	messageSent bool // the last event about messages was a whole snapshot
}

// A message is one of the request's or of a snapshot (json set), or made from the stream.
type message struct {
	id, role, name string
	json           json.RawMessage
	content        []byte // streamed text, appended to what json has
	streamed       bool
	calls          []*call
	result         json.RawMessage // TOOL_CALL_RESULT's content, of a tool message
	callID         string
	encrypted      string
}

type call struct {
	agui.Call
	args      []byte
	encrypted string
}

// opened is something that must be closed before RUN_FINISHED: clients fail a run that ends with it open.
type opened struct {
	end agui.Type // the event that closes it
	key string    // messageId, toolCallId or stepName
}

func newTranscript(limit int, messages []agui.Message, state json.RawMessage) *transcript {
	t := &transcript{limit: limit, byID: map[string]*message{}, callByID: map[string]*call{}}
	for _, m := range messages {
		t.addMessage(m.JSON)
	}
	t.setState(state)
	return t
}

// relevant says whether an event of the type changes what the transcript tells.
func relevant(t agui.Type) bool {
	switch t {
	case agui.Unknown, agui.Raw, agui.Custom, agui.RunStarted, agui.RunFinished, agui.RunErrored:
		return false
	}
	return true
}

// add takes an event that the client was shown. It costs a copy.
func (t *transcript) add(ev agui.Event) {
	if ev.Type != agui.RunStarted && ev.Type != agui.Custom {
		t.streamed = true
	}
	if !relevant(ev.Type) || t.tooLarge && (ev.Type == agui.TextContent || ev.Type == agui.CallArgs) {
		return
	}
	t.raw = binary.LittleEndian.AppendUint32(t.raw, uint32(len(ev.JSON)))
	t.raw = append(t.raw, ev.JSON...)
	if len(t.raw) >= foldBytes {
		t.fold()
	}
}

// fold makes messages, calls and state of what was kept raw.
func (t *transcript) fold() {
	rest := t.raw
	for len(rest) > 0 {
		n := binary.LittleEndian.Uint32(rest)
		t.apply(agui.NewEvent(rest[4 : 4+n]))
		rest = rest[4+n:]
	}
	if cap(t.raw) > 2*foldBytes {
		t.raw = nil
	}
	t.raw = t.raw[:0]
}

func (t *transcript) apply(ev agui.Event) {
	if !ev.Valid() {
		return // opaque: it was passed on, and the client will say what is wrong with it
	}
	switch ev.Type {
	case agui.TextContent, agui.CallArgs:
		t.applyDelta(ev)
	case agui.StepStarted:
		t.begin(agui.StepFinished, ev.Get("stepName").Str)
	case agui.StepFinished:
		t.end(agui.StepFinished, ev.Get("stepName").Str)
	case agui.ReasoningStart:
		t.begin(agui.ReasoningEnd, ev.Get("messageId").Str)
	case agui.ReasoningMsgStart:
		t.begin(agui.ReasoningMsgEnd, ev.Get("messageId").Str)
	case agui.ThinkingStart:
		t.begin(agui.ThinkingEnd, "")
	case agui.ThinkingTextStart:
		t.begin(agui.ThinkingTextEnd, "")
	case agui.ReasoningEnd, agui.ReasoningMsgEnd, agui.ThinkingEnd, agui.ThinkingTextEnd:
		t.end(ev.Type, ev.Get("messageId").Str)
	case agui.ReasoningEncrypted:
		t.applyEncrypted(ev)
	case agui.TextStart, agui.TextEnd, agui.TextChunk:
		t.applyText(ev)
	case agui.CallStart, agui.CallEnd, agui.CallChunk, agui.CallResult:
		t.applyCall(ev)
	case agui.MessagesSnapshot:
		t.applyMessages(ev)
	case agui.StateSnapshot:
		t.stateSent, t.stateSeen, t.stateLost = true, true, false
		t.setState(json.RawMessage(slices.Clone([]byte(ev.Get("snapshot").Raw))))
	case agui.StateDelta:
		t.stateSent, t.stateSeen = false, true
		t.patchState(ev.Get("delta").Raw)
	}
}

func (t *transcript) begin(end agui.Type, key string) { t.open = append(t.open, opened{end, key}) }

func (t *transcript) end(end agui.Type, key string) {
	for i := len(t.open) - 1; i >= 0; i-- {
		if t.open[i] == (opened{end, key}) {
			t.open = slices.Delete(t.open, i, i+1)
			return
		}
	}
}

// addMessage takes a whole message, of the request or of a snapshot.
func (t *transcript) addMessage(raw json.RawMessage) {
	m := agui.ParseMessage(raw)
	msg := &message{id: m.ID, role: m.Role, json: raw, callID: m.ToolCallID}
	t.messages = append(t.messages, msg)
	if m.ID != "" {
		t.byID[m.ID] = msg
	}
	for _, c := range gjson.GetBytes(raw, "toolCalls").Array() {
		id := c.Get("id").Str
		if known := t.callByID[id]; known != nil {
			msg.calls = append(msg.calls, known)
			continue
		}
		t.addCall(msg, &call{Call: agui.Call{ID: id, Name: c.Get("function.name").Str, Parent: m.ID, Ended: true}, args: []byte(c.Get("function.arguments").Str)})
	}
	if m.Role == "tool" {
		t.answered(m.ToolCallID)
	}
	t.grow(len(raw))
}

func (t *transcript) addCall(m *message, c *call) {
	m.calls = append(m.calls, c)
	t.calls = append(t.calls, c)
	t.callByID[c.ID] = c
	t.grow(len(c.args) + len(c.ID) + len(c.Name))
}

func (t *transcript) answered(callID string) {
	if c := t.callByID[callID]; c != nil {
		c.Answered = true
	}
}

// grow counts what is kept; over the bound the contents go and only the ids stay.
func (t *transcript) grow(n int) {
	t.size += n
	if t.size > t.limit && !t.tooLarge {
		t.forget()
	}
}

// forget drops the contents of the messages: they are not known whole any more.
func (t *transcript) forget() {
	t.tooLarge = true
	for _, m := range t.messages {
		if m.json != nil && m.role == "user" {
			continue // its content tells an edited message from the old one; See is asked for it
		}
		m.json, m.content, m.result = nil, nil, nil
	}
	for _, c := range t.calls {
		c.args = nil
	}
}

// applyDelta appends to a message or a call. These are nearly all events of a stream, so nothing is allocated but for
// what the text itself needs.
func (t *transcript) applyDelta(ev agui.Event) {
	t.messageSent = false
	root := agui.View(ev.JSON)
	delta := root.Get("delta").Str
	if ev.Type == agui.CallArgs {
		t.appendArgs(t.callByID[root.Get("toolCallId").Str], delta)
	} else if m := t.byID[root.Get("messageId").Str]; m != nil {
		t.appendText(m, delta)
	}
}

func (t *transcript) appendText(m *message, delta string) {
	if !t.tooLarge {
		m.content = append(m.content, delta...)
	}
	t.grow(len(delta))
}

func (t *transcript) applyText(ev agui.Event) {
	id := ev.Get("messageId").Str
	switch ev.Type {
	case agui.TextStart:
		t.begin(agui.TextEnd, id)
	case agui.TextEnd:
		t.end(agui.TextEnd, id)
		return
	case agui.TextChunk:
		if id == "" {
			id = t.lastText
		}
		t.lastText = id
	}
	t.messageSent = false
	m := t.byID[id]
	if m == nil {
		role := ev.Get("role").Str
		if role == "" {
			role = "assistant"
		}
		m = &message{id: id, role: role, name: ev.Get("name").Str, streamed: true}
		t.messages = append(t.messages, m)
		t.byID[id] = m
	}
	t.appendText(m, ev.Get("delta").Str)
}

func (t *transcript) applyCall(ev agui.Event) {
	id := ev.Get("toolCallId").Str
	switch ev.Type {
	case agui.CallStart:
		t.begin(agui.CallEnd, id)
		t.startCall(id, ev)
	case agui.CallEnd:
		t.end(agui.CallEnd, id)
		if c := t.callByID[id]; c != nil {
			c.Ended = true
		}
		return
	case agui.CallChunk:
		if id == "" {
			id = t.lastCall
		}
		t.lastCall = id
		if t.callByID[id] == nil {
			t.startCall(id, ev)
		}
		if c := t.callByID[id]; c != nil {
			t.appendArgs(c, ev.Get("delta").Str)
			c.Ended = true // a chunk needs no end
		}
	case agui.CallResult:
		content := slices.Clone([]byte(ev.Get("content").Raw))
		m := &message{id: ev.Get("messageId").Str, role: "tool", callID: id, result: content, streamed: true}
		t.messages = append(t.messages, m)
		t.byID[m.id] = m
		t.answered(id)
		t.grow(len(content))
	}
	t.messageSent = false
}

// startCall puts the call where the client puts it: onto the message named as its parent, else onto a new one.
func (t *transcript) startCall(id string, ev agui.Event) {
	if t.callByID[id] != nil {
		return
	}
	parent := ev.Get("parentMessageId").Str
	m := t.byID[parent]
	if m == nil {
		if parent == "" {
			parent = id
		}
		m = &message{id: parent, role: "assistant", streamed: true}
		t.messages = append(t.messages, m)
		t.byID[parent] = m
	}
	t.addCall(m, &call{Call: agui.Call{ID: id, Name: ev.Get("toolCallName").Str, Parent: parent}})
}

func (t *transcript) appendArgs(c *call, delta string) {
	if c == nil {
		return
	}
	if !t.tooLarge {
		c.args = append(c.args, delta...)
	}
	t.grow(len(delta))
}

func (t *transcript) applyEncrypted(ev agui.Event) {
	id, value := ev.Get("entityId").Str, ev.Get("encryptedValue").Str
	if c := t.callByID[id]; c != nil && ev.Get("subtype").Str == "tool-call" {
		c.encrypted = value
	} else if m := t.byID[id]; m != nil {
		m.encrypted = value
	}
	t.grow(len(value))
}

// applyMessages replaces the messages, as the client does; the calls stay known.
func (t *transcript) applyMessages(ev agui.Event) {
	t.messages, t.byID, t.size, t.tooLarge, t.messageSent = nil, map[string]*message{}, 0, false, true
	list := slices.Clone(ev.JSON)
	gjson.GetBytes(list, "messages").ForEach(func(_, m gjson.Result) bool {
		if m.IsObject() {
			t.addMessage(json.RawMessage(m.Raw))
		}
		return true
	})
}

func (t *transcript) setState(state json.RawMessage) {
	t.state, t.stateSize = state, len(state)
	if t.stateSize > t.limit {
		t.state, t.stateLost = nil, true
	}
}

// patchState applies an RFC 6902 patch. One that does not apply leaves the state unknown, as a state that was never
// sent does.
func (t *transcript) patchState(delta string) {
	if t.stateLost {
		return
	}
	patch, err := jsonpatch.DecodePatch([]byte(delta))
	if err == nil {
		base := t.state
		if base == nil {
			base = json.RawMessage("{}")
		}
		options := jsonpatch.NewApplyOptions()
		options.EscapeHTML = false
		var next []byte
		if next, err = patch.ApplyWithOptions(base, options); err == nil {
			t.setState(next)
			return
		}
	}
	t.state, t.stateLost = nil, true
}

// Calls implements agui.Transcript.
func (t *transcript) Calls() []agui.Call {
	t.fold()
	list := make([]agui.Call, len(t.calls))
	for i, c := range t.calls {
		list[i] = c.Call
		list[i].Args = string(c.args)
	}
	return list
}

// Messages implements agui.Transcript.
func (t *transcript) Messages() ([]json.RawMessage, bool) {
	t.fold()
	if t.tooLarge {
		return nil, false
	}
	list := make([]json.RawMessage, len(t.messages))
	for i, m := range t.messages {
		list[i] = m.render()
	}
	return list, true
}

// State implements agui.Transcript.
func (t *transcript) State() (json.RawMessage, bool) {
	t.fold()
	return t.state, !t.stateLost
}

// Streamed implements agui.Transcript.
func (t *transcript) Streamed() bool { return t.streamed }

// seen is what tells the messages of this run from new ones, also where their contents were too large to keep.
func (t *transcript) seen() []agui.SeenMessage {
	t.fold()
	list := make([]agui.SeenMessage, 0, len(t.messages))
	for _, m := range t.messages {
		if m.json != nil {
			list = append(list, agui.See(agui.ParseMessage(m.json)))
		} else {
			list = append(list, agui.SeenMessage{ID: m.id})
		}
	}
	return list
}

// unclosed are the events that close what is open, the innermost first.
func (t *transcript) unclosed() []agui.Event {
	t.fold()
	var list []agui.Event
	for i := len(t.open) - 1; i >= 0; i-- {
		o := t.open[i]
		event := map[string]string{"type": string(o.end)}
		switch o.end {
		case agui.StepFinished:
			event["stepName"] = o.key
		case agui.CallEnd:
			event["toolCallId"] = o.key
		case agui.ThinkingEnd, agui.ThinkingTextEnd:
		default:
			event["messageId"] = o.key
		}
		list = append(list, agui.NewEvent(agui.MustMarshal(event)))
	}
	return list
}

// render is the message as a MESSAGES_SNAPSHOT holds it.
func (m *message) render() json.RawMessage {
	out := m.json
	if out == nil {
		out = agui.MustMarshal(struct {
			ID   string `json:"id"`
			Role string `json:"role"`
			Name string `json:"name,omitempty"`
		}{m.id, m.role, m.name})
	}
	if m.role == "tool" && m.streamed {
		out = agui.SetString(out, "toolCallId", m.callID)
		if m.result != nil {
			out = agui.SetKey(out, "content", m.result)
		}
		return out
	}
	if len(m.content) > 0 || m.streamed && len(m.calls) == 0 {
		out = agui.SetString(out, "content", gjson.GetBytes(out, "content").Str+string(m.content))
	}
	if m.encrypted != "" {
		out = agui.SetString(out, "encryptedValue", m.encrypted)
	}
	if known := len(gjson.GetBytes(out, "toolCalls").Array()); known < len(m.calls) {
		out = m.renderCalls(out, known)
	}
	return out
}

// renderCalls adds the calls that were streamed to those that the message came with.
func (m *message) renderCalls(out []byte, known int) []byte {
	for _, c := range m.calls[known:] {
		type function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}
		one := agui.MustMarshal(struct {
			ID        string   `json:"id"`
			Type      string   `json:"type"`
			Function  function `json:"function"`
			Encrypted string   `json:"encryptedValue,omitempty"`
		}{c.ID, "function", function{c.Name, string(c.args)}, c.encrypted})
		if !gjson.GetBytes(out, "toolCalls").IsArray() {
			out = agui.SetKey(out, "toolCalls", []byte("[]"))
		}
		out = agui.SetKey(out, "toolCalls.-1", one)
	}
	return out
}
