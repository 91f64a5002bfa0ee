package client

import (
	"hash/maphash"
	"strings"

	"holdpoint/internal/agui"
)

// KnownCalls are the calls that the record knows at the beginning of a resume. A client appends the
// arguments of an event to the call that it has, so events of a call that it holds do not go to it
// again. A call that it lacks is told before its result: providers refuse a history with a result
// and no call. The zero value is that of a run that is not a resume, and knows no call.
type KnownCalls struct {
	held    map[string]bool       // those that the client holds; nil if the run is not a resume
	lacking map[string]*KnownCall // those that it lacks
	chunk   string                // the call that chunks without an id belong to
	again   map[string]bool       // those with a result since: one that begins under such an id is another

	// A dialect may tell an answer as a result before the backend says anything. So the backend may
	// begin a call again after that result. It is another one if it is in another message.
	answers map[string]bool   // ids of such results
	early   map[string]bool   // those with no other result
	parents map[string]string // the messages that have the calls

	says map[string]string // what Holdpoint says as a call's result if the backend tells none
}

// A KnownCall is a call that the client lacks.
type KnownCall struct {
	agui.AskedCall
	Recorded bool   // the transcript has it
	parent   string // the message that has it, "" if unknown
	begun    bool   // the stream has begun it since
	alone    bool   // then without a parent: clients make a message of the call's id
}

// KnownCalls returns the calls of a resume of p. answers are those to its questions, in their
// order. The request's messages show what the client holds. If they have no message of the
// conversation, the client sends its new messages only, and holds what it was told.
func (l Listener) KnownCalls(p *agui.Pause, answers []agui.Answer, t Transcript) KnownCalls {
	k := KnownCalls{held: map[string]bool{}}
	if l.showsNativeForm() && !p.ByText { // such a client knows what to make of its backend's stream
		return k
	}
	k.answers, k.parents = map[string]bool{}, map[string]string{}
	for _, i := range p.Interrupts {
		k.answers[i.ID], k.answers["result-"+i.ID] = true, true
	}
	if l.Line.NeedsResult() {
		k.says = ownContents(p, answers)
	}
	lacks := l.lacks(p)
	for _, c := range t.Calls() {
		k.parents[c.ID] = c.Parent
		if !lacks(c.ID) {
			k.held[c.ID] = true
		} else if call, ok := t.AskedCall(c.ID); ok && !call.Unknown {
			k.lack(&KnownCall{AskedCall: call, parent: c.Parent, Recorded: true})
		}
	}
	_, whole := t.Messages() // the request may bring fewer than the client has
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		id := i.ToolCallID()
		if id == "" || k.held[id] || k.lacking[id] != nil || i.CallUnseen && !l.Line.NeedsResult() {
			continue
		}
		call, known := namedCall(i)
		switch {
		case known && lacks(id):
			k.lack(&KnownCall{AskedCall: call})
		case !whole && !i.CallUnseen:
			k.held[id] = true
		}
	}
	return k
}

// lacks returns a function that reports whether the client lacks a call of a resume of p.
func (l Listener) lacks(p *agui.Pause) func(call string) bool {
	if !l.BringsConversation(p) {
		return func(string) bool { return false }
	}
	holds := callsIn(l.ClientMessages)
	if !l.Line.OmitsQuestions() {
		return func(call string) bool { return !holds[call] }
	}
	// It leaves each message that asks out of its request, with all that the message has. Of the
	// calls there it lacks those only that it made a question of.
	asked := map[string]bool{}
	for _, i := range p.Interrupts {
		asked[i.ToolCallID()] = asked[i.ToolCallID()] || strings.EqualFold(i.Reason(), "tool_call") || i.CallUnseen
	}
	return func(call string) bool { return asked[call] && !holds[call] }
}

func (k *KnownCalls) lack(c *KnownCall) {
	if k.lacking == nil {
		k.lacking = map[string]*KnownCall{}
	}
	k.lacking[c.ID] = c
}

// Resumes reports whether the run is a resume, so that the events of its calls have to be looked
// at.
func (k *KnownCalls) Resumes() bool { return k.held != nil }

// Lacks reports whether the client lacks a call.
func (k *KnownCalls) Lacks() bool { return len(k.lacking) > 0 }

// Holds reports whether an event of a call is of one that the client holds.
func (k *KnownCalls) Holds(ev agui.Event) bool {
	if !k.Resumes() {
		return false
	}
	id := ev.Get("toolCallId").Str
	if k.again[id] && ev.Get("toolCallName").Str != "" {
		parent := ev.Get("parentMessageId").Str
		if !k.early[id] || parent != "" && parent != k.parents[id] {
			delete(k.held, id)
		}
	}
	if ev.Type == agui.CallChunk {
		if id == "" {
			id = k.chunk
		}
		k.chunk = id
	}
	return k.held[id]
}

// Lacked returns the call that the client lacks and that an event belongs to, nil if it holds the
// call or nothing is known of it. Holds must have been asked before.
func (k *KnownCalls) Lacked(ev agui.Event) *KnownCall {
	if len(k.lacking) == 0 {
		return nil
	}
	id := ev.Get("toolCallId").Str
	if ev.Type == agui.CallChunk {
		id = k.chunk
	}
	return k.lacking[id]
}

// Begin notes that an event of the stream is one of the call.
func (c *KnownCall) Begin(ev agui.Event) {
	c.begun = true
	c.alone = c.alone || ev.Type != agui.CallArgs && ev.Type != agui.CallEnd && ev.Get("parentMessageId").Str == ""
}

// Answered notes the result of a call. The client holds the call from then on. Ids of some models
// repeat: what begins under that id after it is another call.
func (k *KnownCalls) Answered(result agui.Event) {
	id := result.Get("toolCallId").Str
	if c := k.lacking[id]; c != nil {
		k.held[c.ID] = true
		delete(k.lacking, id)
	}
	if k.held[id] {
		if k.again == nil {
			k.again, k.early = map[string]bool{}, map[string]bool{}
		}
		k.again[id], k.early[id] = true, k.answers[result.Get("messageId").Str]
	}
}

// events returns the events that tell the call.
func (c *KnownCall) events() []agui.Event {
	return callEvents(agui.Call{ID: c.ID, Name: c.Name, Args: c.Args, Parent: c.parent})
}

// Separate gives a result a message of its own if clients have made one of its id for the call, see
// ResultIDs.
func (k *KnownCalls) Separate(result agui.Event) agui.Event {
	c := k.Lacked(result)
	if c == nil || !c.alone || result.Get("messageId").Str != c.ID {
		return result
	}
	return result.With(agui.SetString(result.JSON, "messageId", "result-"+c.ID))
}

// CallOf returns the events that tell the call of a result, if the client lacks it and the stream
// has not begun it. isNew reports that the transcript lacks them too.
func (k *KnownCalls) CallOf(result agui.Event) (events []agui.Event, isNew bool) {
	c := k.Lacked(result)
	if c == nil || c.begun {
		return nil, false
	}
	return c.events(), !c.Recorded
}

// ResultIDs are the ids of the messages in which a client was told results, as hashes: an id would
// have to be copied. The zero value has none.
type ResultIDs map[uint64]struct{}

// maxResults bounds them.
const maxResults = 4096

// resultSeed is the hashes' seed.
var resultSeed = maphash.MakeSeed()

// Distinct gives a result a message of its own if another message has its id. A .NET host names a
// result after its call. Clients name the assistant's message of a call so, too, if the call names
// no parent. An older host gives all results of a run one id. If two messages have one id, a
// MESSAGES_SNAPSHOT leaves the last one, twice (@ag-ui/client 1.0.0, src/apply/default.ts).
func (told *ResultIDs) Distinct(result agui.Event, t Transcript) agui.Event {
	var v [2]string
	if !result.Read(v[:], "messageId", "toolCallId") {
		return result
	}
	id, call := agui.Text(v[0]), agui.Text(v[1])
	if id == "" {
		return result
	}
	if *told == nil {
		*told = ResultIDs{}
	}
	hash, known := maphash.String(resultSeed, id), len(*told)
	var repeats bool
	if known < maxResults {
		(*told)[hash] = struct{}{}
		repeats = len(*told) == known
	} else {
		_, repeats = (*told)[hash]
	}
	if repeats || id == call && t.HasCalls(id) {
		id = "result-" + call
		for t.Holds(id) { // calls of some models all have one id
			id = "result-" + id
		}
		return result.With(agui.SetString(result.JSON, "messageId", id))
	}
	return result
}
