package client

import (
	"hash/maphash"
	"strings"

	"holdpoint/internal/agui"
)

// KnownCalls tracks the calls that the record has at the beginning of a resume. Clients append the
// arguments of an event to the call that they have, so the events of a call that the client has are
// not sent again. A call that the client lacks is sent before its result, because model providers
// refuse a history that has a result without its call. The zero value belongs to a run that is not
// a resume, and has no calls.
type KnownCalls struct {
	clientHas     map[string]bool       // calls that the client has; nil if the run is not a resume
	clientLacks   map[string]*KnownCall // calls that the client lacks
	chunk         string                // the call that chunks without an id belong to
	answeredInRun map[string]bool       // calls that got a result in this run: a later call with such an id is another call

	// A dialect may emit an answer as a result before the backend has sent anything. The backend
	// may then begin the same call again after that result. It is a different call if it belongs to
	// a different message.
	answers     map[string]bool   // message ids of such results
	onlyResults map[string]bool   // calls that have no other result
	parents     map[string]string // the id of the message that has the call, by call

	fallbackResults map[string]string // the result that Holdpoint sends for a call if the backend sends none, by call
}

// A KnownCall is a call that the client lacks.
type KnownCall struct {
	agui.AskedCall
	Recorded      bool   // the transcript has the call
	parent        string // id of the message that has the call, "" if unknown
	begun         bool   // the stream of this run has begun the call
	withoutParent bool   // the stream began it without a parent, so that clients made a message with the id of the call
}

// KnownCalls returns the KnownCalls of a resume of p. answers are the answers to its questions, in
// their order. The messages of the request show what the client has. If they include no message of
// the conversation, the client sends only new messages, and has everything that it was sent.
func (l Listener) KnownCalls(p *agui.Pause, answers []agui.Answer, t Transcript) KnownCalls {
	k := KnownCalls{clientHas: map[string]bool{}}
	if l.showsNativeForm() && !p.ByText { // such a client handles its backend's own stream
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
	_, whole := t.Messages() // if not, the request may have fewer calls than the client
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

// lacksCall returns a function that reports whether the client lacks a call in a resume of p.
func (l Listener) lacksCall(p *agui.Pause) func(call string) bool {
	if !l.BringsConversation(p) {
		return func(string) bool { return false }
	}
	holds := callsIn(l.ClientMessages)
	if !l.Line.OmitsQuestions() {
		return func(call string) bool { return !holds[call] }
	}
	// Such a client omits each message with a question from its request, including all else that
	// the message has. Of the calls in it, the client lacks only those that it turned into a
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

// Resumes reports whether the run is a resume, so that the events of its calls must be checked.
func (k *KnownCalls) Resumes() bool { return k.clientHas != nil }

// AnyLacking reports whether the client lacks a call.
func (k *KnownCalls) AnyLacking() bool { return len(k.clientLacks) > 0 }

// ClientHas reports whether an event belongs to a call that the client has, so that it must not be
// sent.
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

// LackingCall returns the call that an event belongs to if the client lacks that call, else nil.
// Holds must be called before with the same event.
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

// NoteBegun records that the stream has sent an event of the call.
func (c *KnownCall) NoteBegun(ev agui.Event) {
	c.begun = true
	c.withoutParent = c.withoutParent || ev.Type != agui.CallArgs && ev.Type != agui.CallEnd && ev.Get("parentMessageId").Str == ""
}

// NoteResult records the result of a call. From then on the client has the call. Some models repeat
// ids, so a call that begins later with the same id is a different one.
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

// events returns the events of the call.
func (c *KnownCall) events() []agui.Event {
	return callEvents(agui.Call{ID: c.ID, Name: c.Name, Args: c.Args, Parent: c.parent})
}

// Separate returns the result with another message id, if clients have made a message with that id
// for the call; see ResultIDs.
func (k *KnownCalls) Separate(result agui.Event) agui.Event {
	c := k.LackingCall(result)
	if c == nil || !c.withoutParent || result.Get("messageId").Str != c.ID {
		return result
	}
	return result.WithJSON(agui.SetString(result.JSON, "messageId", "result-"+c.ID))
}

// CallOf returns the events of the call that a result belongs to, if the client lacks the call and
// the stream has not begun it. isNew reports that the transcript lacks the call too.
func (k *KnownCalls) CallOf(result agui.Event) (events []agui.Event, isNew bool) {
	c := k.LackingCall(result)
	if c == nil || c.begun {
		return nil, false
	}
	return c.events(), !c.Recorded
}

// ResultIDs has hashes of the ids of the messages in which the client got results. Hashes need no
// copy of the id. The zero value is empty.
type ResultIDs map[uint64]struct{}

// maxResults bounds the number of ids in a ResultIDs.
const maxResults = 4096

// resultSeed is the seed of the hashes.
var resultSeed = maphash.MakeSeed()

// Distinct returns the result with another message id, if another message has its id. A .NET host
// gives a result the id of its call; clients give the assistant's message of the call that id too,
// if the call names no parent. An older host gives all results of a run one id. If two messages
// have the same id, a MESSAGES_SNAPSHOT leaves the last one twice (@ag-ui/client 1.0.0,
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
