package langgraphserver

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
)

// maxOpen bounds the messages, calls and steps that are open at once. Further ones are left out of
// the stream; the snapshots at the end have them.
const maxOpen = 1024

// A writer makes the events of a run. Several messages may be open at once, because nodes run in
// parallel.
type writer struct {
	prefix string // begins ids that the server does not give
	n      int

	known   map[string]bool // ids of messages that the client has
	open    map[string]*openMessage
	order   []string          // ids of the open messages, oldest first
	results map[string]bool   // calls whose result was sent
	steps   map[string]string // names of steps by run ids of nodes
	active  []string          // names of running steps, once for each node
	state   []byte            // the last state that was sent
}

// An openMessage is a message that has not ended.
type openMessage struct {
	aguiwriter.Lane
	id, node  string
	hasText   bool   // its text has begun, so it must not begin again
	index     string // index of the current call
	hasChunks bool   // its calls are sent in pieces
	calls     int
}

func newWriter(r *translate.Request) *writer {
	w := &writer{
		known: map[string]bool{}, open: map[string]*openMessage{}, results: map[string]bool{}, steps: map[string]string{},
		prefix: agui.Shorten(r.Input.ThreadID + "-" + r.Input.RunID),
	}
	if r.NewID != nil {
		w.prefix = r.NewID()
	}
	for _, m := range r.ClientMessages {
		w.known[m.ID] = true
	}
	return w
}

func (w *writer) next() string {
	w.n++
	return w.prefix + "-" + strconv.Itoa(w.n)
}

// message returns the open message with the id, or a new one. It returns nil if the client has the
// message already, or too many are open.
func (w *writer) message(id, node string) *openMessage {
	if m := w.open[id]; m != nil {
		return m
	}
	if w.known[id] || len(w.open) >= maxOpen {
		return nil
	}
	m := &openMessage{id: id, node: node}
	w.open[id] = m
	w.order = append(w.order, id)
	return m
}

func (w *writer) text(m *openMessage, delta string, emit func(agui.Event)) {
	switch {
	case delta == "":
	case m.hasText && m.Open() != agui.TextStart: // a second start with the same id would begin another message
		m.Close(emit)
	default:
		m.hasText = true
		m.Text(emit, func() string { return m.id }, aguiwriter.Quoted(delta))
	}
}

func (w *writer) think(m *openMessage, id, delta string, emit func(agui.Event)) {
	if delta == "" {
		return
	}
	m.Reasoning(emit, func() string {
		if id == "" || w.known[id] {
			id = w.next()
		}
		w.remember(id)
		return id
	}, aguiwriter.Quoted(delta))
}

func (w *writer) remember(id string) {
	if len(w.known) < 64*maxOpen {
		w.known[id] = true
	}
}

// begin begins a call of a message.
func (w *writer) begin(m *openMessage, id, name string, emit func(agui.Event)) {
	if id == "" {
		id = w.next()
	}
	m.calls++
	m.Begin(emit, id, name, m.id)
}

// end ends a message and forgets it.
func (w *writer) end(m *openMessage, emit func(agui.Event)) {
	m.Close(emit)
	delete(w.open, m.id)
	w.remember(m.id)
	w.order = slices.DeleteFunc(w.order, func(id string) bool { return id == m.id })
}

// endOf ends the messages for which gone returns true.
func (w *writer) endOf(gone func(*openMessage) bool, emit func(agui.Event)) {
	for _, id := range slices.Clone(w.order) {
		if m := w.open[id]; m != nil && gone(m) {
			w.end(m, emit)
		}
	}
}

// result sends the result of a call once.
func (w *writer) result(id, call, content string, failed bool, emit func(agui.Event)) {
	if w.results[call] || w.known[id] && id != "" || len(w.results) >= 64*maxOpen {
		return
	}
	w.results[call] = true
	w.endOf(func(m *openMessage) bool { return m.Call() == call }, emit)
	if id == "" {
		id = w.next()
	}
	w.remember(id)
	metadata := ""
	if failed {
		metadata = `{"langgraph":{"status":"error"}}`
	}
	aguiwriter.Result(emit, id, call, content, metadata)
}

// step sends the start of a step, once while several nodes of the name run.
func (w *writer) step(run, name string, emit func(agui.Event)) {
	if _, runs := w.steps[run]; runs || name == "" || len(w.steps) >= maxOpen {
		return
	}
	w.steps[run] = name
	if !slices.Contains(w.active, name) {
		aguiwriter.Send(emit, agui.StepStarted, "stepName", aguiwriter.Quoted(name))
	}
	w.active = append(w.active, name)
}

func (w *writer) stepEnds(run string, emit func(agui.Event)) {
	name, runs := w.steps[run]
	if !runs {
		return
	}
	delete(w.steps, run)
	at := slices.Index(w.active, name)
	w.active = slices.Delete(w.active, at, at+1)
	if !slices.Contains(w.active, name) {
		aguiwriter.Send(emit, agui.StepFinished, "stepName", aguiwriter.Quoted(name))
	}
}

// close ends all messages and steps.
func (w *writer) close(emit func(agui.Event)) {
	w.endOf(func(*openMessage) bool { return true }, emit)
	for len(w.active) > 0 {
		name := w.active[len(w.active)-1]
		w.active = slices.DeleteFunc(w.active, func(n string) bool { return n == name })
		aguiwriter.Send(emit, agui.StepFinished, "stepName", aguiwriter.Quoted(name))
	}
	clear(w.steps)
}

// snapshot sends a state, unless it is equal to the last one.
func (w *writer) snapshot(state []byte, emit func(agui.Event)) {
	if string(state) == string(w.state) {
		return
	}
	w.state = append(w.state[:0], state...)
	aguiwriter.Send(emit, agui.StateSnapshot, "snapshot", string(state))
}

// custom sends a CUSTOM event. It drops on_interrupt, because a graph must not ask with an event of
// its own.
func (w *writer) custom(name string, value gjson.Result, emit func(agui.Event)) {
	if name == agui.OnInterrupt {
		return
	}
	aguiwriter.Custom(emit, name, oneLine(cmp.Or(value.Raw, "null")))
}

// failedWith returns a RUN_ERROR with the server's message and code.
func failedWith(message, code string) agui.Event {
	e := agui.RunError{Code: agui.Code(code), Message: cmp.Or(message, textNoReason)}
	return e.Event()
}
