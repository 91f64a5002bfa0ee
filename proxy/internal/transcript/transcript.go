// Package transcript keeps the messages, the calls and the state that the client of a run has been
// shown, and what is open in its stream. Its memory is bounded. It never returns an incomplete list
// or state.
//
// It decides nothing, and has no knowledge of pauses, records or HTTP. It follows the reducer of
// the official client (@ag-ui/client, src/apply/default.ts).
package transcript

import (
	"cmp"
	"encoding/json"
	"strings"

	"holdpoint/internal/agui"
)

// foldBytes is the smallest number of raw bytes that is worth folding into messages and state. Raw
// events may exceed the limit by an eighth before they are folded; if nearly all of them are text,
// the text alone then exceeds the limit. The events of a run without a pause that stays below are
// never parsed.
const foldBytes = 64 << 10

// A Transcript has what the client of a run has been shown: the messages and the state of its
// request, with the changes that the stream made to them, as in the official client's reducer
// (@ag-ui/client src/apply/default.ts).
//
// It keeps the relevant events unparsed, with the pieces of a text joined, and folds them into
// messages and state only when a method needs these. RAW and CUSTOM events are never relevant.
//
// Its memory is bounded. If the messages or the state exceed the limit, they are dropped as a
// whole, and only ids are kept. If even the ids are too many, the oldest are dropped. The raw
// events, the contents, the state, its patches, and what is open may each have limit bytes, and the
// ids twice as many.
type Transcript struct {
	limit    int
	raw      records // events that are not folded yet
	InRows   int     // number of frames that TakeRow has read so far
	texts    delta   // the event of the last piece of a text or of reasoning
	args     delta   // the event of the last piece of a call's arguments, kept separately because texts often continue after a call
	joined   *delta  // the delta whose record may get more text
	text     int     // bytes of text pieces in raw since the last snapshot, with their JSON escapes
	replaced bool    // raw has a MESSAGES_SNAPSHOT
	calling  bool    // the stream had an event that may begin a call

	first     []agui.Message // the messages of the request, nil once they are in messages; until then, size is the length of their JSON
	messages  []*message
	byID      map[string]*message
	calls     []*call
	callByID  map[string]*call
	answers   map[string]bool // ids of unknown calls that got a result in the stream
	size      int             // estimated size of the folded contents
	ids       int             // estimated size of the other data of messages and calls
	tooLarge  bool
	thinned   bool // the oldest messages and calls were dropped completely
	held      int  // bytes of arguments that are kept although tooLarge is set
	full      bool // even these were too large
	state     json.RawMessage
	patches   records // patches of the state that are not applied yet
	stateLost bool

	open        []openItem // texts, reasoning, calls and steps that have begun and not ended, in order; zero where one has ended
	openAt      map[openItem][]int
	living      int             // number of entries of open that are not zero
	openSize    int             // estimated size of open
	openLost    bool            // open was too large, and is not known any more
	lastText    string          // the text that chunks without an id belong to
	lastThought string          // the same for chunks of reasoning
	missing     map[string]bool // roles whose messages the client keeps through snapshots, and of which some are not known
	stayed      int             // number of messages kept through snapshots
	lastCall    string
	stateSent   bool // the last event about the state was a snapshot
	stateSeen   bool
	messageSent bool // the last event about messages was a snapshot
}

// New returns the transcript of a run whose request has these messages and this state. limit bounds
// its memory, see Transcript. The slices are not changed.
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

// seed folds the messages of the request. It is done late, because most runs never need it and the
// backend should not wait for it.
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

// relevant reports whether events of the type change the transcript.
func relevant(t agui.Type) bool {
	switch t {
	case agui.Unknown, agui.Raw, agui.Custom, agui.RunStarted, agui.RunFinished, agui.RunErrored:
		return false
	}
	return true
}

// Add adds an event that the client was shown. It copies the event.
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
		// Most likely nothing of the event is kept, or it makes the messages known again.
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

// Repeat adds an event of a call that the transcript has and that is sent again to a client that
// lacks it. It changes only what is open.
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

// join adds a piece of text to the record of its delta. A caller that joins many pieces must call
// bound afterwards.
func (t *Transcript) join(d *delta, text []byte) {
	switch {
	case !t.keeps(d.typ):
	case t.joined == d && t.raw.extend(text):
		t.text += len(text)
	default:
		t.begins(d, text)
	}
}

// begins adds a record for a piece of text, which later pieces of the delta may extend.
func (t *Transcript) begins(d *delta, text []byte) {
	t.raw.begin(d.head(), text)
	t.joined = d
	t.text += len(text)
}

// bound folds the raw events if they are too large.
func (t *Transcript) bound() {
	if n := t.raw.size; n < foldBytes || n+t.size < t.limit+t.limit/8 {
		return
	}
	t.seed()
	// An escape of at most six bytes stands for at least one byte. If the text exceeds the limit
	// even so, it can be dropped without being parsed.
	least := t.text
	if !t.replaced {
		least += t.size
	}
	if !t.tooLarge && least > t.limit && least-5*t.raw.count('\\') > t.limit {
		t.ForgetMessages()
	}
	t.fold()
}

// fold turns the raw events into messages, calls and state.
func (t *Transcript) fold() {
	t.seed()
	t.raw.each(func(json []byte) { t.apply(agui.NewEvent(json)) })
	t.raw.drop()
	t.text, t.replaced = 0, false
}

// Drop releases the memory of the raw events, at the end of a run.
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
		if !t.tooLarge { // otherwise the known arguments would depend on when the events were folded
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

// AskedCall returns the call with the id in the form that the client has, about which a person is
// asked. ok is false if there is no such call.
func (t *Transcript) AskedCall(id string) (agui.AskedCall, bool) {
	t.fold()
	c := t.callByID[id]
	if c == nil {
		return agui.AskedCall{ID: strings.Clone(id), Unknown: true}, t.thinned && id != "" // it may be one of the dropped calls
	}
	asked := agui.AskedCall{ID: strings.Clone(id), Name: cmp.Or(c.latest, c.Name), Unknown: c.lost}
	if !c.lost {
		asked.Args = string(c.args[c.from:])
	}
	return asked, true
}

// HasCalls reports whether the message with the id has calls.
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

// Unclosed returns the events that close what is open, the innermost first. failed reports that the
// run has failed; otherwise it continues later.
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

// Sent reports whether the last event about the state was a snapshot, whether there was any event
// about the state, and whether the last event about the messages was a snapshot.
func (t *Transcript) Sent() (state, anyState, messages bool) {
	return t.stateSent, t.stateSeen, t.messageSent
}
