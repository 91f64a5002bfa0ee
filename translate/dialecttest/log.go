package dialecttest

import (
	"encoding/json"
	"slices"

	"holdpoint/internal/agui"
)

// A Log is a simple agui.Transcript for tests of a dialect. It merges messages, texts, calls, their
// results and snapshots in the same way as a client. Its zero value is empty.
type Log struct {
	// Unknown says that the Log lacks messages, so that Messages returns false.
	Unknown bool

	messages []*logMessage
	byID     map[string]*logMessage // id → the first message with this id
	calls    []*agui.Call
	callByID map[string]*agui.Call
	state    json.RawMessage // the state in the last STATE_SNAPSHOT
	changed  bool            // a STATE_DELTA followed; a Log does not apply it
}

// A logMessage is a message as the client has it.
type logMessage struct {
	id, role string
	whole    json.RawMessage // JSON of the message, or nil if it was streamed
	text     []byte
	calls    []*agui.Call // calls of this message that were streamed
	of       string       // id of the call whose result this message is, or ""
}

type message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Of      string `json:"toolCallId,omitempty"`
	Content string `json:"content"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// NewLog returns the transcript of a run whose request has these messages.
func NewLog(messages []agui.Message) *Log {
	l := &Log{}
	for _, m := range messages {
		l.Say(m)
	}
	return l
}

// LogOf returns the transcript of a run whose request has these messages. Each is given as JSON.
func LogOf(messages ...string) *Log {
	l := &Log{}
	for _, m := range messages {
		l.Say(agui.ParseMessage([]byte(m)))
	}
	return l
}

// Next returns the transcript of the thread's next run, whose request has these messages.
func (l *Log) Next(messages []agui.Message) *Log {
	next := &Log{Unknown: l.Unknown}
	for _, c := range l.calls {
		c.StreamedInRun = false
		next.keepCall(c)
	}
	for _, m := range messages {
		next.Say(m)
	}
	return next
}

// Calls implements agui.Transcript.
func (l *Log) Calls() []agui.Call {
	var list []agui.Call
	for _, c := range l.calls {
		list = append(list, *c)
	}
	return list
}

// Messages implements agui.Transcript.
func (l *Log) Messages() ([]json.RawMessage, bool) {
	if l.Unknown {
		return nil, false
	}
	var list []json.RawMessage
	for _, m := range l.messages {
		list = append(list, m.render())
	}
	return list, true
}

// State implements agui.Transcript.
func (l *Log) State() (json.RawMessage, bool) {
	if l.changed {
		return nil, false
	}
	return l.state, true
}

// SeenMessages returns the messages as a pause stores them.
func (l *Log) SeenMessages() []agui.SeenMessage {
	var list []agui.SeenMessage
	for _, m := range l.messages {
		list = append(list, agui.NewSeenMessage(agui.ParseMessage(m.render())))
	}
	return list
}

func (m *logMessage) render() json.RawMessage {
	object := m.whole
	switch {
	case object != nil:
	case m.role == "tool":
		return agui.MustMarshal(message{m.id, m.role, m.of, string(m.text)})
	default:
		object = agui.MustMarshal(message{m.id, m.role, "", string(m.text)})
	}
	for _, c := range m.calls {
		object = agui.SetKey(object, "toolCalls.-1", agui.MustMarshal(toolCall{c.ID, "function", function{c.Name, c.Args}}))
	}
	return object
}

// Say adds a whole message.
func (l *Log) Say(m agui.Message) {
	l.keep(&logMessage{id: m.ID, role: m.Role, whole: m.JSON, of: m.ToolCallID})
	for _, c := range agui.View(slices.Clone(m.JSON)).Get("toolCalls").Array() {
		l.keepCall(&agui.Call{
			ID: c.Get("id").Str, Name: c.Get("function.name").Str, Args: c.Get("function.arguments").Str, Parent: m.ID, Ended: true,
		})
	}
	if m.Role == "tool" {
		l.answered(m.ToolCallID)
	}
}

// AddCalls adds calls that belong to no message.
func (l *Log) AddCalls(calls ...agui.Call) *Log {
	for _, c := range calls {
		l.keepCall(&c)
	}
	return l
}

// Add adds an event that is sent to the client.
func (l *Log) Add(ev agui.Event) {
	if !ev.Valid() {
		return
	}
	id := ev.Get("toolCallId").Str
	switch ev.Type {
	case agui.TextStart, agui.TextContent, agui.TextChunk:
		m := l.assistant(ev.Get("messageId").Str, ev.Type != agui.TextContent)
		if m != nil && m.whole == nil {
			m.text = append(m.text, ev.Get("delta").Str...)
		}
	case agui.CallStart, agui.CallChunk, agui.CallArgs, agui.CallEnd:
		l.addCall(ev, id)
	case agui.CallResult:
		l.answered(id)
		l.keep(&logMessage{id: ev.Get("messageId").Str, role: "tool", of: id, text: []byte(ev.Get("content").Str)})
	case agui.MessagesSnapshot:
		l.messages, l.byID = nil, nil
		for _, m := range ev.Get("messages").Array() {
			l.Say(agui.ParseMessage([]byte(m.Raw)))
		}
	case agui.StateSnapshot:
		l.state, l.changed = json.RawMessage(ev.Get("snapshot").Raw), false
	case agui.StateDelta:
		l.changed = true
	}
}

func (l *Log) addCall(ev agui.Event, id string) {
	c := l.call(id)
	if c != nil && c.Answered && ev.Type == agui.CallStart {
		c = nil // the model repeated an id: this is another call
		delete(l.callByID, id)
	}
	if c == nil {
		if ev.Type == agui.CallArgs || ev.Type == agui.CallEnd || id == "" {
			return
		}
		c = &agui.Call{ID: id, Name: ev.Get("toolCallName").Str, Parent: ev.Get("parentMessageId").Str}
		m := l.assistant(c.Parent, c.Parent != "")
		if m == nil || m.role != "assistant" { // clients make a message with the id of the call
			c.Parent = id
			m = l.assistant(id, true)
		}
		m.calls = append(m.calls, c)
		l.keepCall(c)
	}
	switch ev.Type {
	case agui.CallEnd:
		c.Ended = true
		return
	case agui.CallStart:
		c.StreamedInRun = true
		return
	case agui.CallChunk:
		c.StreamedInRun = true
	}
	c.Args += ev.Get("delta").Str // even if the call has ended, as clients do
}

// assistant returns the message with this id. If it does not exist, assistant creates it if makes
// is true, and otherwise returns nil.
func (l *Log) assistant(id string, makes bool) *logMessage {
	if m := l.byID[id]; m != nil || !makes {
		return m
	}
	m := &logMessage{id: id, role: "assistant"}
	l.keep(m)
	return m
}

func (l *Log) keep(m *logMessage) {
	l.messages = append(l.messages, m)
	if l.byID == nil {
		l.byID = map[string]*logMessage{}
	}
	if l.byID[m.id] == nil {
		l.byID[m.id] = m
	}
}

// keepCall adds the call, unless the Log has a call with the same id.
func (l *Log) keepCall(c *agui.Call) {
	if l.callByID == nil {
		l.callByID = map[string]*agui.Call{}
	}
	if l.callByID[c.ID] == nil {
		l.callByID[c.ID] = c
		l.calls = append(l.calls, c)
	}
}

func (l *Log) call(id string) *agui.Call { return l.callByID[id] }

func (l *Log) answered(id string) {
	if c := l.call(id); c != nil {
		c.Answered = true
	}
}
