// Package transcript keeps the messages, the calls and the state that the client of a run has got,
// and knows which items of its stream are not closed yet. Its memory is limited. It never returns
// an incomplete list or state: if something is missing, the list or the state is unknown.
//
// The package decides nothing, and does not know pauses, records and HTTP. It follows the reducer
// of the official client (@ag-ui/client, src/apply/default.ts).
package transcript

import (
	"cmp"
	"encoding/json"
	"strings"

	"holdpoint/internal/agui"
)

// foldBytes is the smallest number of raw bytes for which the raw events are folded into messages
// and state. The raw events may exceed the limit by an eighth before they are folded. If nearly all
// of them are text, the text alone then exceeds the limit, and is dropped without being parsed. If
// a run has fewer raw bytes and does not pause, its events are never parsed.
const foldBytes = 64 << 10

// A Transcript has what the client of a run has got: the messages and the state of its request,
// with the changes that the stream has made to them. It follows the reducer of the official client
// (@ag-ui/client src/apply/default.ts).
//
// It keeps the relevant events unparsed, and joins consecutive pieces of a text. It folds the
// events into messages and state only when a method needs these. RAW and CUSTOM events are never
// relevant.
//
// Its memory is limited. If the messages or the state exceed the limit, they are dropped as a
// whole, and only the ids remain. If even the ids are too large, the oldest messages and calls are
// dropped. Each of these may have limit bytes: the raw events, the contents, the state, the patches
// of the state, and the list of items that are not closed. The ids may have twice as many.
type Transcript struct {
	limit    int
	unfolded records // events that are not folded into messages and state yet
	InRows   int     // number of frames that TakeRow has read so far
	texts    delta   // recognizes the next piece of a text or of reasoning
	// Recognizes the next piece of a call's arguments. It is separate from texts, because a text
	// often continues after a call.
	args      delta
	openDelta *delta // the delta whose last record may still be extended
	// Bytes of the pieces of text in raw since the last MESSAGES_SNAPSHOT, with their JSON escapes.
	text     int
	replaced bool // raw contains a MESSAGES_SNAPSHOT
	calling  bool // the stream had an event that may begin a call

	// The messages of the request. They become nil when they are folded into messages; until then,
	// size is the length of their JSON.
	first             []agui.Message
	messages          []*message
	byID              map[string]*message
	calls             []*call
	callByID          map[string]*call
	answers           map[string]bool // ids of unknown calls that got a result in the stream
	size              int             // estimated size of the contents of messages and calls
	ids               int             // estimated size of messages and calls without their contents
	tooLarge          bool
	messagesDropped   bool // the oldest messages and calls were dropped completely
	heldArguments     int  // bytes of arguments that are kept although tooLarge is set
	argumentsTooLarge bool // even these arguments were too large, so some or all of them were dropped
	state             json.RawMessage
	patches           records // patches that are not applied to state yet
	stateLost         bool

	// Texts, reasoning, calls, steps and subagents that have begun and not ended, in order. The
	// entry of an item that has ended is zero.
	open        []openItem
	openAt      map[openItem][]int
	openCount   int    // number of entries of open that are not zero
	openSize    int    // estimated size of open
	openLost    bool   // open was too large, and was dropped
	lastText    string // id of the text to which chunks without an id belong
	lastThought string // the same for chunks of reasoning
	// Roles whose messages a client keeps although a snapshot lacks them, if some of these messages
	// are not known.
	missing              map[string]bool
	keptThroughSnapshots int // number of messages kept although a snapshot lacked them
	lastCall             string
	stateSent            bool // the last event about the state was a snapshot
	stateSeen            bool
	messageSent          bool // the last event about messages was a snapshot
}

// New returns the transcript of a run whose request has the given messages and state. limit is the
// limit of its memory in bytes, see Transcript. The transcript does not change the slices.
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

// seed adds the messages of the request. It is called late, because most runs never need it, and
// the backend should not wait for it.
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

// isRelevant reports whether events of the type can change the transcript.
func isRelevant(t agui.Type) bool {
	switch t {
	case agui.Unknown, agui.Raw, agui.Custom, agui.RunStarted, agui.RunFinished, agui.RunErrored:
		return false
	}
	return true
}

// Add adds an event that the client has got. It copies the event.
func (t *Transcript) Add(ev agui.Event) {
	switch {
	case !isRelevant(ev.Type):
		return
	case ev.Type == agui.CallStart, ev.Type == agui.CallChunk, ev.Type == agui.MessagesSnapshot:
		t.calling = true
	}
	switch {
	case ev.Type == agui.TextContent || ev.Type == agui.CallArgs || ev.Type == agui.ReasoningContent:
		d := t.deltaOf(ev.Type)
		if text, ok := d.text(ev.JSON); ok {
			t.join(d, text)
		} else if text, ok := d.learn(ev); ok && t.keepsText(ev.Type) {
			t.begins(d, text)
		} else if t.keepsText(ev.Type) {
			t.unfolded.add(ev.JSON)
		}
	case len(ev.JSON) > t.limit, t.tooLarge && ev.Type == agui.MessagesSnapshot:
		// Most likely the event is too large to be kept, or it is a snapshot after which the
		// messages are known again.
		t.fold()
		t.apply(ev)
		return
	default:
		t.unfolded.add(ev.JSON)
		if ev.Type == agui.MessagesSnapshot {
			t.text, t.replaced = 0, true
		}
	}
	t.bound()
}

// Repeat adds an event of a call that the transcript already contains. The event is sent again to a
// client that lacks the call. It changes only the list of items that are not closed.
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

// join adds a piece of text to the record of the delta d. After joining many pieces, the caller
// must call the method bound.
func (t *Transcript) join(d *delta, text []byte) {
	switch {
	case !t.keepsText(d.typ):
	case t.openDelta == d && t.unfolded.extend(text):
		t.text += len(text)
	default:
		t.begins(d, text)
	}
}

// begins adds a record for a piece of text. Later pieces of the delta d may extend the record.
func (t *Transcript) begins(d *delta, text []byte) {
	t.unfolded.begin(d.head(), text)
	t.openDelta = d
	t.text += len(text)
}

// bound folds the raw events into messages and state, if they are too large.
func (t *Transcript) bound() {
	if n := t.unfolded.size; n < foldBytes || n+t.size < t.limit+t.limit/8 {
		return
	}
	t.seed()
	// An escape has at most six bytes, and stands for at least one byte. So least minus five bytes
	// for each escape is the smallest possible size of the contents. If even that exceeds the
	// limit, the contents can be dropped without being parsed.
	least := t.text
	if !t.replaced {
		least += t.size
	}
	if !t.tooLarge && least > t.limit && least-5*t.unfolded.count('\\') > t.limit {
		t.ForgetMessages()
	}
	t.fold()
}

// fold turns the raw events into messages, calls and state.
func (t *Transcript) fold() {
	t.seed()
	t.unfolded.each(func(json []byte) { t.apply(agui.NewEvent(json)) })
	t.unfolded.drop()
	t.text, t.replaced = 0, false
}

// Drop releases the memory of the raw events and of the patches. It is called at the end of a run.
func (t *Transcript) Drop() {
	t.unfolded.drop()
	t.patches.drop()
}

// Calls implements agui.Transcript.
func (t *Transcript) Calls() []agui.Call {
	t.fold()
	list := make([]agui.Call, len(t.calls))
	for i, c := range t.calls {
		list[i] = c.Call
		// If it is set, some arguments were dropped, and which ones depends on when the events were
		// folded.
		if !t.tooLarge {
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

// AskedCall returns the call with the given id, about which the person is asked, as the client has
// it. ok is false if the transcript has never contained such a call.
func (t *Transcript) AskedCall(id string) (agui.AskedCall, bool) {
	t.fold()
	c := t.callByID[id]
	if c == nil {
		// the call may be one of those that were dropped
		return agui.AskedCall{ID: strings.Clone(id), ArgumentsUnknown: true}, t.messagesDropped && id != ""
	}
	asked := agui.AskedCall{ID: strings.Clone(id), Name: cmp.Or(c.latest, c.Name), ArgumentsUnknown: c.argumentsLost}
	if !c.argumentsLost {
		asked.Args = string(c.args[c.from:])
	}
	return asked, true
}

// HasCalls reports whether the message with the id has calls.
func (t *Transcript) HasCalls(id string) bool {
	t.fold()
	m := t.byID[id]
	return m != nil && (m.hadCalls || len(m.calls) > 0)
}

// HasMessage reports whether the transcript contains a message with the given id.
func (t *Transcript) HasMessage(id string) bool {
	t.fold()
	return t.byID[id] != nil
}

// SeenMessages returns what identifies the messages of this run, so that new messages of a later
// request are recognized. It returns them even if the contents of the messages were too large to
// keep.
func (t *Transcript) SeenMessages() []agui.SeenMessage {
	t.fold()
	list := make([]agui.SeenMessage, 0, len(t.messages))
	for _, m := range t.messages {
		if t.missing[m.role] {
			continue // The record would name the message, but lack its content.
		}
		if m.json != nil {
			list = append(list, agui.NewSeenMessage(agui.ParseMessage(m.json)))
		} else {
			list = append(list, agui.SeenMessage{ID: m.id})
		}
	}
	return list
}

// KnowsOpen reports whether the transcript knows which items are not closed.
func (t *Transcript) KnowsOpen() bool {
	t.fold()
	return !t.openLost
}

// ClosingEvents returns the events that close the items which are not closed, the innermost first.
// failed means that the run has failed. If it is false, the items continue in a later run.
func (t *Transcript) ClosingEvents(failed bool) []agui.Event {
	t.fold()
	var list []agui.Event
	for i := len(t.open) - 1; i >= 0; i-- {
		if o := t.open[i]; o != (openItem{}) {
			list = append(list, agui.NewEvent(o.close(failed)))
		}
	}
	return list
}

// SnapshotsSent reports whether the last event about the state was a snapshot, whether there was
// any event about the state, and whether the last event about the messages was a snapshot.
func (t *Transcript) SnapshotsSent() (state, hasState, messages bool) {
	return t.stateSent, t.stateSeen, t.messageSent
}
