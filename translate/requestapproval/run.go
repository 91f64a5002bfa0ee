package requestapproval

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/internal/build/poison"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// maxHeld is the maximum number of bytes of the events of all held calls. A call may have its
// arguments twice, because rawEvent repeats them. maxCalls is the maximum number of calls that are
// held at once. Further calls pass unchanged.
const (
	maxHeld  = 8 << 20
	maxCalls = 64
)

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. It holds back the events of each call that may be a request until
// the call has ended. If the call is a request, it renames the call. A client that is shown the
// backend's own form gets every event unchanged.
type run struct {
	r      *translate.Request
	native bool

	held    []frame                // in the order of arrival; in native mode these are copies
	size    int                    // the total size in bytes of held
	calls   []*call                // the calls that the events of held belong to
	chunk   string                 // the call of chunks without an id, if it may be or is a request; otherwise ""
	asked   map[string]openRequest // the open requests, keyed by the ids of their calls
	count   int                    // the number of all requests
	asking  kit.AskedQuestions     // limits the number and size of the open requests
	tooMany error                  // set if there are too many requests; the run is given up
	shown   []json.RawMessage      // in native mode: the events of the requests

	// The fields below are memory that is reused, because an emitted event is valid only until emit
	// returns. kit.HeldEvents is not used here, because it allocates memory for each event.
	spare   *call
	removed []frame
	out     []byte
}

// maxSpare is the maximum size in bytes of the memory of a call that is kept for reuse.
const maxSpare = 64 << 10

// A call is a tool call named request_approval that may be a request.
type call struct {
	id, parent, args []byte
	half             rune   // see agui.AppendPiece, for args
	bytes            []byte // the memory of its held events
}

func newRun(r *translate.Request) *run {
	return &run{r: r, native: r.Show == translate.ShowNative, asked: map[string]openRequest{}}
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.tooMany != nil {
		return run.tooMany
	}
	switch ev.Type {
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		run.callEvent(ev, emit)
		return nil
	case agui.CallResult:
		run.result(ev, emit)
	case agui.MessagesSnapshot:
		ev = run.snapshot(ev)
	}
	emit(ev)
	return nil
}

// Passes implements translate.Passer. Events that continue a call pass unread if no call is held
// and no request is open.
func (run *run) Passes(t agui.Type) bool {
	switch t {
	case agui.CallStart, agui.CallChunk:
		return false
	case agui.CallArgs, agui.CallEnd, agui.CallResult:
		return len(run.calls) == 0 && len(run.asked) == 0
	case agui.MessagesSnapshot:
		return run.native
	}
	return true
}

// callEvent handles an event of a tool call: start, arguments, end or chunk.
func (run *run) callEvent(ev agui.Event, emit func(agui.Event)) {
	begins := ev.Type == agui.CallStart || ev.Type == agui.CallChunk
	if !begins && len(run.calls) == 0 && len(run.asked) == 0 {
		emit(ev)
		return
	}
	says := read(ev)
	id := agui.Text(says.id)
	if id == "" && ev.Type == agui.CallChunk {
		id = run.chunk
	}
	c := run.holding(id)
	_, asks := run.asked[id]
	begins = c == nil && begins && !asks && run.mayAsk(says, id)
	ours := c != nil || begins || asks
	if ev.Type == agui.CallChunk && !ours {
		run.chunk = ""
	} else if ev.Type == agui.CallChunk {
		run.chunk = strings.Clone(id)
	}
	switch {
	case !ours:
		emit(ev)
		return
	case !says.valid:
		if c != nil {
			run.release(c, emit)
		}
		emit(ev)
		return
	case begins:
		c = run.begin(id)
	case c == nil:
		// This is a further event of a request that was already renamed, such as a chunk of white
		// space or the same call again. A client would append it to the call, so it is dropped.
		if run.native {
			emit(ev)
		}
		return
	}
	before := len(c.args)
	run.hold(c, ev, says)
	if run.native {
		emit(ev)
	}
	switch {
	case ev.Type == agui.CallEnd, ev.Type == agui.CallChunk && isComplete(c.args, len(c.args)-before):
		run.decide(c, emit)
	case run.size > maxHeld, ev.Type != agui.CallStart && !couldFit(c.args):
		run.release(c, emit)
	}
}

func (run *run) holding(id string) *call {
	for _, c := range run.calls {
		if string(c.id) == id {
			return c
		}
	}
	return nil
}

// mayAsk reports whether the call that begins with this event may be a request.
func (run *run) mayAsk(says callEvent, id string) bool {
	return agui.Text(says.name) == microsoft.RequestApproval && id != "" && storesUnchanged(id) && len(run.calls) < maxCalls
}

// begin adds a call that may be a request to run.calls.
func (run *run) begin(id string) *call {
	c := run.spare
	if c == nil {
		c = &call{}
	}
	*c, run.spare = call{append(c.id[:0], id...), c.parent[:0], c.args[:0], 0, c.bytes[:0]}, nil
	run.calls = append(run.calls, c)
	return c
}

func (run *run) hold(c *call, ev agui.Event, says callEvent) {
	if ev.Type == agui.CallArgs || ev.Type == agui.CallChunk {
		c.args = agui.AppendPiece(c.args, says.delta, &c.half)
	}
	if parent := agui.Text(says.parent); parent != "" {
		c.parent = append(c.parent[:0], parent...)
	}
	run.size += len(ev.JSON)
	ev, c.bytes = ev.CloneTo(c.bytes)
	run.held = append(run.held, newFrame(c, ev, says))
}

// remove removes the frames of a call from run.held and returns them. They are valid until the next
// call of remove.
func (run *run) remove(c *call) []frame {
	if len(run.calls) == 1 { // all held frames belong to this call
		run.calls, run.held, run.removed, run.size = run.calls[:0], run.removed[:0], run.held, 0
	} else {
		run.removed = run.removed[:0]
		run.held = slices.DeleteFunc(run.held, func(f frame) bool {
			if f.call == c {
				run.removed = append(run.removed, f)
				run.size -= len(f.ev.JSON)
			}
			return f.call == c
		})
		run.calls = slices.DeleteFunc(run.calls, func(other *call) bool { return other == c })
	}
	return run.removed
}

// free makes the memory of a call available for reuse.
func (run *run) free(c *call) {
	poison.Bytes(c.bytes)
	if cap(c.args)+cap(c.bytes) <= maxSpare {
		run.spare = c
	}
}

// release emits the held events of a call unchanged, because the call is not a request.
func (run *run) release(c *call, emit func(agui.Event)) {
	for _, f := range run.remove(c) {
		if !run.native {
			emit(f.ev)
		}
	}
	run.free(c)
}

// decide handles a call that is complete. If it is a request, decide renames it and notes the
// question. Otherwise it releases the call.
func (run *run) decide(c *call, emit func(agui.Event)) {
	a, ok := readAsk(c.args)
	if !ok {
		run.release(c, emit)
		return
	}
	frames, hidden := run.remove(c), false
	switch {
	case run.native:
		for _, f := range frames {
			run.shown = append(run.shown, slices.Clone(f.ev.JSON))
		}
	case run.hidesCall(a.function):
		hidden = true
	default:
		run.rename(frames, a, emit)
	}
	if cap(c.bytes) > smallText {
		c.bytes = nil
	}
	run.count++
	size := len(c.args) + len(c.bytes)
	run.asked[string(c.id)] = openRequest{c, hidden, run.count, size}
	run.tooMany = run.asking.Add(size)
}

// hidesCall reports whether the client must not see the call of the function that a request asks
// about. A front end would run a call of its own tool, and the result would conflict with the
// answer.
func (run *run) hidesCall(function string) bool {
	return run.r.Input.Declares(function) && !run.r.AsksFirst
}

// rename emits the frames of a request as a call of the function. The events stay in their places,
// the call keeps its id, and the arguments are in one piece. rename removes rawEvent, which shows
// the synthetic call, and nulls, which the old host writes. @ag-ui/client up to 0.0.53 fails at a
// parentMessageId of null.
func (run *run) rename(frames []frame, a ask, emit func(agui.Event)) {
	delta := false
	for n, f := range frames {
		var name, args *string
		switch f.ev.Type {
		case agui.CallStart:
			name = &a.function
		case agui.CallArgs:
			if delta {
				continue
			}
			delta, args = true, &a.arguments
		case agui.CallChunk:
			if n > 0 {
				continue
			}
			name, args = &a.function, &a.arguments
		}
		run.out = f.appendRenamed(run.out[:0], name, args)
		f.ev.JSON, f.ev.Edited = run.out, true
		emit(f.ev)
		poison.Bytes(run.out)
	}
	if cap(run.out) > maxSpare {
		run.out = nil
	}
}

// snapshot returns a MESSAGES_SNAPSHOT as the client is shown it. The functions' own calls replace
// the synthetic calls, and the answers to the synthetic calls are left out. The hosts send no
// snapshots, so it comes from the application.
func (run *run) snapshot(ev agui.Event) agui.Event {
	if run.native || !bytes.Contains(ev.JSON, []byte(microsoft.RequestApproval)) || !ev.Valid() {
		return ev
	}
	var list []agui.Message
	for _, m := range ev.Get("messages").Array() {
		list = append(list, agui.ParseMessage(json.RawMessage(m.Raw)))
	}
	return ev.WithJSON(agui.SetKey(ev.JSON, "messages", agui.MessageList(asShown(list, run.hidesCall))))
}
