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

// maxOpen is the maximum number of messages, of calls and of steps that are open at once. Further
// ones are left out of the stream. The snapshots at the end contain them.
const maxOpen = 1024

// A writer makes the AG-UI events of a run. Several messages may be open at once, because nodes run
// in parallel.
type writer struct {
	prefix string // begins the ids that the writer makes
	n      int

	known   map[string]bool // ids of messages that the client has
	open    map[string]*openMessage
	order   []string          // ids of the open messages, oldest first
	results map[string]bool   // ids of calls whose result was sent
	steps   map[string]string // names of steps, keyed by the run ids of nodes
	active  []string          // names of running steps, one entry for each running node
	state   []byte            // the last state that was sent
}

// An openMessage is a message of the run that has not ended.
type openMessage struct {
	aguiwriter.Lane
	id, node  string
	hasText   bool   // its text has begun; it must not begin again
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

// message returns the open message with the id, or opens a new one. It returns nil if the client
// already has a message with this id, or if maxOpen messages are open.
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

// begin begins a tool call of a message. If id is empty, it makes one.
func (w *writer) begin(m *openMessage, id, name string, emit func(agui.Event)) {
	if id == "" {
		id = w.next()
	}
	m.calls++
	m.Begin(emit, id, name, m.id)
}

// end ends an open message. A later message with its id is not sent again.
func (w *writer) end(m *openMessage, emit func(agui.Event)) {
	m.Close(emit)
	delete(w.open, m.id)
	w.remember(m.id)
	w.order = slices.DeleteFunc(w.order, func(id string) bool { return id == m.id })
}

// endOf ends the open messages for which the function gone returns true.
func (w *writer) endOf(gone func(*openMessage) bool, emit func(agui.Event)) {
	for _, id := range slices.Clone(w.order) {
		if m := w.open[id]; m != nil && gone(m) {
			w.end(m, emit)
		}
	}
}

// result sends the result of a call, unless a result of this call was already sent.
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

// step sends the start of a step. If several nodes of the same name run at once, only the first
// sends it.
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

// close ends all open messages and steps.
func (w *writer) close(emit func(agui.Event)) {
	w.endOf(func(*openMessage) bool { return true }, emit)
	for len(w.active) > 0 {
		name := w.active[len(w.active)-1]
		w.active = slices.DeleteFunc(w.active, func(n string) bool { return n == name })
		aguiwriter.Send(emit, agui.StepFinished, "stepName", aguiwriter.Quoted(name))
	}
	clear(w.steps)
}

// snapshot sends a STATE_SNAPSHOT, unless the state equals the last one that was sent.
func (w *writer) snapshot(state []byte, emit func(agui.Event)) {
	if string(state) == string(w.state) {
		return
	}
	w.state = append(w.state[:0], state...)
	aguiwriter.Send(emit, agui.StateSnapshot, "snapshot", string(state))
}

// custom sends a CUSTOM event of a graph. It drops an event named on_interrupt, because to a client
// it would look like a question of Holdpoint.
func (w *writer) custom(name string, value gjson.Result, emit func(agui.Event)) {
	if name == agui.OnInterrupt {
		return
	}
	aguiwriter.Custom(emit, name, oneLine(cmp.Or(value.Raw, "null")))
}

// failedWith returns a RUN_ERROR with the server's message and code. If message is empty, a text of
// Holdpoint replaces it.
func failedWith(message, code string) agui.Event {
	e := agui.RunError{Code: agui.Code(code), Message: cmp.Or(message, textNoReason)}
	return e.Event()
}
