package client

import (
	"hash/maphash"
	"strings"

	"holdpoint/internal/agui"
)

// KnownCalls tracks the calls that the record has at the beginning of a resume. If a client gets
// events of a call that it already has, it appends their arguments to those of that call. So events
// of such a call are not sent again. A call that the client lacks is sent before its result,
// because model providers refuse a history that has a result without its call. The zero value is
// for a run that is not a resume. It contains no calls.
type KnownCalls struct {
	clientHas   map[string]bool       // calls that the client has; nil if the run is not a resume
	clientLacks map[string]*KnownCall // calls that the client lacks
	chunk       string                // the call to which chunks without an id belong
	// calls that got a result in this run; a later call with the same id is another call
	answeredInRun map[string]bool

	// A dialect may emit an answer as the result of a call before the backend has sent anything.
	// The backend may then begin the same call again after that result. If the call that begins
	// belongs to another message, it is another call.
	answers     map[string]bool   // message ids of results that are such answers
	onlyResults map[string]bool   // calls whose only result is such an answer
	parents     map[string]string // maps a call to the id of the message that contains it

	// maps a call to the result that Holdpoint sends if the backend sends none
	fallbackResults map[string]string
}

// A KnownCall is a call that the client lacks.
type KnownCall struct {
	agui.AskedCall
	Recorded bool   // the transcript contains the call
	parent   string // the id of the message that contains the call, or "" if unknown
	begun    bool   // this run's stream has begun the call
	// the stream began the call without a parent, so clients made a message with the call's id
	withoutParent bool
}

// KnownCalls returns the KnownCalls of a run that resumes p. answers are the answers to the
// questions of p, in their order. The messages of the request show which calls the client has. If
// the request contains no message of the conversation, the client sends only new messages, and has
// everything that was sent to it.
func (l Listener) KnownCalls(p *agui.Pause, answers []agui.Answer, t Transcript) KnownCalls {
	k := KnownCalls{clientHas: map[string]bool{}}
	if l.showsNativeForm() && !p.ByText { // this client handles the backend's own stream
		return k
	}
	k.answers, k.parents = map[string]bool{}, map[string]string{}
	for _, i := range p.Interrupts {
		k.answers[i.ID], k.answers["result-"+i.ID] = true, true
	}
	if l.Line.NeedsResult() {
		k.fallbackResults = ownContents(p, answers)
	}
	lacks := l.lacksCall(p)
	for _, c := range t.Calls() {
		k.parents[c.ID] = c.Parent
		if !lacks(c.ID) {
			k.clientHas[c.ID] = true
		} else if call, ok := t.AskedCall(c.ID); ok && !call.ArgumentsUnknown {
			k.addLacking(&KnownCall{AskedCall: call, parent: c.Parent, Recorded: true})
		}
	}
	_, whole := t.Messages() // if not, the client may have more calls than the request shows
	for n := range p.Interrupts {
		i := &p.Interrupts[n]
		id := i.ToolCallID()
		if id == "" || k.clientHas[id] || k.clientLacks[id] != nil || i.CallUnseen && !l.Line.NeedsResult() {
			continue
		}
		call, known := namedCall(i)
		switch {
		case known && lacks(id):
			k.addLacking(&KnownCall{AskedCall: call})
		case !whole && !i.CallUnseen:
			k.clientHas[id] = true
		}
	}
	return k
}

// lacksCall returns a function for a run that resumes p. The function reports whether the client
// lacks the call with the given id.
func (l Listener) lacksCall(p *agui.Pause) func(call string) bool {
	if !l.BringsConversation(p) {
		return func(string) bool { return false }
	}
	holds := callsIn(l.ClientMessages)
	if !l.Line.OmitsQuestions() {
		return func(call string) bool { return !holds[call] }
	}
	// If a message contains a question, this client omits the whole message from its request. But
	// of the calls in that message, the client itself lacks only those that it turned into a
	// question.
	asked := map[string]bool{}
	for _, i := range p.Interrupts {
		asked[i.ToolCallID()] = asked[i.ToolCallID()] || strings.EqualFold(i.Reason(), "tool_call") || i.CallUnseen
	}
	return func(call string) bool { return asked[call] && !holds[call] }
}

func (k *KnownCalls) addLacking(c *KnownCall) {
	if k.clientLacks == nil {
		k.clientLacks = map[string]*KnownCall{}
	}
	k.clientLacks[c.ID] = c
}

// Resumes reports whether the run is a resume. In a resume, the events of each call must be
// checked.
func (k *KnownCalls) Resumes() bool { return k.clientHas != nil }

// AnyLacking reports whether there is any call that the client lacks.
func (k *KnownCalls) AnyLacking() bool { return len(k.clientLacks) > 0 }

// ClientHas reports whether an event belongs to a call that the client already has. Such an event
// must not be sent.
func (k *KnownCalls) ClientHas(ev agui.Event) bool {
	if !k.Resumes() {
		return false
	}
	id := ev.Get("toolCallId").Str
	if k.answeredInRun[id] && ev.Get("toolCallName").Str != "" {
		parent := ev.Get("parentMessageId").Str
		if !k.onlyResults[id] || parent != "" && parent != k.parents[id] {
			delete(k.clientHas, id)
		}
	}
	if ev.Type == agui.CallChunk {
		if id == "" {
			id = k.chunk
		}
		k.chunk = id
	}
	return k.clientHas[id]
}

// LackingCall returns the call to which an event belongs if the client lacks that call, and
// otherwise nil. ClientHas must be called with the same event before.
func (k *KnownCalls) LackingCall(ev agui.Event) *KnownCall {
	if len(k.clientLacks) == 0 {
		return nil
	}
	id := ev.Get("toolCallId").Str
	if ev.Type == agui.CallChunk {
		id = k.chunk
	}
	return k.clientLacks[id]
}

// NoteBegun records that the stream has sent the event ev of the call.
func (c *KnownCall) NoteBegun(ev agui.Event) {
	c.begun = true
	c.withoutParent = c.withoutParent || ev.Type != agui.CallArgs && ev.Type != agui.CallEnd && ev.Get("parentMessageId").Str == ""
}

// NoteResult records that the client got the result of a call. After that the client has the call.
// Some models repeat ids, so a call that begins later with the same id is another call.
func (k *KnownCalls) NoteResult(result agui.Event) {
	id := result.Get("toolCallId").Str
	if c := k.clientLacks[id]; c != nil {
		k.clientHas[c.ID] = true
		delete(k.clientLacks, id)
	}
	if k.clientHas[id] {
		if k.answeredInRun == nil {
			k.answeredInRun, k.onlyResults = map[string]bool{}, map[string]bool{}
		}
		k.answeredInRun[id], k.onlyResults[id] = true, k.answers[result.Get("messageId").Str]
	}
}

// events returns the events that send the whole call.
func (c *KnownCall) events() []agui.Event {
	return callEvents(agui.Call{ID: c.ID, Name: c.Name, Args: c.Args, Parent: c.parent})
}

// Separate changes the message id of a result if clients have made a message with the same id for
// the call. See ResultIDs.
func (k *KnownCalls) Separate(result agui.Event) agui.Event {
	c := k.LackingCall(result)
	if c == nil || !c.withoutParent || result.Get("messageId").Str != c.ID {
		return result
	}
	return result.WithJSON(agui.SetString(result.JSON, "messageId", "result-"+c.ID))
}

// CallOf returns the events of the call to which a result belongs. It returns nil if the client has
// the call, or the stream has begun it. isNew is true if the transcript lacks the call too.
func (k *KnownCalls) CallOf(result agui.Event) (events []agui.Event, isNew bool) {
	c := k.LackingCall(result)
	if c == nil || c.begun {
		return nil, false
	}
	return c.events(), !c.Recorded
}

// ResultIDs contains hashes of the ids of the messages in which the client got results. With hashes
// no id has to be copied. The zero value is empty.
type ResultIDs map[uint64]struct{}

// maxResults bounds how many ids a ResultIDs contains.
const maxResults = 4096

// resultSeed is the seed of the hashes in ResultIDs.
var resultSeed = maphash.MakeSeed()

// Distinct changes the message id of a result if another message has that id. A .NET host gives a
// result the id of its call. If the call names no parent, clients give the assistant's message with
// the call the same id. An older host gives all results of a run the same id. If two messages have
// the same id, a MESSAGES_SNAPSHOT leaves the last one twice (@ag-ui/client 1.0.0,
// src/apply/default.ts).
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
		for t.HasMessage(id) { // some models give all calls the same id
			id = "result-" + id
		}
		return result.WithJSON(agui.SetString(result.JSON, "messageId", id))
	}
	return result
}
