package proxy

import (
	"hash/maphash"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/translate"
)

// knownCalls are the calls that a client knew before a resume. Their events do not go to it once
// more: a client appends to the call that it has, and the arguments would stand twice.
type knownCalls struct {
	ids   map[string]bool // nil if the run is no resume
	chunk string          // the call that chunks without an id belong to
	again map[string]bool // those with a result since: one that begins under such an id is another

	// A dialect may tell an answer as a result before the backend says anything. So the backend may
	// begin a call again behind that result. It is another one if it stands in another message.
	answers map[string]bool   // ids of such results
	held    map[string]bool   // those with no other result
	parents map[string]string // the messages that have the calls
}

// newKnownCalls are those of the transcript that a resume begins with.
func newKnownCalls(show translate.Show, t *transcript.Transcript, p *agui.Pause) knownCalls {
	ids, parents, answers := map[string]bool{}, map[string]string{}, map[string]bool{}
	if show == translate.ShowNative { // such a client knows what to make of its backend's stream
		return knownCalls{ids: ids}
	}
	for _, c := range t.Calls() {
		ids[c.ID], parents[c.ID] = true, c.Parent
	}
	for _, i := range p.Interrupts {
		answers[i.ID], answers["result-"+i.ID] = true, true
	}
	if _, whole := t.Messages(); !whole { // the request may bring fewer than the client has
		for _, i := range p.Interrupts {
			ids[i.ToolCallID()] = i.ToolCallID() != "" && !i.CallUnseen
		}
	}
	return knownCalls{ids: ids, parents: parents, answers: answers}
}

// resumes says whether the run is a resume, so that its calls have to be looked at.
func (k *knownCalls) resumes() bool { return k.ids != nil }

// has says whether an event of a call is of one of them.
func (k *knownCalls) has(ev agui.Event) bool {
	if !k.resumes() {
		return false
	}
	id := ev.Get("toolCallId").Str
	if k.again[id] && ev.Get("toolCallName").Str != "" {
		parent := ev.Get("parentMessageId").Str
		if !k.held[id] || parent != "" && parent != k.parents[id] {
			delete(k.ids, id)
		}
	}
	if ev.Type == agui.CallChunk {
		if id == "" {
			id = k.chunk
		}
		k.chunk = id
	}
	return k.ids[id]
}

// answered notes the result of one of them. Ids of some models repeat: what begins under that id
// from here on is another call.
func (k *knownCalls) answered(ev agui.Event) {
	if id := ev.Get("toolCallId").Str; k.ids[id] {
		if k.again == nil {
			k.again, k.held = map[string]bool{}, map[string]bool{}
		}
		k.again[id], k.held[id] = true, k.answers[ev.Get("messageId").Str]
	}
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
