// Package transcript keeps what the client of a run has been shown: messages, calls, state, and
// what is open. It is bounded. It never tells a list or a state that it does not know whole.
//
// It decides nothing, and does not know of pauses, records or HTTP. It follows the reducer of the
// official client (@ag-ui/client, src/apply/default.ts).
package transcript

import (
	"cmp"
	"encoding/json"
	"strings"

	"holdpoint/internal/agui"
)

// foldBytes is the least that is worth folding into messages and state. Raw events may go an eighth
// over the bound before they are folded; if nearly all of them are text, the text alone is then
// over the bound. A run without a pause that stays below is not parsed.
const foldBytes = 64 << 10

// A Transcript is what the client of a run has been shown: the messages and the state of its
// request, and what the stream made of them, as in the official client's reducer (@ag-ui/client
// src/apply/default.ts).
//
// It keeps the events that matter raw, with the pieces of a text joined, and folds them when
// somebody asks. RAW and CUSTOM events never matter.
//
// It is bounded. Over the bound the messages or the state are not known any more, and never known
// in part. The ids are left then. If even those are too many, the oldest go. The raw events, the
// contents, the state, its patches, and what is open have the bound each. The ids have it twice.
type Transcript struct {
	limit    int
	raw      records // events not folded yet
	InRows   int     // frames that TakeRow has taken so far
	texts    delta   // of the last piece of a text or of reasoning
	args     delta   // and of a call's arguments: many a text goes on behind a call
	joined   *delta  // whose record may get more text
	text     int     // bytes of the pieces among the records, escaped as they are, since the last snapshot
	replaced bool    // there is a snapshot of the messages among the records
	calling  bool    // the stream had an event by which a call may begin

	first     []agui.Message // of the request, nil once they are among the messages; size is that of their JSON until then
	messages  []*message
	byID      map[string]*message
	calls     []*call
	callByID  map[string]*call
	answers   map[string]bool // calls that are not known and got a result in the stream
	size      int             // of the contents that are folded, by estimate
	ids       int             // of what else is kept of messages and calls, by estimate
	tooLarge  bool
	thinned   bool // the oldest messages and calls are not known at all
	held      int  // bytes of arguments that are kept though it is too large
	full      bool // that was too much, too
	state     json.RawMessage
	patches   records // of the state, not applied yet
	stateLost bool

	open        []openItem // text, reasoning, calls and steps that were begun and not ended, in order; zero where one has ended
	openAt      map[openItem][]int
	living      int             // places of open that are not zero
	openSize    int             // of what is open, by estimate
	openLost    bool            // it was too much: what is open is not known
	lastText    string          // for chunks without an id
	lastThought string          // for chunks of reasoning without one
	missing     map[string]bool // roles of messages that the client keeps through snapshots, and that are not all known
	stayed      int             // how often a message stayed through a snapshot
	lastCall    string
	stateSent   bool // the last event about the state was a whole snapshot
	stateSeen   bool
	messageSent bool // the last event about messages was a whole snapshot
}

// New makes the transcript of a run whose request has these messages and this state. limit bounds
// what is kept, see Transcript. The slices belong to the caller and stay as they are.
func New(limit int, messages []agui.Message, state json.RawMessage) *Transcript {
	t := &Transcript{limit: limit, first: messages}
	for _, m := range messages {
		t.size += len(m.JSON)
	}
	t.tooLarge = t.size > limit
	if t.holdsState(len(state)) {
		t.state = state
	}
	return t
}

// seed folds the messages of the request. In most runs nobody asks for them, and a backend does not
// wait for it.
func (t *Transcript) seed() {
	if t.byID != nil {
		return
	}
	first := t.first
	t.first, t.size = nil, 0
	t.byID, t.callByID = map[string]*message{}, map[string]*call{}
	if most := t.names() / messageCost; t.tooLarge && len(first) > most {
		first = first[len(first)-most:]
	}
	for _, m := range first {
		t.addMessage(m)
		if c := t.callByID[m.ToolCallID]; c != nil && m.Role == "tool" {
			c.done = true
		}
	}
	if t.tooLarge {
		t.ForgetMessages()
	}
}

// relevant reports whether an event of the type changes what the transcript tells.
func relevant(t agui.Type) bool {
	switch t {
	case agui.Unknown, agui.Raw, agui.Custom, agui.RunStarted, agui.RunFinished, agui.RunErrored:
		return false
	}
	return true
}

// Add takes an event that the client was shown. It costs a copy.
func (t *Transcript) Add(ev agui.Event) {
	switch {
	case !relevant(ev.Type):
		return
	case ev.Type == agui.CallStart, ev.Type == agui.CallChunk, ev.Type == agui.MessagesSnapshot:
		t.calling = true
	}
	switch {
	case ev.Type == agui.TextContent || ev.Type == agui.CallArgs || ev.Type == agui.ReasoningContent:
		d := t.deltaOf(ev.Type)
		if text, ok := d.text(ev.JSON); ok {
			t.join(d, text)
		} else if text, ok := d.learn(ev); ok && t.keeps(ev.Type) {
			t.begins(d, text)
		} else if t.keeps(ev.Type) {
			t.raw.add(ev.JSON)
		}
	case len(ev.JSON) > t.limit, t.tooLarge && ev.Type == agui.MessagesSnapshot:
		// Nothing of it is kept, most likely; or the messages are known again from here on.
		t.fold()
		t.apply(ev)
		return
	default:
		t.raw.add(ev.JSON)
		if ev.Type == agui.MessagesSnapshot {
			t.text, t.replaced = 0, true
		}
	}
	t.bound()
}

// Repeat takes an event of a call that the transcript has, told again to a client that lacks it. By
// it only what is open changes.
func (t *Transcript) Repeat(ev agui.Event) {
	t.fold()
	switch id := ev.Get("toolCallId").Str; ev.Type {
	case agui.CallStart:
		t.begin(agui.CallEnd, strings.Clone(id))
	case agui.CallEnd:
		t.end(agui.CallEnd, id)
	}
}

func (t *Transcript) deltaOf(typ agui.Type) *delta {
	if typ == agui.CallArgs {
		return &t.args
	}
	return &t.texts
}

// join adds a piece of a text to the delta that it belongs to. Whoever joins many calls bound
// behind them.
func (t *Transcript) join(d *delta, text []byte) {
	switch {
	case !t.keeps(d.typ):
	case t.joined == d && t.raw.extend(text):
		t.text += len(text)
	default:
		t.begins(d, text)
	}
}

// begins keeps a piece of a text that others of the delta may follow.
func (t *Transcript) begins(d *delta, text []byte) {
	t.raw.begin(d.head(), text)
	t.joined = d
	t.text += len(text)
}

// bound folds the raw events if they are too much.
func (t *Transcript) bound() {
	if n := t.raw.size; n < foldBytes || n+t.size < t.limit+t.limit/8 {
		return
	}
	t.seed()
	// An escape makes at least one byte of at most six. What is too much even so need not be read
	// to be dropped.
	least := t.text
	if !t.replaced {
		least += t.size
	}
	if !t.tooLarge && least > t.limit && least-5*t.raw.count('\\') > t.limit {
		t.ForgetMessages()
	}
	t.fold()
}

// fold makes messages, calls and state of the raw events.
func (t *Transcript) fold() {
	t.seed()
	t.raw.each(func(json []byte) { t.apply(agui.NewEvent(json)) })
	t.raw.drop()
	t.text, t.replaced = 0, false
}

// Drop gives the raw events back. At the end of a run nobody asks for them any more.
func (t *Transcript) Drop() {
	t.raw.drop()
	t.patches.drop()
}

// Calls implements agui.Transcript.
func (t *Transcript) Calls() []agui.Call {
	t.fold()
	list := make([]agui.Call, len(t.calls))
	for i, c := range t.calls {
		list[i] = c.Call
		if !t.tooLarge { // what is known then depends on when it was folded
			list[i].Args = string(c.args)
		}
	}
	return list
}

// MayHaveFreshCalls implements agui.FreshCaller.
func (t *Transcript) MayHaveFreshCalls() bool { return t.calling }

// Call implements agui.CallFinder.
func (t *Transcript) Call(id string) (agui.Call, bool) {
	t.fold()
	c := t.callByID[id]
	if c == nil {
		return agui.Call{}, false
	}
	found := c.Call
	found.Args = string(c.args)
	return found, true
}

// Messages implements agui.Transcript.
func (t *Transcript) Messages() ([]json.RawMessage, bool) {
	t.fold()
	if t.tooLarge {
		return nil, false
	}
	list := make([]json.RawMessage, 0, len(t.messages))
	for _, m := range t.messages {
		if !t.missing[m.role] {
			list = append(list, m.render())
		}
	}
	return list, true
}

// State implements agui.Transcript.
func (t *Transcript) State() (json.RawMessage, bool) {
	t.fold()
	t.applyPatches()
	return t.state, !t.stateLost
}

// AskedCall returns the call with that id as the client has it. It is what a person is asked about.
// It is false if there is none.
func (t *Transcript) AskedCall(id string) (agui.AskedCall, bool) {
	t.fold()
	c := t.callByID[id]
	if c == nil {
		return agui.AskedCall{ID: strings.Clone(id), Unknown: true}, t.thinned && id != "" // it may be one of those that are not kept
	}
	asked := agui.AskedCall{ID: strings.Clone(id), Name: cmp.Or(c.latest, c.Name), Unknown: c.lost}
	if !c.lost {
		asked.Args = string(c.args[c.from:])
	}
	return asked, true
}

// HasCalls reports whether a message of that id has calls.
func (t *Transcript) HasCalls(id string) bool {
	t.fold()
	m := t.byID[id]
	return m != nil && (m.asked || len(m.calls) > 0)
}

// Holds reports whether there is a message of that id.
func (t *Transcript) Holds(id string) bool {
	t.fold()
	return t.byID[id] != nil
}

// Seen tells the messages of this run from new ones, also if their contents were too large to keep.
func (t *Transcript) Seen() []agui.SeenMessage {
	t.fold()
	list := make([]agui.SeenMessage, 0, len(t.messages))
	for _, m := range t.messages {
		if t.missing[m.role] {
			continue // a record that named it would lack its content
		}
		if m.json != nil {
			list = append(list, agui.See(agui.ParseMessage(m.json)))
		} else {
			list = append(list, agui.SeenMessage{ID: m.id})
		}
	}
	return list
}

// KnowsOpen reports whether the transcript knows what is open.
func (t *Transcript) KnowsOpen() bool {
	t.fold()
	return !t.openLost
}

// Unclosed returns the events that close what is open, the innermost first. The run goes on later,
// or it has failed.
func (t *Transcript) Unclosed(failed bool) []agui.Event {
	t.fold()
	var list []agui.Event
	for i := len(t.open) - 1; i >= 0; i-- {
		if o := t.open[i]; o != (openItem{}) {
			list = append(list, agui.NewEvent(o.close(failed)))
		}
	}
	return list
}

// Sent reports whether the last event about the state was a whole snapshot, whether there was any
// such event, and whether the last event about the messages was a whole snapshot.
func (t *Transcript) Sent() (state, anyState, messages bool) {
	return t.stateSent, t.stateSeen, t.messageSent
}
