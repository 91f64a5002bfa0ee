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

// A trace is what happens in one turn. A run is read in one goroutine at a time, but that may be
// another than the client's, so it locks.
type trace struct {
	p    *player
	turn Turn

	mu      sync.Mutex
	asked   int      // requests to the backend
	frames  []*frame // of the backend, in all exchanges
	current *frame   // what came last, nil before the first frame
	went    [][]byte // frames for the client since then
	rest    []byte   // the beginning of the next one
	notes   []string
	run     *event.Run
	stopped error // by Options.Step
}

// A frame came from the backend.
type frame struct {
	number int
	raw    []byte
	data   []byte // nil if it has none
	passed bool   // the client got it, as it came or changed
	told   bool   // what was made of it at first is printed
}

// note keeps a reason for what is printed next.
func (t *trace) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// came is called before a frame of the backend is handed over. All that was made of the frame
// before it has been written.
func (t *trace) came(raw []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	if t.stopped == nil && t.p.o.Step != nil {
		t.stopped = t.p.o.Step()
	}
	if t.stopped != nil {
		return t.stopped
	}
	t.current = &frame{number: len(t.frames) + 1, raw: raw, data: dataOf(raw)}
	t.frames = append(t.frames, t.current)
	t.p.print("  backend %3d  %s", t.current.number, shown(raw))
	return nil
}

// sent is called with a request to the backend.
func (t *trace) sent(r *http.Request, body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	t.current = nil
	t.asked++
	line := fmt.Sprintf("backend gets request %d, %s %s", t.asked, r.Method, r.URL.RequestURI())
	switch {
	case sameJSON(body, t.turn.Request):
		t.p.print("  %s: the client's request as it came", line)
	case len(body) == 0:
		t.p.print("  %s", line)
	default:
		t.p.block(line, body)
		t.p.print("               why: %s makes it of the client's request: %s", t.p.maker(), changed(t.turn.Request, body))
	}
}

// wrote is called with what the client gets.
func (t *trace) wrote(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rest = append(t.rest, b...)
	for {
		at := bytes.Index(t.rest, []byte("\n\n"))
		if at < 0 {
			return
		}
		t.went = append(t.went, bytes.Clone(t.rest[:at+2]))
		t.rest = t.rest[at+2:]
	}
}

func (t *trace) ended(r *event.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = r
}

// flush prints what was made of the current frame, and why.
func (t *trace) flush() {
	for _, went := range t.went {
		if t.current != nil && t.current.data == nil && bytes.Equal(t.current.raw, went) {
			t.p.print("  client       as it came")
			continue
		}
		f, why := t.why(went)
		if f != nil && f == t.current && bytes.Equal(f.data, dataOf(went)) {
			t.p.print("  client       as it came")
			continue
		}
		t.p.print("  client       %s", shown(went))
		t.p.print("               why: %s", why)
	}
	if t.current != nil && !t.current.told {
		t.current.told = true
		if len(t.went) == 0 && t.current.data != nil {
			t.p.print("  client       nothing yet: Holdpoint waits with it, or leaves it out")
		}
	}
	for _, note := range t.notes {
		t.p.print("               %s", note)
	}
	t.went, t.notes = nil, nil
}

// why says where a frame of the client comes from, as far as the frames show it. It returns the
// frame that it was, if it was one.
func (t *trace) why(went []byte) (*frame, string) {
	data := dataOf(went)
	if data == nil {
		return nil, "has no event"
	}
	for _, f := range t.frames {
		if f.passed || !bytes.Equal(f.data, data) {
			continue
		}
		f.passed = true
		return f, fmt.Sprintf("is frame %d as it came, which waited until here", f.number)
	}
	if f := t.source(data); f != nil {
		f.passed = true
		return f, fmt.Sprintf("is frame %d, changed: %s", f.number, changed(f.data, data))
	}
	return nil, "is made by Holdpoint"
}

// source returns the frame of the backend that a changed event was: of the same type and the same
// message or call, the last one first. It returns nil if there is none.
func (t *trace) source(data []byte) *frame {
	for _, f := range slices.Backward(t.frames) {
		same := !f.passed && f.data != nil && agui.ValidJSON(f.data)
		for _, name := range []string{"type", "messageId", "toolCallId", "runId", "name"} {
			same = same && gjson.GetBytes(f.data, name).Raw == gjson.GetBytes(data, name).Raw
		}
		if same {
			return f
		}
	}
	return nil
}

// end prints what is left, and how the run ended.
func (t *trace) end(w *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped != nil {
		return // what Holdpoint makes of a stream that ends here is nobody's question
	}
	if len(t.rest) > 0 && !w.refused() {
		t.went = append(t.went, t.rest)
	}
	if w.refused() {
		t.went = nil
		t.flush()
		t.p.block(fmt.Sprintf("client gets HTTP %d", w.status), w.body)
	} else {
		t.flush()
	}
	var left []string
	for _, f := range t.frames {
		if !f.passed && f.data != nil {
			left = append(left, fmt.Sprint(f.number))
		}
	}
	if len(left) > 0 && !w.refused() {
		t.p.print("  left out     frames of the backend that did not reach the client in any form: %s", strings.Join(left, ", "))
	}
	if n := len(t.turn.Answers) - t.asked; n > 0 {
		t.p.print("  left out     recorded answers of the backend that Holdpoint did not ask for: %d", n)
	}
	if r := t.run; r != nil {
		t.p.print("  run          outcome %s, dialect %s; frames: %d passed, %d rewritten, %d dropped, %d made", or(r.Outcome), or(r.Dialect), r.Passed, r.Rewritten, r.Dropped, r.Made)
	}
}

func or(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// dataOf returns the JSON of a frame, and nil if it has none.
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
		return bytes.TrimSpace(raw) // a line of NDJSON
	}
	return data
}

// shown returns a frame in one line.
func shown(raw []byte) string {
	return strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\r", " ⏎ ").Replace(strings.TrimRight(string(raw), "\r\n"))
}

// changed says which members an object has in place of those of another.
func changed(was, is []byte) string {
	before, after := members(was), members(is)
	if before == nil || after == nil {
		return "another form"
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
		return "the same values, written anew"
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
