package strands

import (
	"bytes"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/aguiwriter"
	"holdpoint/translate/kit"
)

// maxLanes and maxSteps limit the number of nodes of a graph that the run stores, because a backend
// may name any number of nodes.
const (
	maxLanes = 256
	maxSteps = 256
)

// A run translates one exchange with the agent.
type run struct {
	d   *Dialect
	r   *translate.Request
	ids *ids
	// resumed is the pause that the exchange answers, or nil if the exchange carries no answers.
	// sentList reports that the prompt of the exchange is a list.
	resumed  *agui.Pause
	sentList bool
	// prompt is the text that the exchange sends. sent are the client's messages with that text.
	prompt string
	sent   []agui.Message
	// refused is the earlier exchange whose prompt the agent refused because it was waiting. This
	// exchange then asks the agent for its questions. refused is nil in all other exchanges.
	refused *run
	// askedAgain has the ids of questions whose answers failed in an earlier run. This exchange
	// sends null for each of them, so that the agent asks again.
	askedAgain map[string]bool
	// brokeOff reports that the response of the previous exchange broke off, so Holdpoint does not
	// know whether the agent waits. untried has the lists of ids to try next.
	brokeOff bool
	untried  [][]string
	// cancels has the questions that this exchange cancels, if the client cancelled a lost
	// question. Otherwise it is nil.
	cancels *kit.Cancels
	// repeatsPrompt reports that this exchange sends a refused prompt again, because no question is
	// open any more.
	repeatsPrompt bool

	framing      translate.Framing
	lanes        map[string]*lane // keyed by keyOf(path of the node)
	steps        []string
	answered     map[string]bool // calls whose result was sent to the client
	source       source          // the source from which text is read
	shown        bool            // text or a call was sent to the client
	sawString    bool            // a string was received that could be text
	body         bool            // the response is one JSON text
	isTypeScript bool            // the result is in the form of TypeScript

	questions    questions
	waitingCalls map[string]bool // TypeScript: calls without a result in the last afterToolsEvent
	stopReason   string          // why the agent stopped; "" while it runs
	endsInCall   bool            // the result is a message with a call, and has no stop reason
	last         string          // the model's last stop reason
	forceStopped bool            // force_stop was received
	failed       *failure        // the first error frame
	reason       string          // the failure's reason in the result, if it has one
	lostPause    bool            // the result shows that the agent does not wait
	sawStart     bool            // the stream has its beginning, so it is complete
	loopBegan    bool            // the loop of an agent or a node began
	started      bool            // TypeScript: the loop of an agent began and has not ended
	tools        bool            // TypeScript: tools were called
	modelFirst   bool            // TypeScript: the model was called before any tools
}

// A source is the kind of frame from which the run reads text. Many servers send the same text
// twice, as deltas of the model and as {"data": ...}. The run reads only the kind that it receives
// first.
type source int

const (
	undecided source = iota
	fromEvents
	fromData
)

func newRun(d *Dialect, r *translate.Request, ids *ids) *run {
	return &run{d: d, r: r, ids: ids, lanes: map[string]*lane{}, answered: map[string]bool{}}
}

// Framing implements translate.Decoder. A response without a media type is read as lines, because
// the documented Express server sends them so.
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
		run.lane("", emit).sendText(aguiwriter.Quoted(string(p.Data)))
	case translate.Whole:
		run.json(bytes.TrimSpace(p.Data), emit)
	default:
		run.frame(bytes.TrimSpace(p.Data), emit)
	}
	return nil
}

// frame handles one frame or line.
func (run *run) frame(data []byte, emit func(agui.Event)) {
	if run.framing == translate.Lines { // also reads an event stream that has no media type
		data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("data:")))
	}
	switch {
	case len(data) == 0:
	case data[0] == '"':
		run.text(data, emit)
	case data[0] == '{':
		if data = validJSON(data); data != nil {
			run.object(gjson.ParseBytes(data), "", 0, emit)
		}
	case run.d.server.Text && !bytes.Equal(data, []byte("[DONE]")):
		run.lane("", emit).sendText(aguiwriter.Quoted(string(data)))
	}
}

// lane returns the lane of the node at path, or of the agent itself if path is "". If there are
// already maxLanes lanes, further nodes share the agent's lane.
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

// closings returns the events that end all open messages, calls and steps.
func (run *run) closings() []agui.Event {
	var list []agui.Event
	emit := func(ev agui.Event) { list = append(list, ev) }
	for _, key := range sortedKeys(run.lanes) {
		run.lanes[key].emit = emit
		run.lanes[key].close()
	}
	for n := len(run.steps) - 1; n >= 0; n-- {
		emit(agui.MakeEvent(agui.StepFinished, "stepName", run.steps[n]))
	}
	run.steps = nil
	return list
}
