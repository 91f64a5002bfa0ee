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

// maxOpen bounds the messages, calls and steps that are open at once. More of them are left out:
// the snapshots at the end have them.
const maxOpen = 1024

// A writer makes the events of a run. Several messages may be open at once, for nodes run beside
// each other.
type writer struct {
	prefix string // of ids that the server does not give
	n      int

	known   map[string]bool // messages that the client has already
	open    map[string]*openMessage
	order   []string          // of the open ones
	results map[string]bool   // calls whose result was told
	steps   map[string]string // by run ids of nodes
	active  []string          // names of steps, each as often as it is under way
	state   []byte            // the last one told
}

// openMessage is a message under way.
type openMessage struct {
	aguiwriter.Lane
	id, node string
	told     bool   // text of it was told: it cannot begin again
	index    string // of the call under way
	chunked  bool   // its calls come in pieces
	calls    int
}

func newWriter(r *translate.Request) *writer {
	w := &writer{
		known: map[string]bool{}, open: map[string]*openMessage{}, results: map[string]bool{}, steps: map[string]string{},
		prefix: agui.Cut(r.Input.ThreadID + "-" + r.Input.RunID),
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

// message returns the open message with the id, a new one if there is none. It is nil if the client
// has the message already.
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
	case m.told && m.Open() != agui.TextStart: // the same id again would begin a second message
		m.Close(emit)
	default:
		m.told = true
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

// end ends a message for good.
func (w *writer) end(m *openMessage, emit func(agui.Event)) {
	m.Close(emit)
	delete(w.open, m.id)
	w.remember(m.id)
	w.order = slices.DeleteFunc(w.order, func(id string) bool { return id == m.id })
}

// endOf ends the messages that gone says true of.
func (w *writer) endOf(gone func(*openMessage) bool, emit func(agui.Event)) {
	for _, id := range slices.Clone(w.order) {
		if m := w.open[id]; m != nil && gone(m) {
			w.end(m, emit)
		}
	}
}

// result tells a call's result once.
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

// step begins a step, once for however many nodes of the name run at once.
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

// close ends all that is open.
func (w *writer) close(emit func(agui.Event)) {
	w.endOf(func(*openMessage) bool { return true }, emit)
	for len(w.active) > 0 {
		name := w.active[len(w.active)-1]
		w.active = slices.DeleteFunc(w.active, func(n string) bool { return n == name })
		aguiwriter.Send(emit, agui.StepFinished, "stepName", aguiwriter.Quoted(name))
	}
	clear(w.steps)
}

// snapshot tells a state, unless it was told last.
func (w *writer) snapshot(state []byte, emit func(agui.Event)) {
	if string(state) == string(w.state) {
		return
	}
	w.state = append(w.state[:0], state...)
	aguiwriter.Send(emit, agui.StateSnapshot, "snapshot", string(state))
}

// custom tells something that AG-UI has no event for. A graph must not ask by one.
func (w *writer) custom(name string, value gjson.Result, emit func(agui.Event)) {
	if name == agui.OnInterrupt {
		return
	}
	aguiwriter.Custom(emit, name, oneLine(cmp.Or(value.Raw, "null")))
}

// failedWith returns a RUN_ERROR in the server's own words.
func failedWith(message, code string) agui.Event {
	e := agui.RunError{Code: agui.Code(code), Message: cmp.Or(message, textNoReason)}
	return e.Event()
}
