package strands

import (
	"bytes"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/kit"
)

// maxLanes and maxSteps bound what is kept of a graph's nodes. A backend may name as many as it
// likes.
const (
	maxLanes = 256
	maxSteps = 256
)

// A run translates one exchange.
type run struct {
	d   *Dialect
	r   *translate.Request
	ids *ids
	// resumed is the pause whose answers the exchange carried, nil if it carried none. listed says
	// that its prompt was a list.
	resumed *agui.Pause
	listed  bool
	// prompt is what was sent as text. sent are the messages with that text.
	prompt string
	sent   []agui.Message
	// refused is the exchange that the backend refused because it was waiting. This one asks it
	// what for. It is nil in all others.
	refused *run
	// taken are the ids of questions that were answered before, in an exchange that failed. The
	// exchange after refused asks them again.
	taken map[string]bool
	// broken says that the exchange before broke off, so that nobody knows whether the agent waits.
	// untried are the questions to try next if it does not wait for these.
	broken  bool
	untried [][]string
	// cancels are the ids that a cancel of a lost question goes to, nil in any other exchange.
	cancels *kit.Cancels
	// insists says that the exchange sends what was refused again, now that nothing is open.
	insists bool

	framing  translate.Framing
	lanes    map[string]*lane // by keyOf their paths
	steps    []string
	answered map[string]bool // calls whose result was shown
	source   source          // where text is taken from
	shown    bool            // text or a call was shown
	bare     bool            // a string was seen that could be text
	body     bool            // the answer is one JSON text
	camel    bool            // the result is TypeScript's

	questions questions
	held      map[string]bool // TypeScript: calls of the last afterToolsEvent that wait
	stop      string          // why the agent stopped, "" until it did
	last      string          // why the model stopped last
	forced    bool            // force_stop was seen
	failed    *failure        // the first error frame
	reason    string          // of a failure, if the result says it
	forgot    bool            // a result says that the agent waits for nothing
	whole     bool            // the beginning was seen, so nothing is left out
	begun     bool            // an agent's loop began, or a node's
	started   bool            // TypeScript: an agent's loop began, so its end will come
	tools     bool            // TypeScript: the tools' turn came
	anew      bool            // TypeScript: the model's turn came before the tools'
}

// A source is what text is taken from. Many servers send text as deltas of the model and again
// as {"data": ...}. The run keeps to the first of the two that it sees.
type source int

const (
	undecided source = iota
	fromEvents
	fromData
)

func newRun(d *Dialect, r *translate.Request, ids *ids) *run {
	return &run{d: d, r: r, ids: ids, lanes: map[string]*lane{}, answered: map[string]bool{}}
}

// Framing implements translate.Decoder. The documented Express server declares no type and sends
// lines.
func (run *run) Framing(mediaType string) translate.Framing {
	switch mediaType {
	case "text/event-stream":
		run.framing = translate.Frames
	case "", "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines", "application/json-lines":
		run.framing = translate.Lines
	case "application/json":
		run.framing = translate.Whole
	case "text/plain":
		if run.d.server.Text {
			run.framing = translate.Text
		}
	}
	return run.framing
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	emit(ev)
	return nil
}

// Decode implements translate.Decoder.
func (run *run) Decode(p translate.Piece, emit func(agui.Event)) error {
	switch run.framing {
	case translate.Text:
		run.lane("", emit).say(aguiwriter.Quoted(string(p.Data)))
	case translate.Whole:
		run.json(bytes.TrimSpace(p.Data), emit)
	default:
		run.frame(bytes.TrimSpace(p.Data), emit)
	}
	return nil
}

// frame handles one frame or line.
func (run *run) frame(data []byte, emit func(agui.Event)) {
	if run.framing == translate.Lines { // an event stream that nobody declared as one
		data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("data:")))
	}
	switch {
	case len(data) == 0:
	case data[0] == '"':
		run.text(data, emit)
	case data[0] == '{':
		if data = valid(data); data != nil {
			run.object(gjson.ParseBytes(data), "", 0, emit)
		}
	case run.d.server.Text && !bytes.Equal(data, []byte("[DONE]")):
		run.lane("", emit).say(aguiwriter.Quoted(string(data)))
	}
}

// lane returns the lane of the agent, or of a node by its path.
func (run *run) lane(path string, emit func(agui.Event)) *lane {
	key := keyOf(path)
	l := run.lanes[key]
	if l == nil {
		if len(run.lanes) >= maxLanes {
			key = ""
		}
		if l = run.lanes[key]; l == nil {
			l = newLane(run, nil)
			run.lanes[key] = l
		}
	}
	l.emit = emit
	return l
}

// closings returns the events that end what is open.
func (run *run) closings() []agui.Event {
	var list []agui.Event
	emit := func(ev agui.Event) { list = append(list, ev) }
	for _, key := range sortedKeys(run.lanes) {
		run.lanes[key].emit = emit
		run.lanes[key].close()
	}
	for n := len(run.steps) - 1; n >= 0; n-- {
		emit(step(agui.StepFinished, run.steps[n]))
	}
	run.steps = nil
	return list
}
