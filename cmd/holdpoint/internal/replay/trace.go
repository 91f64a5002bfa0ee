package replay

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/event"
)

// A trace prints the events of one turn. It has a lock because one goroutine may read the backend's
// stream while another one serves the client.
type trace struct {
	p    *player
	turn Turn

	mu           sync.Mutex
	requests     int      // number of requests to the backend
	frames       []*frame // frames of the backend, from all answers of the turn
	current      *frame   // the last frame of the backend, nil before the first
	output       [][]byte // frames for the client that followed current
	partialFrame []byte   // incomplete frame for the client
	notes        []string
	run          *event.Run
	stepErr      error // error of Options.Step
}

// A frame is one frame of the backend's answer.
type frame struct {
	number        int
	raw           []byte
	data          []byte // JSON of the frame, nil if it has none
	reachedClient bool   // the client got the frame, changed or not
	flushed       bool   // flush has run for the frame
}

// note adds a line of explanation. The next flush prints the line.
func (t *trace) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// nextFrame is called before Holdpoint gets a frame of the backend. At this moment Holdpoint has
// written everything that results from the previous frame.
func (t *trace) nextFrame(raw []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	if t.stepErr == nil && t.p.options.Step != nil {
		t.stepErr = t.p.options.Step()
	}
	if t.stepErr != nil {
		return t.stepErr
	}
	t.current = &frame{number: len(t.frames) + 1, raw: raw, data: dataOf(raw)}
	t.frames = append(t.frames, t.current)
	t.p.print("  backend %3d  %s", t.current.number, oneLine(raw))
	return nil
}

// request is called with each request that Holdpoint sends to the backend.
func (t *trace) request(r *http.Request, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.current = nil
	t.requests++
	line := fmt.Sprintf(traceBackendGets, t.requests, r.Method, r.URL.RequestURI())
	switch {
	case sameJSON(body, t.turn.Request):
		t.p.print(traceRequestAsCame, line)
	case len(body) == 0:
		t.p.print("  %s", line)
	default:
		t.p.block(line, body)
		t.p.print(traceRequestWhy, t.p.maker(), describeChanges(t.turn.Request, body))
	}
}

// write is called with bytes that Holdpoint writes to the client.
func (t *trace) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.partialFrame = append(t.partialFrame, b...)
	for {
		at := bytes.Index(t.partialFrame, []byte("\n\n"))
		if at < 0 {
			return
		}
		t.output = append(t.output, bytes.Clone(t.partialFrame[:at+2]))
		t.partialFrame = t.partialFrame[at+2:]
	}
}

func (t *trace) noteEnd(r *event.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = r
}

// flush prints the frames that the client got since the current frame of the backend, each with its
// reason.
func (t *trace) flush() {
	for _, sent := range t.output {
		if t.current != nil && t.current.data == nil && bytes.Equal(t.current.raw, sent) {
			t.p.print(traceAsCame)
			continue
		}
		f, why := t.explain(sent)
		if f != nil && f == t.current && bytes.Equal(f.data, dataOf(sent)) {
			t.p.print(traceAsCame)
			continue
		}
		t.p.print("  client       %s", oneLine(sent))
		t.p.print("               why: %s", why)
	}
	if t.current != nil && !t.current.flushed {
		t.current.flushed = true
		if len(t.output) == 0 && t.current.data != nil {
			t.p.print(traceNothingYet)
		}
	}
	for _, note := range t.notes {
		t.p.print("               %s", note)
	}
	t.output, t.notes = nil, nil
}

// explain explains a frame of the client. It returns the backend's frame from which Holdpoint made
// it, or nil if there is none, and the explanation.
func (t *trace) explain(sent []byte) (*frame, string) {
	data := dataOf(sent)
	if data == nil {
		return nil, traceNoEvent
	}
	for _, f := range t.frames {
		if f.reachedClient || !bytes.Equal(f.data, data) {
			continue
		}
		f.reachedClient = true
		return f, fmt.Sprintf(traceWaited, f.number)
	}
	if f := t.source(data); f != nil {
		f.reachedClient = true
		return f, fmt.Sprintf(traceChanged, f.number, describeChanges(f.data, data))
	}
	return nil, traceMade
}

// source returns the last frame of the backend that has not reached the client yet and has the same
// type, message, call, run and name as data. It returns nil if there is none.
func (t *trace) source(data []byte) *frame {
	for _, f := range slices.Backward(t.frames) {
		same := !f.reachedClient && f.data != nil && agui.ValidJSON(f.data)
		for _, name := range []string{"type", "messageId", "toolCallId", "runId", "name"} {
			same = same && gjson.GetBytes(f.data, name).Raw == gjson.GetBytes(data, name).Raw
		}
		if same {
			return f
		}
	}
	return nil
}

// printEnd prints the remaining frames at the end of the turn, and the outcome of the run.
func (t *trace) printEnd(w *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stepErr != nil {
		return // the user stopped in the middle of the stream
	}
	if len(t.partialFrame) > 0 && !w.refused() {
		t.output = append(t.output, t.partialFrame)
	}
	if w.refused() {
		t.output = nil
		t.flush()
		t.p.block(fmt.Sprintf(traceClientGets, w.status), w.body)
	} else {
		t.flush()
	}
	var left []string
	for _, f := range t.frames {
		if !f.reachedClient && f.data != nil {
			left = append(left, fmt.Sprint(f.number))
		}
	}
	if len(left) > 0 && !w.refused() {
		t.p.print(traceLeftOut, strings.Join(left, ", "))
	}
	if n := len(t.turn.Answers) - t.requests; n > 0 {
		t.p.print(traceNotAskedFor, n)
	}
	if r := t.run; r != nil {
		t.p.print(traceRun, orNothing(r.Outcome), orNothing(r.Dialect), r.PassedFrames, r.RewrittenFrames, r.DroppedFrames, r.MadeEvents)
	}
}

func orNothing(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// dataOf returns the JSON of a frame, or nil if the frame has no JSON.
func dataOf(raw []byte) []byte {
	var data []byte
	for line := range bytes.Lines(raw) {
		if value, is := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); is {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	if data == nil && agui.ValidJSON(bytes.TrimSpace(raw)) {
		return bytes.TrimSpace(raw) // the frame is a line of NDJSON
	}
	return data
}

// oneLine returns a frame on one line, with ⏎ for each line break.
func oneLine(raw []byte) string {
	return strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\r", " ⏎ ").Replace(strings.TrimRight(string(raw), "\r\n"))
}

// describeChanges describes the members that were added, changed and removed between two JSON
// objects.
func describeChanges(was, is []byte) string {
	before, after := members(was), members(is)
	if before == nil || after == nil {
		return traceOtherForm
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if old, had := before[name]; !had {
			list = append(list, name+" added")
		} else if !sameJSON([]byte(old), []byte(after[name])) {
			list = append(list, name+" changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, has := after[name]; !has {
			list = append(list, name+" removed")
		}
	}
	if len(list) == 0 {
		return traceSameValues
	}
	return strings.Join(list, ", ")
}

func members(object []byte) map[string]string {
	v := gjson.ParseBytes(object)
	if !agui.ValidJSON(object) || !v.IsObject() {
		return nil
	}
	list := map[string]string{}
	v.ForEach(func(name, value gjson.Result) bool { list[name.Str] = value.Raw; return true })
	return list
}

func sameJSON(a, b []byte) bool {
	return bytes.Equal(compact(a), compact(b))
}
