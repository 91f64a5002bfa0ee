package proxy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/clients"
	"holdpoint/internal/tanstack"
	"holdpoint/translate"
)

// A readable is the stream of a client that throws at events that it does not know. Its zero value
// is that of a client that reads everything, or of an unknown one, and changes nothing.
//
//   - Chunks are told as the events that they stand for.
//   - Other events that the client does not know are left out. The texts of a snapshot are told as
//     messages, see snapshotTexts.
//   - To a client that parses results, a result that is plain text is told as a JSON string.
//
// What is recorded and judged is what the backend sent, not this.
type readable struct {
	line  *clients.Line // nil: nothing is changed
	newID func() string
	text  string   // the message that chunks have begun last
	open  bool     // it has no end yet
	call  string   // the call that chunks have begun last
	calls []string // those without an end
}

// passes reports whether pieces of a text or of arguments reach the client as they are.
func (s *readable) passes(t agui.Type) bool { return s.line.Reads(t) }

// typeFor returns the type that a client finds in an event. One that cannot be acted on counts as
// Unknown everywhere else, but the client says what is wrong with it.
func typeFor(ev agui.Event) agui.Type {
	if ev.Type == agui.Unknown {
		return agui.PeekType(ev.JSON)
	}
	return ev.Type
}

// tell gives the client an event in the form that it reads. An event that passes costs nothing.
func (s *readable) tell(ev agui.Event, give func(agui.Event)) {
	if s.line.ReadsAll() {
		give(ev)
		return
	}
	t := typeFor(ev)
	switch t {
	case agui.TextChunk:
		s.textChunk(ev, give)
		return
	case agui.CallChunk:
		s.callChunk(ev, give)
		return
	case agui.TextStart:
		s.closeText(give)
	case agui.TextEnd:
		if s.open && ev.Get("messageId").Str == s.text {
			s.open = false
		}
	case agui.CallStart:
		s.closeCalls(give)
	case agui.CallEnd:
		if len(s.calls) > 0 {
			id := ev.Get("toolCallId").Str
			s.calls = slices.DeleteFunc(s.calls, func(open string) bool { return open == id })
		}
	case agui.CallResult:
		s.closeCalls(give)
		ev = s.result(ev)
	case agui.RunFinished, agui.RunErrored:
		s.closeText(give)
		s.closeCalls(give)
	}
	if s.line.Reads(t) {
		give(ev)
	}
}

// result is the result as its client can parse it.
func (s *readable) result(ev agui.Event) agui.Event {
	if !s.line.ParsesResults() {
		return ev
	}
	content := agui.View(ev.JSON).Get("content")
	if content.Type != gjson.String || content.Str == "" || agui.ValidText(content.Str) {
		return ev
	}
	return ev.With(agui.SetKeys(ev.JSON, agui.Edit{Key: "content", Text: string(agui.MustMarshal(content.Str))}))
}

// closeText ends the text that chunks have begun.
func (s *readable) closeText(give func(agui.Event)) {
	if s.open {
		s.open = false
		give(textEnd(s.text))
	}
}

// closeCalls ends the calls that chunks have begun.
func (s *readable) closeCalls(give func(agui.Event)) {
	for _, id := range s.calls {
		give(agui.NewEvent(agui.MustMarshal(struct {
			Type agui.Type `json:"type"`
			ID   string    `json:"toolCallId"`
		}{agui.CallEnd, id})))
	}
	s.calls = nil
}

// textChunk tells a piece of a text. One without an id belongs to the text before it.
func (s *readable) textChunk(ev agui.Event, give func(agui.Event)) {
	id := cmp.Or(strings.Clone(ev.Get("messageId").Str), s.text)
	if id == "" {
		id = "text-" + s.newID()
	}
	if !s.open || id != s.text {
		s.closeText(give)
		give(textStart(id, cmp.Or(ev.Get("role").Str, "assistant")))
		s.text, s.open = id, true
	}
	if delta := ev.Get("delta").Str; delta != "" {
		give(textContent(id, delta))
	}
}

// callChunk tells a piece of a call. One without an id belongs to the call before it, and one that
// begins a call has a name. A client that takes one call at a time is not told a piece of a call
// that another one has followed.
func (s *readable) callChunk(ev agui.Event, give func(agui.Event)) {
	id := cmp.Or(strings.Clone(ev.Get("toolCallId").Str), s.call)
	if !slices.Contains(s.calls, id) {
		name := ev.Get("toolCallName").Str
		if id == "" || name == "" {
			return
		}
		if s.line.TakesOneCall() {
			s.closeCalls(give)
		}
		give(agui.NewEvent(agui.MustMarshal(struct {
			Type   agui.Type `json:"type"`
			ID     string    `json:"toolCallId"`
			Name   string    `json:"toolCallName"`
			Parent string    `json:"parentMessageId,omitempty"`
		}{agui.CallStart, id, name, ev.Get("parentMessageId").Str})))
		s.calls = append(s.calls, id)
	}
	s.call = id
	if delta := ev.Get("delta").Str; delta != "" {
		give(agui.NewEvent(agui.MustMarshal(struct {
			Type  agui.Type `json:"type"`
			ID    string    `json:"toolCallId"`
			Delta string    `json:"delta"`
		}{agui.CallArgs, id, delta})))
	}
}

func textStart(id, role string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type agui.Type `json:"type"`
		ID   string    `json:"messageId"`
		Role string    `json:"role"`
	}{agui.TextStart, id, role}))
}

func textContent(id, text string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type  agui.Type `json:"type"`
		ID    string    `json:"messageId"`
		Delta string    `json:"delta"`
	}{agui.TextContent, id, text}))
}

func textEnd(id string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type agui.Type `json:"type"`
		ID   string    `json:"messageId"`
	}{agui.TextEnd, id}))
}

// textMessage returns the events of a message of the assistant.
func textMessage(id, text string) []agui.Event {
	return []agui.Event{textStart(id, "assistant"), textContent(id, text), textEnd(id)}
}

// snapshotTexts returns texts of a MESSAGES_SNAPSHOT that its client does not take from there, as
// events: what the assistant has said since the last message of the user, and nobody has told. Some
// backends tell the text of a step in no other way.
func (r *run) snapshotTexts(ev agui.Event) []agui.Event {
	if r.readable.line.TakesSnapshots() {
		return nil
	}
	if _, whole := r.transcript.Messages(); !whole {
		return nil // nobody knows what was told
	}
	var events []agui.Event
	ev.Get("messages").ForEach(func(_, m gjson.Result) bool {
		id, text := m.Get("id").Str, m.Get("content")
		switch role := m.Get("role").Str; {
		case role == "user":
			events = nil
		case role == "assistant" && id != "" && text.Type == gjson.String && text.Str != "" && !r.transcript.Holds(id):
			events = append(events, textMessage(strings.Clone(id), text.Str)...)
		}
		return true
	})
	return events
}

// protocolVersion is what Holdpoint declares where the backend declares nothing.
const protocolVersion = "1.0"

// withRunIDs gives a run's first and last event the request's ids: backends invent runIds
// (LangGraph's TypeScript adapter ends every run with the server's own). In a RUN_ERROR the thread
// is the client's, if it is named at all.
func (r *run) withRunIDs(ev agui.Event) agui.Event {
	var few [3]agui.Edit
	if edits := r.appendIDs(few[:0], ev); len(edits) > 0 {
		return ev.With(agui.SetKeys(ev.JSON, edits...))
	}
	return ev
}

// forClient is an end as the client can read it. The outcome cancelled and the member
// pendingToolCallIds came with AG-UI 1.0. Older clients, which declare no version, fail at either
// and keep their list of open questions (@ag-ui/client 0.0.59). Without them the run has finished
// for such a client.
func (r *run) forClient(finish agui.Event) agui.Event {
	if finish.Type != agui.RunFinished || r.in.ProtocolVersion != "" || r.show == translate.ShowNative || !finish.Valid() {
		return finish
	}
	switch outcome := agui.View(finish.JSON).Get("outcome"); {
	case outcome.Get("type").Str == "cancelled":
		return finish.With(agui.DeleteKey(finish.JSON, "outcome"))
	case outcome.Get("pendingToolCallIds").Exists():
		return finish.With(agui.DeleteKey(finish.JSON, "outcome.pendingToolCallIds"))
	}
	return finish
}

// appendIDs appends what withRunIDs has to change.
func (r *run) appendIDs(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if ev.Type == agui.RunErrored && ev.Valid() {
		return r.appendThread(edits, ev) // some backends name it there too (CrewAI)
	}
	if ev.Type != agui.RunStarted && ev.Type != agui.RunFinished || !ev.Valid() {
		return edits
	}
	if edits = r.appendEcho(edits, ev); r.body != nil && r.body.laterRuns > 0 {
		return r.appendThread(edits, ev)
	}
	object := agui.View(ev.JSON)
	if thread := r.request.clientThread(); object.Get("threadId").Str != thread {
		edits = append(edits, agui.Edit{Key: "threadId", Text: thread})
	}
	if object.Get("runId").Str != r.in.RunID {
		edits = append(edits, agui.Edit{Key: "runId", Text: r.in.RunID})
	}
	if ev.Type == agui.RunStarted && r.in.ProtocolVersion != "" && !object.Get("protocolVersion").Exists() {
		edits = append(edits, agui.Edit{Key: "protocolVersion", Text: protocolVersion})
	}
	return edits
}

func (r *run) startEvent() agui.Event {
	version := ""
	if r.in.ProtocolVersion != "" {
		version = protocolVersion
	}
	return agui.StartedEvent(r.request.clientThread(), r.in.RunID, version)
}

func (r *run) finishEvent() agui.Event {
	return agui.FinishedEvent(r.request.clientThread(), r.in.RunID)
}

// announcement is how the backend itself announced the pause. Calls that the client has in its
// history are left out: it would append their arguments to those that it has.
func (r *run) announcement(p *agui.Pause) []agui.Event {
	var events []agui.Event
	var known map[string]bool
	for _, own := range p.Native {
		ev := agui.NewEvent(own)
		switch ev.Type {
		case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
			if known == nil {
				known = r.request.calls()
			}
			if known[ev.Get("toolCallId").Str] {
				continue
			}
		}
		events = append(events, ev)
	}
	return events
}

const outcomeStart = `{"type":"interrupt","interrupts":[`

// outcomeEvent is RUN_FINISHED with the interrupt outcome.
func (r *run) outcomeEvent(p *agui.Pause) agui.Event {
	size := len(outcomeStart)
	for _, i := range p.Interrupts {
		size += len(i.Object) + 1
	}
	outcome := append(make([]byte, 0, size+2), outcomeStart...)
	var binder *tanstack.Binder
	if r.show != translate.ShowNative {
		binder = tanstack.NewBinder(r.in.Raw, r.in.RunID)
	}
	for n, i := range p.Interrupts {
		if n > 0 {
			outcome = append(outcome, ',')
		}
		told, bound := tanstack.OfRun(i.Told(), r.in.RunID)
		if !bound {
			told = binder.Bound(told, i)
		}
		outcome = agui.AppendCompact(outcome, told)
	}
	outcome = append(outcome, "]}"...)
	finish := p.Finish
	if agui.View(p.NativeFinish).Get("outcome").IsObject() {
		finish = p.NativeFinish // the outcome keeps its place among the keys
	}
	var few [3]agui.Edit
	edits := append(r.appendIDs(few[:0], agui.NewEvent(finish)), agui.Edit{Key: "outcome", JSON: outcome})
	finish = agui.SetKeys(finish, edits...)
	if len(r.beside) > 0 {
		finish = agui.SetString(finish, "metadata.holdpoint.code", string(agui.MessagesNotTaken))
	}
	return agui.NewEvent(finish)
}

// customInterrupt is the CUSTOM on_interrupt for clients that know only that. It is made where the
// backend sends none. The value is JSON text, as LangGraph's is. The ids stand in it, so a client
// that echoes it (command.interruptEvent) says what it answers. One event tells all questions,
// because such clients keep the last event only.
func customInterrupt(p *agui.Pause) agui.Event {
	value := []byte(p.Interrupts[0].Told())
	if len(p.Interrupts) > 1 {
		objects := make([]json.RawMessage, len(p.Interrupts))
		for n, i := range p.Interrupts {
			objects[n] = i.Told()
		}
		value = agui.MustMarshal(map[string]any{"interrupts": objects})
	}
	return agui.NewEvent(agui.MustMarshal(struct {
		Type  agui.Type `json:"type"`
		Name  string    `json:"name"`
		Value string    `json:"value"`
	}{agui.Custom, agui.OnInterrupt, string(value)}))
}

// appendThread appends what has to change in an event that names the backend's thread where the
// client's belongs.
func (r *run) appendThread(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if r.request.thread != "" && agui.View(ev.JSON).Get("threadId").Str == r.in.ThreadID {
		edits = append(edits, agui.Edit{Key: "threadId", Text: r.request.thread})
	}
	return edits
}

// inClientThread is an event that a dialect has made, as the client is to have it.
func (r *run) inClientThread(ev agui.Event) agui.Event {
	if r.request.thread == "" || ev.Type != agui.RunStarted && ev.Type != agui.RunFinished || !ev.Valid() {
		return ev
	}
	var few [2]agui.Edit
	if edits := r.appendThread(r.appendEcho(few[:0], ev), ev); len(edits) > 0 {
		return ev.With(agui.SetKeys(ev.JSON, edits...))
	}
	return ev
}

// appendEcho appends what has to change in a RUN_STARTED that repeats the input.
func (r *run) appendEcho(edits []agui.Edit, ev agui.Event) []agui.Edit {
	if r.request.thread == "" || ev.Type != agui.RunStarted {
		return edits
	}
	echo := agui.View(ev.JSON).Get("input")
	if !echo.IsObject() || echo.Get("threadId").Str != r.in.ThreadID {
		return edits
	}
	return append(edits, agui.Edit{Key: "input", JSON: agui.SetString([]byte(echo.Raw), "threadId", r.request.thread)})
}
