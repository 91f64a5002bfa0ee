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

// maxHeld is the maximum number of bytes of all held calls together. It equals the default maximum
// size of a frame. If the held calls exceed it, they are released unclaimed.
const maxHeld = 8 << 20

// maxCalls is the maximum number of calls that are held at the same time. It is low because, for
// each held call, the dialects are asked about every other event. maxOpen is the maximum number of
// forwarded calls that have not ended. Real backends have few of both.
const (
	maxCalls = 64
	maxOpen  = 4096
)

var _ translate.Passer = (*run)(nil)

// A run forwards a stream until a dialect claims it.
type run struct {
	d *Dialect
	r *translate.Request

	claimed translate.Run // the run of the dialect that claimed the stream, or nil
	name    string

	// started and earlyRuns are kept for the dialect that will claim the stream: its RUN_STARTED,
	// and for each translate.EarlyReader a run that has seen all events.
	started []agui.Event
	// the dialects were asked about the first RAW event, and are not asked about others
	raw       bool
	earlyRuns []wholeStreamRun
	lost      strandsapi.LostDetector

	snapshot agui.Event // the latest snapshot that an EarlyReader changed, see shownSnapshot
	keep     func(agui.Event)

	// hashes of the ids of forwarded calls; a TOOL_CALL_END of any other call is held
	open      []uint64
	held      []*heldCall
	chunk     *heldCall // the held call that chunks without an id belong to
	orphanEnd *heldCall // a TOOL_CALL_END without its start; the next event shows its call
	// undecided is a call that can be judged only at the end of the run. All events that follow it
	// are held too, to keep their order.
	undecided *heldCall
	// events has the events of the held calls, and those that follow undecided.
	events kit.HeldEvents[*heldCall]
}

// wholeStreamRun is the run of a dialect that is an EarlyReader. It has seen all events.
type wholeStreamRun struct {
	dialect translate.Dialect
	run     translate.Run
}

// pass emits an event that no dialect claimed. An EarlyReader may change a MESSAGES_SNAPSHOT before
// that, to remove content that the client must not see.
func (run *run) pass(ev agui.Event, emit func(agui.Event)) {
	switch ev.Type {
	case agui.Custom:
	case agui.MessagesSnapshot:
		ev = run.shownSnapshot(ev)
	default:
		for _, e := range run.earlyRuns {
			_ = e.run.Event(ev, ignore) // only a run with answers can return an error here
		}
	}
	emit(ev)
}

// shownSnapshot returns a MESSAGES_SNAPSHOT as the client must get it. Each EarlyReader may change
// it.
func (run *run) shownSnapshot(snapshot agui.Event) agui.Event {
	for _, e := range run.earlyRuns {
		run.snapshot = snapshot
		_ = e.run.Event(snapshot, run.keep)
		snapshot = run.snapshot
	}
	return snapshot
}

func ignore(agui.Event) {}

// A heldCall is a tool call whose events are held until a dialect claims it or all dialects decline
// it.
type heldCall struct {
	call agui.Call
	args strings.Builder // collects call.Args, which may come in many small deltas
}

// Event implements translate.Run. Until a dialect claims the stream, it examines only CUSTOM
// events, MESSAGES_SNAPSHOT, the first RAW event and the events of tool calls.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.claimed != nil {
		return run.claimed.Event(ev, emit)
	}
	if run.orphanEnd != nil && ev.Type != agui.Custom {
		run.release(run.orphanEnd, emit)
	}
	run.lost.Observe(ev)
	if run.undecided != nil {
		return run.readAfterCall(ev, emit)
	}
	switch ev.Type {
	case agui.RunStarted:
		if len(run.started) == 0 { // a second RUN_STARTED is ignored
			run.started = append(run.started, ev.Clone())
		}
	case agui.Custom:
		if one := run.ask(ev); one != nil {
			return run.take(one, ev, emit)
		}
		if run.orphanEnd != nil {
			run.release(run.orphanEnd, emit)
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

// Passes implements translate.Passer. If a dialect has claimed the stream, that dialect's run
// decides. Before that, two kinds of events must be read: all events, while a TOOL_CALL_END is held
// until the next event; and TOOL_CALL_ARGS, while a call is held, because the arguments may belong
// to it.
func (run *run) Passes(t agui.Type) bool {
	if run.claimed != nil {
		found, ok := run.claimed.(translate.Passer)
		return ok && found.Passes(t)
	}
	if run.orphanEnd != nil || run.undecided != nil || !run.lost.Passes(t) {
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
	for _, e := range run.earlyRuns {
		if p, ok := e.run.(translate.Passer); !ok || !p.Passes(t) {
			return false
		}
	}
	return true
}

// call handles an event of a tool call, while no dialect has claimed the stream.
func (run *run) call(ev agui.Event, emit func(agui.Event)) error {
	if h := run.holding(ev); h != nil {
		return run.hold(h, ev, emit)
	}
	if ev.Type == agui.CallArgs || ev.Type == agui.CallEnd && run.closes(ev) {
		run.pass(ev, emit) // when the call began, no dialect wanted to hold it
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
			run.orphanEnd = h
		}
		if run.events.Full() {
			run.release(h, emit)
		}
		return nil
	}
	if ev.Type == agui.CallStart {
		if slices.Contains(run.open, run.hash(ev)) {
			// Agent Framework sends some calls twice, and clients fail at the second
			// TOOL_CALL_START
			return nil
		}
		run.begin(ev)
	}
	run.pass(ev, emit)
	return nil
}

// begin notes that a call was forwarded and has not ended. If the list is full, begin drops its
// older half.
func (run *run) begin(ev agui.Event) {
	if len(run.open) == maxOpen {
		run.open = slices.Delete(run.open, 0, maxOpen/2)
	}
	run.open = append(run.open, run.hash(ev))
}

// declaresTool reports whether the request declares the call's tool. The client then runs the call
// itself, whatever its name and its arguments are. The exception is a backend that is known to ask
// by calls of that tool.
func (run *run) declaresTool(ev agui.Event) bool {
	if len(run.r.Input.Tools) == 0 {
		return false
	}
	tool := agui.View(ev.JSON).Get("toolCallName").Str
	return run.r.Input.Declares(tool) && !run.d.owns(run.r.Pause.Dialect, tool)
}

// closes reports whether a TOOL_CALL_END belongs to a call whose TOOL_CALL_START was forwarded. If
// so, it removes the call from the list.
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

// begunCall returns the call that the event begins, as far as the event describes it. The result
// shares memory with the event.
func begunCall(ev agui.Event) agui.Call {
	if ev.Type == agui.CallEnd {
		return agui.Call{Ended: true} // a TOOL_CALL_END without its start
	}
	view := agui.View(ev.JSON)
	c := agui.Call{ID: view.Get("toolCallId").Str, Name: view.Get("toolCallName").Str}
	if ev.Type == agui.CallChunk && c.Name != "" {
		c.Args = view.Get("delta").Str
	}
	return c
}

// ask returns the dialect that claims the event, or nil. It asks the dialects about the event once
// for each held call, and then without a call.
func (run *run) ask(ev agui.Event) translate.Dialect {
	for _, h := range run.held {
		if v, one := run.askOf(ev, h.call); v == translate.Mine {
			return one
		}
	}
	return run.signer(ev)
}

// signer returns the first dialect that claims the event, or nil.
func (run *run) signer(ev agui.Event) translate.Dialect {
	for _, one := range run.d.list {
		if signer, ok := one.(translate.Signer); ok && signer.Sign(ev, run.r) {
			return one
		}
	}
	return nil
}

// askOf asks the dialects in order about the event and the call. It returns the first dialect with
// the verdict Mine. If no dialect returns Mine, the verdict is HoldToEnd or Hold if some dialect
// must see more events, and otherwise No.
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

// holding returns the held call that the event belongs to, or nil.
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

// hold handles a further event of the held call h. TOOL_CALL_END is the last event of a call, so
// the call is then released, unless a dialect can decide only at the end of the run.
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
		run.undecided = h
	}
	return nil
}

// readAfterCall handles an event that follows the TOOL_CALL_END of the undecided call. It holds the
// event, or gives the stream to the dialect that claims the call now.
func (run *run) readAfterCall(ev agui.Event, emit func(agui.Event)) error {
	h := run.undecided
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

// waiting returns all held events, in the order in which they arrived. After it no event is held.
func (run *run) waiting() []agui.Event {
	run.held, run.orphanEnd, run.undecided, run.chunk = nil, nil, nil, nil
	return run.events.ReleaseAll()
}

// release forwards the events of a held call. If the call has not ended, its end is awaited from
// then on.
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
	if run.orphanEnd == h {
		run.orphanEnd = nil
	}
	if run.undecided == h {
		run.undecided = nil
	}
}

// take gives the stream to the dialect that claimed it. The dialect's run first gets RUN_STARTED,
// which the client already has. Then it gets the held events, and then the event ev.
func (run *run) take(one translate.Dialect, ev agui.Event, emit func(agui.Event)) error {
	if err := run.claim(one); err != nil {
		return err
	}
	for _, waited := range run.waiting() {
		if err := run.claimed.Event(waited, emit); err != nil {
			return err
		}
	}
	return run.claimed.Event(ev, emit)
}

// takeEnd is take for a claim at the terminal event. It returns the events that the dialect emits
// for the held events.
func (run *run) takeEnd(one translate.Dialect) ([]agui.Event, error) {
	if err := run.claim(one); err != nil || len(run.held) == 0 {
		return nil, err
	}
	var list []agui.Event
	for _, waited := range run.waiting() {
		if err := run.claimed.Event(waited, func(ev agui.Event) { list = append(list, ev.Clone()) }); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// claim begins the run of the dialect that claimed the stream.
func (run *run) claim(one translate.Dialect) error {
	run.name = one.Name()
	if run.d.OnClaim != nil {
		run.d.OnClaim(run.name)
	}
	early := run.earlyRuns
	run.earlyRuns = nil
	for _, e := range early {
		if e.dialect == one {
			run.claimed = e.run
			return nil
		}
	}
	_, found, err := one.Begin(run.r)
	if err != nil {
		return err
	}
	run.claimed = found
	for _, b := range run.started {
		if err := found.Event(b, func(agui.Event) {}); err != nil {
			return err
		}
	}
	return nil
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	var before []agui.Event
	if run.claimed == nil && e.Event.Type.Terminal() {
		if one := run.ask(e.Event); one != nil {
			held, err := run.takeEnd(one)
			if before = append(before, held...); err != nil {
				return translate.Result{}, err
			}
		}
	}
	if run.claimed == nil {
		before = append(before, run.waiting()...)
		run.warn(e)
		return translate.Result{HeldEvents: before, Finish: e.Event}, nil
	}
	res, err := run.claimed.End(e)
	res.HeldEvents = append(before, res.HeldEvents...)
	if len(res.Asked.Interrupts) > 0 || res.Next != nil {
		res.DetectedDialect = run.name
		return res, err
	}
	run.warn(e)
	return res, err
}

// warn writes a warning if the run probably asked a question that Holdpoint cannot recognize. A
// dialect writes it only once.
func (run *run) warn(e translate.End) {
	if run.claimed == nil && run.r.Pause.Dialect == "" && run.lost.LikelyAsked(run.r, e.Event) {
		run.d.strands.Do(func() { run.d.warn(strandsapi.LostHint) })
	}
}

// note adds what the event says about the call to h.
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
