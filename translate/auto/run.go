package auto

import (
	"hash/maphash"
	"slices"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// maxHeld bounds the events of all held calls, with the default bound of a frame. If nobody has
// claimed a call by then, it passes.
const maxHeld = 8 << 20

// maxCalls bounds the calls that wait at once, because beside each of them every dialect is asked
// about every other event. maxOpen bounds the calls that passed and did not end. A backend has a
// handful of either.
const (
	maxCalls = 64
	maxOpen  = 4096
)

var _ translate.Passer = (*run)(nil)

// A run passes a stream on until a dialect claims it.
type run struct {
	d *Dialect
	r *translate.Request

	found translate.Run // nil until somebody claimed the stream
	name  string

	// This is how the stream began, for the dialect that will claim it: RUN_STARTED, or all of it
	// for a dialect that is an Early.
	began []agui.Event
	raw   bool // the dialects were asked about a RAW event: they are asked about the first one only
	early []wholeStreamRun
	lost  strandsapi.LostDetector

	snapshot agui.Event // what the last Early made of it, see shown
	keep     func(agui.Event)

	open  []uint64 // calls that were begun and passed, by a hash of their ids. An END of another call is held
	held  []*heldCall
	chunk *heldCall // the held call that a chunk without an id belongs to
	lone  *heldCall // an END without START: the next event says what it is
	// last is a call whose END did not tell whose it is, because the end of the run will tell. Until
	// that end everything waits with it, to keep the order.
	last *heldCall
	// events are those of the held calls, and what waits behind the last one.
	events kit.HeldEvents[*heldCall]
}

// wholeStreamRun is the run of a dialect that must see the whole stream.
type wholeStreamRun struct {
	dialect translate.Dialect
	run     translate.Run
}

// pass lets out an event that nobody claimed. A dialect that is an Early may take out of a snapshot
// of the messages what its client is not shown.
func (run *run) pass(ev agui.Event, emit func(agui.Event)) {
	switch ev.Type {
	case agui.Custom:
	case agui.MessagesSnapshot:
		ev = run.shownSnapshot(ev)
	default:
		for _, e := range run.early {
			_ = e.run.Event(ev, ignore) // only answers can make an error of it, and there are none
		}
	}
	emit(ev)
}

// shownSnapshot returns what the client is shown of a snapshot of the messages.
func (run *run) shownSnapshot(snapshot agui.Event) agui.Event {
	for _, e := range run.early {
		run.snapshot = snapshot
		_ = e.run.Event(snapshot, run.keep)
		snapshot = run.snapshot
	}
	return snapshot
}

func ignore(agui.Event) {}

// A heldCall is a tool call whose frames wait for a verdict.
type heldCall struct {
	call agui.Call
	args strings.Builder // call.Args, which grows by many small deltas
}

// Event implements translate.Run. It looks only into CUSTOM events, snapshots of the messages and
// events of tool calls.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.found != nil {
		return run.found.Event(ev, emit)
	}
	if run.lone != nil && ev.Type != agui.Custom {
		run.release(run.lone, emit)
	}
	run.lost.See(ev)
	if run.last != nil {
		return run.readBehindCall(ev, emit)
	}
	switch ev.Type {
	case agui.RunStarted:
		if len(run.began) == 0 { // a second one begins nothing
			run.began = append(run.began, ev.Clone())
		}
	case agui.Custom:
		if one := run.ask(ev); one != nil {
			return run.take(one, ev, emit)
		}
		if run.lone != nil {
			run.release(run.lone, emit)
		}
	case agui.MessagesSnapshot:
		if one := run.ask(ev); one != nil {
			return run.take(one, ev, emit)
		}
	case agui.Raw:
		if !run.raw {
			run.raw = true
			if one := run.signer(ev); one != nil {
				return run.take(one, ev, emit)
			}
		}
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		return run.call(ev, emit)
	case agui.CallResult:
		if h := run.holding(ev); h != nil {
			run.release(h, emit)
		}
	}
	run.pass(ev, emit)
	return nil
}

// Passes implements translate.Passer. The run of the dialect that claimed the stream decides. Until
// then nothing passes while an END waits for what follows it. No arguments pass while a call is
// held, because they may be its own.
func (run *run) Passes(t agui.Type) bool {
	if run.found != nil {
		found, ok := run.found.(translate.Passer)
		return ok && found.Passes(t)
	}
	if run.lone != nil || run.last != nil || !run.lost.Passes(t) {
		return false
	}
	switch t {
	case agui.RunStarted, agui.Custom, agui.MessagesSnapshot, agui.CallStart, agui.CallChunk:
		return false
	case agui.Raw:
		if !run.raw {
			return false
		}
	case agui.CallArgs:
		if len(run.held) > 0 {
			return false
		}
	}
	for _, e := range run.early {
		if p, ok := e.run.(translate.Passer); !ok || !p.Passes(t) {
			return false
		}
	}
	return true
}

// call handles an event of a tool call.
func (run *run) call(ev agui.Event, emit func(agui.Event)) error {
	if h := run.holding(ev); h != nil {
		return run.hold(h, ev, emit)
	}
	if ev.Type == agui.CallArgs || ev.Type == agui.CallEnd && run.closes(ev) {
		run.pass(ev, emit) // of a call that nobody wanted at its start
		return nil
	}
	v, one := translate.No, translate.Dialect(nil)
	if !run.declaresTool(ev) {
		v, one = run.askOf(ev, begunCall(ev))
	}
	switch {
	case v == translate.Mine:
		return run.take(one, ev, emit)
	case v != translate.No && len(run.held) < maxCalls:
		h := &heldCall{call: agui.Call{ID: ev.Get("toolCallId").Str}}
		h.note(ev)
		run.held = append(run.held, h)
		run.events.Add(h, ev)
		switch ev.Type {
		case agui.CallChunk:
			run.chunk = h
		case agui.CallEnd:
			run.lone = h
		}
		if run.events.Full() {
			run.release(h, emit)
		}
		return nil
	}
	if ev.Type == agui.CallStart {
		if slices.Contains(run.open, run.hash(ev)) {
			return nil // Agent Framework tells some twice, and clients fail at the second
		}
		run.begin(ev)
	}
	run.pass(ev, emit)
	return nil
}

// begin notes a call that passed. If too many never end, it forgets the older ones.
func (run *run) begin(ev agui.Event) {
	if len(run.open) == maxOpen {
		run.open = slices.Delete(run.open, 0, maxOpen/2)
	}
	run.open = append(run.open, run.hash(ev))
}

// declaresTool reports whether the request declares the call's tool. Then the client answers the
// call, whatever its name or its arguments look like, unless the backend is known to ask by that
// tool.
func (run *run) declaresTool(ev agui.Event) bool {
	if len(run.r.Input.Tools) == 0 {
		return false
	}
	tool := agui.View(ev.JSON).Get("toolCallName").Str
	return run.r.Input.Declares(tool) && !run.d.owns(run.r.Pause.Dialect, tool)
}

// closes reports whether the END belongs to a call whose START has passed. It takes that call from
// the list.
func (run *run) closes(ev agui.Event) bool {
	at := slices.Index(run.open, run.hash(ev))
	if at < 0 {
		return false
	}
	run.open = slices.Delete(run.open, at, at+1)
	return true
}

func (run *run) hash(ev agui.Event) uint64 {
	return maphash.String(run.d.seed, agui.View(ev.JSON).Get("toolCallId").Str)
}

// begunCall returns the call that an event begins, as far as the event tells. It is valid as long
// as the event is.
func begunCall(ev agui.Event) agui.Call {
	if ev.Type == agui.CallEnd {
		return agui.Call{Ended: true} // it never began
	}
	view := agui.View(ev.JSON)
	c := agui.Call{ID: view.Get("toolCallId").Str, Name: view.Get("toolCallName").Str}
	if ev.Type == agui.CallChunk && c.Name != "" {
		c.Args = view.Get("delta").Str
	}
	return c
}

// ask returns the dialect that claims the event, nil if none does. It asks about the event beside
// each held call, and then about the event alone.
func (run *run) ask(ev agui.Event) translate.Dialect {
	for _, h := range run.held {
		if v, one := run.askOf(ev, h.call); v == translate.Mine {
			return one
		}
	}
	return run.signer(ev)
}

// signer returns the first dialect that claims the event.
func (run *run) signer(ev agui.Event) translate.Dialect {
	for _, one := range run.d.list {
		if signer, ok := one.(translate.Signer); ok && signer.Sign(ev, run.r) {
			return one
		}
	}
	return nil
}

// askOf asks the dialects about a call, in their order. The first Mine counts. Without one it is
// Hold or HoldToEnd if some dialect wants to wait.
func (run *run) askOf(ev agui.Event, call agui.Call) (translate.Verdict, translate.Dialect) {
	verdict := translate.No
	for _, one := range run.d.list {
		signer, ok := one.(translate.CallSigner)
		if !ok {
			continue
		}
		switch signer.SignCall(ev, call, run.r) {
		case translate.Mine:
			return translate.Mine, one
		case translate.Hold:
			verdict = max(verdict, translate.Hold)
		case translate.HoldToEnd:
			verdict = translate.HoldToEnd
		}
	}
	return verdict, nil
}

// holding returns the held call that the event belongs to, nil if it belongs to none.
func (run *run) holding(ev agui.Event) *heldCall {
	if len(run.held) == 0 {
		return nil
	}
	id := ev.Get("toolCallId")
	if !id.Exists() && ev.Type == agui.CallChunk {
		return run.chunk
	}
	var found *heldCall
	for _, h := range run.held {
		if h.call.ID == id.Str {
			found = h
		}
	}
	if ev.Type == agui.CallChunk {
		run.chunk = found
	}
	return found
}

// hold handles the next event of a held call. Behind the call's end nothing more of it can come.
func (run *run) hold(h *heldCall, ev agui.Event, emit func(agui.Event)) error {
	h.note(ev)
	v, one := run.askOf(ev, h.call)
	if v == translate.Mine {
		return run.take(one, ev, emit)
	}
	run.events.Add(h, ev)
	switch {
	case v == translate.No || run.events.Full() || ev.Type == agui.CallEnd && v != translate.HoldToEnd:
		run.release(h, emit)
	case ev.Type == agui.CallEnd:
		run.last = h
	}
	return nil
}

// readBehindCall handles an event behind a call whose END did not tell.
func (run *run) readBehindCall(ev agui.Event, emit func(agui.Event)) error {
	h := run.last
	_, one := run.askOf(ev, h.call)
	if one == nil && ev.Type == agui.Custom {
		one = run.signer(ev)
	}
	if one != nil {
		return run.take(one, ev, emit)
	}
	run.events.Add(h, ev)
	if run.events.Full() {
		run.release(h, emit)
	}
	return nil
}

// waiting takes everything that is held, in the order of its coming.
func (run *run) waiting() []agui.Event {
	run.held, run.lone, run.last, run.chunk = nil, nil, nil, nil
	return run.events.ReleaseAll()
}

// release lets a held call pass. A call that was not ended is open now.
func (run *run) release(h *heldCall, emit func(agui.Event)) {
	for _, ev := range run.events.Release(h) {
		run.pass(ev, emit)
		if ev.Type == agui.CallStart && !h.call.Ended {
			run.begin(ev)
		}
	}
	run.held = slices.DeleteFunc(run.held, func(other *heldCall) bool { return other == h })
	if run.chunk == h {
		run.chunk = nil
	}
	if run.lone == h {
		run.lone = nil
	}
	if run.last == h {
		run.last = nil
	}
}

// take gives the stream to the dialect that claimed it. The dialect gets how the stream began,
// which the client has seen already, then what was held, then the event.
func (run *run) take(one translate.Dialect, ev agui.Event, emit func(agui.Event)) error {
	if err := run.give(one); err != nil {
		return err
	}
	for _, waited := range run.waiting() {
		if err := run.found.Event(waited, emit); err != nil {
			return err
		}
	}
	return run.found.Event(ev, emit)
}

// takeEnd is take at the terminal event. It returns what the dialect makes of the held events.
func (run *run) takeEnd(one translate.Dialect) ([]agui.Event, error) {
	if err := run.give(one); err != nil || len(run.held) == 0 {
		return nil, err
	}
	var list []agui.Event
	for _, waited := range run.waiting() {
		if err := run.found.Event(waited, func(ev agui.Event) { list = append(list, ev.Clone()) }); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// give begins the run of the dialect that claimed the stream.
func (run *run) give(one translate.Dialect) error {
	run.name = one.Name()
	if run.d.Claimed != nil {
		run.d.Claimed(run.name)
	}
	early := run.early
	run.early = nil
	for _, e := range early {
		if e.dialect == one {
			run.found = e.run
			return nil
		}
	}
	_, found, err := one.Begin(run.r)
	if err != nil {
		return err
	}
	run.found = found
	for _, b := range run.began {
		if err := found.Event(b, func(agui.Event) {}); err != nil {
			return err
		}
	}
	return nil
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	var before []agui.Event
	if run.found == nil && e.Event.Type.Terminal() {
		if one := run.ask(e.Event); one != nil {
			held, err := run.takeEnd(one)
			if before = append(before, held...); err != nil {
				return translate.Result{}, err
			}
		}
	}
	if run.found == nil {
		before = append(before, run.waiting()...)
		run.warn(e)
		return translate.Result{Before: before, Finish: e.Event}, nil
	}
	res, err := run.found.End(e)
	res.Before = append(before, res.Before...)
	if len(res.Asked.Interrupts) > 0 || res.Next != nil {
		res.Spoke = run.name
		return res, err
	}
	run.warn(e)
	return res, err
}

// warn says that a pause passed which cannot be answered through Holdpoint, once for each kind.
func (run *run) warn(e translate.End) {
	if run.found == nil && run.r.Pause.Dialect == "" && run.lost.Likely(run.r, e.Event) {
		run.d.strands.Do(func() { run.d.warn(strandsapi.LostHint) })
	}
}

// note reads what the event says about the call.
func (h *heldCall) note(ev agui.Event) {
	switch ev.Type {
	case agui.CallStart, agui.CallChunk:
		if name := ev.Get("toolCallName").Str; name != "" {
			h.call.Name = name
		}
		if parent := ev.Get("parentMessageId").Str; parent != "" {
			h.call.Parent = parent
		}
	case agui.CallEnd:
		h.call.Ended = true
	}
	if ev.Type == agui.CallArgs || ev.Type == agui.CallChunk {
		h.args.WriteString(ev.Get("delta").Str)
		h.call.Args = h.args.String()
	}
}
