package proxy

import (
	"hash/maphash"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// knownCalls are the calls that the record knows at the beginning of a resume. A client appends the
// arguments of an event to the call that it has, so events of a call that it holds do not go to it
// once more. A call that it lacks is told before its result: a history with a result and no call is
// refused by providers.
type knownCalls struct {
	held    map[string]bool       // those that the client holds; nil if the run is no resume
	lacking map[string]*knownCall // those that it lacks
	chunk   string                // the call that chunks without an id belong to
	again   map[string]bool       // those with a result since: one that begins under such an id is another

	// A dialect may tell an answer as a result before the backend says anything. So the backend may
	// begin a call again behind that result. It is another one if it stands in another message.
	answers map[string]bool   // ids of such results
	early   map[string]bool   // those with no other result
	parents map[string]string // the messages that have the calls

	says map[string]string // what Holdpoint says as a call's result if the backend tells none, see ownResults
}

// A knownCall is a call that the client lacks.
type knownCall struct {
	agui.AskedCall
	parent   string // the message that has it, "" if unknown
	recorded bool   // the transcript has it
	begun    bool   // the stream has begun it since
	alone    bool   // then without a parent: clients make a message of the call's id
}

// newKnownCalls returns the calls of a resume of p. The request's messages show what the client
// holds. If they have no message of the conversation, the client sends its new messages only, and
// holds what it was told.
func (r *run) newKnownCalls(p *agui.Pause) knownCalls {
	k := knownCalls{held: map[string]bool{}}
	if r.show == translate.ShowNative && !p.ByText { // such a client knows what to make of its backend's stream
		return k
	}
	k.answers, k.parents = map[string]bool{}, map[string]string{}
	for _, i := range p.Interrupts {
		k.answers[i.ID], k.answers["result-"+i.ID] = true, true
	}
	if r.request.client.NeedsResult() {
		k.says = ownContents(p, r.verdict.Answers)
	}
	lacks := r.lacks(p)
	for _, c := range r.transcript.Calls() {
		k.parents[c.ID] = c.Parent
		if !lacks(c.ID) {
			k.held[c.ID] = true
		} else if call, ok := r.transcript.AskedCall(c.ID); ok && !call.Unknown {
			k.lack(&knownCall{AskedCall: call, parent: c.Parent, recorded: true})
		}
	}
	_, whole := r.transcript.Messages() // the request may bring fewer than the client has
	for _, i := range p.Interrupts {
		id := i.ToolCallID()
		if id == "" || k.held[id] || k.lacking[id] != nil || i.CallUnseen && !r.request.client.NeedsResult() {
			continue
		}
		at := slices.IndexFunc(i.Calls, func(c agui.AskedCall) bool { return c.ID == id && c.Name != "" && !c.Unknown })
		switch {
		case lacks(id) && at >= 0:
			k.lack(&knownCall{AskedCall: i.Calls[at]})
		case !whole && !i.CallUnseen:
			k.held[id] = true
		}
	}
	return k
}

// lacks returns a function that reports whether the client lacks a call of a resume of p.
func (r *run) lacks(p *agui.Pause) func(call string) bool {
	if !r.brings(p) {
		return func(string) bool { return false }
	}
	holds := r.request.calls()
	if !r.request.client.OmitsQuestions() {
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

func (k *knownCalls) lack(c *knownCall) {
	if k.lacking == nil {
		k.lacking = map[string]*knownCall{}
	}
	k.lacking[c.ID] = c
}

// resumes reports whether the run is a resume, so that its calls have to be looked at.
func (k *knownCalls) resumes() bool { return k.held != nil }

// has reports whether an event of a call is of one that the client holds.
func (k *knownCalls) has(ev agui.Event) bool {
	if !k.resumes() {
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

// lacked returns the call that the client lacks and that an event belongs to, nil if it holds the
// call or nothing is known of it. has was asked before.
func (k *knownCalls) lacked(ev agui.Event) *knownCall {
	if len(k.lacking) == 0 {
		return nil
	}
	id := ev.Get("toolCallId").Str
	if ev.Type == agui.CallChunk {
		id = k.chunk
	}
	return k.lacking[id]
}

// answered notes the result of one of them. The client holds the call from then on. Ids of some
// models repeat: what begins under that id from here on is another call.
func (k *knownCalls) answered(ev agui.Event) {
	id := ev.Get("toolCallId").Str
	if c := k.lacking[id]; c != nil {
		k.held[c.ID] = true
		delete(k.lacking, id)
	}
	if k.held[id] {
		if k.again == nil {
			k.again, k.early = map[string]bool{}, map[string]bool{}
		}
		k.again[id], k.early[id] = true, k.answers[ev.Get("messageId").Str]
	}
}

// events returns the events that tell the call.
func (c *knownCall) events() []agui.Event {
	var list []agui.Event
	for _, frame := range kit.CallFrames(agui.Call{ID: c.ID, Name: c.Name, Args: c.Args, Parent: c.parent}) {
		list = append(list, agui.NewEvent(frame))
	}
	return list
}

// apart gives a result a message of its own if clients have made one of its id for the call, see
// resultIDs.
func (k *knownCalls) apart(result agui.Event) agui.Event {
	c := k.lacked(result)
	if c == nil || !c.alone || result.Get("messageId").Str != c.ID {
		return result
	}
	return result.With(agui.SetString(result.JSON, "messageId", "result-"+c.ID))
}

// callOf returns the events that tell the call of a result, if the client lacks it and the stream
// has not begun it.
func (r *run) callOf(result agui.Event) []agui.Event {
	c := r.knownCalls.lacked(result)
	if c == nil || c.begun {
		return nil
	}
	events := c.events()
	if !c.recorded {
		for _, ev := range events {
			r.transcript.Add(ev)
		}
	}
	return events
}

// withCalls returns events that end an exchange, each result behind its call.
func (r *run) withCalls(events []agui.Event) []agui.Event {
	if len(r.knownCalls.lacking) == 0 {
		return events
	}
	var with []agui.Event
	for _, ev := range events {
		if ev.Type == agui.CallResult {
			with = append(with, r.callOf(ev)...)
			r.knownCalls.answered(ev)
		}
		with = append(with, ev)
	}
	return with
}

// resultIDs are the ids of the messages in which a client was told results, as hashes: an id would
// have to be copied.
type resultIDs map[uint64]struct{}

// maxResults bounds them.
const maxResults = 4096

// resultSeed is the hashes' seed.
var resultSeed = maphash.MakeSeed()

// distinct gives a result a message of its own if another message has its id. A .NET host names a
// result after its call. Clients name the assistant's message of a call so, too, if the call names
// no parent. An older host gives all results of a run one id. If two messages have one id, a
// MESSAGES_SNAPSHOT leaves the last one, twice (@ag-ui/client 1.0.0, src/apply/default.ts).
func (told *resultIDs) distinct(ev agui.Event, t *transcript.Transcript) agui.Event {
	var v [2]string
	if !ev.Read(v[:], "messageId", "toolCallId") {
		return ev
	}
	id, call := agui.Text(v[0]), agui.Text(v[1])
	if id == "" {
		return ev
	}
	if *told == nil {
		*told = resultIDs{}
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
		return ev.With(agui.SetString(ev.JSON, "messageId", id))
	}
	return ev
}
