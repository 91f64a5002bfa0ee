package agentframework

import (
	"encoding/json"
	"hash/maphash"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/agentframework/internal/aguiserver"
	"holdpoint/translate/kit"
)

var _ translate.Passer = (*run)(nil)

// A run translates one exchange: it takes out of the stream by what the framework asks, and repairs
// what clients fail on.
type run struct {
	d *Dialect
	r *translate.Request
	// native: the client is shown all as it comes, and what is taken out here is only read.
	native bool

	started bool      // RUN_STARTED came
	worked  bool      // anything else came
	thread  string    // the backend's name of it
	begun   openItems // calls whose START has passed
	texts   openItems // messages
	asks    []ask
	askAt   map[string]int            // where each is, by its id
	asking  kit.AskedQuestions        // by the events of these
	tooMany error                     // it was more than can be asked: the run is given up
	gone    map[string]bool           // calls that were taken out
	held    []*heldCall               // calls that may be synthetic
	events  kit.HeldEvents[*heldCall] // their events
	lone    agui.Event                // an END whose START never came: the next event says what it is
	dotnet  aguiserver.Stream
	isHost  bool // the stream is of the .NET host, which is known before it asks

	taken []json.RawMessage // what was taken out, for a client that was shown it

	answered *answeredExchange // on a resume
	beside   []agui.Message    // those that this run brings, after a resume that could not
	sorted   bool              // and the client has them behind what was approved

	// calls are those whose START has passed, by a hash of their ids: a stream may have many. The
	// transcript has most of them, but not those that wait.
	calls map[uint64]struct{}
}

func newRun(d *Dialect, r *translate.Request) *run {
	return &run{d: d, r: r, native: r.Show == translate.ShowNative, askAt: map[string]int{}, gone: map[string]bool{},
		calls: map[uint64]struct{}{}, events: kit.HeldEvents[*heldCall]{Max: maxHeld}}
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.tooMany != nil {
		return run.tooMany
	}
	run.worked = run.worked || ev.Type != agui.RunStarted
	if run.native {
		emit(ev)
		emit = func(agui.Event) {}
	}
	if run.answered != nil && ev.Type != agui.RunStarted {
		run.answered.streamed = run.answered.streamed || ev.Type != agui.Custom
		run.answered.tellHistory(emit)
		run.answered.tellDenied(emit)
	}
	if len(run.beside) > 0 && ev.Type != agui.RunStarted && !run.sorted {
		run.sorted = true
		sortedBeside(run.r, run.beside, nil, emit)
	}
	direct := emit
	if run.answered != nil {
		emit = run.answered.emitBehindResults(direct)
	}
	run.settleLone(ev, emit)
	switch ev.Type {
	case agui.RunStarted:
		if ev.Valid() {
			run.started = true
			run.thread = ev.Get("threadId").String()
		}
	case agui.Custom:
		if run.custom(ev, emit) {
			return nil
		}
	case agui.CallStart:
		if run.noteRepeatedCall(ev) || run.repeats(ev) || run.hold(ev) {
			return nil
		}
	case agui.CallArgs, agui.CallEnd:
		if run.noteRepeatedCall(ev) || run.holding(ev, emit) {
			return nil
		}
	case agui.TextStart:
		if ev.Valid() {
			run.isHost = run.isHost || aguiserver.Tells(ev)
			run.texts.begin(agui.View(ev.JSON).Get("messageId").String())
		}
	case agui.TextEnd:
		if ev.Valid() {
			run.texts.end(agui.View(ev.JSON).Get("messageId").Str)
		}
	case agui.MessagesSnapshot:
		if ev.Valid() {
			var show bool
			if ev, show = run.snapshot(ev, direct); !show {
				return nil
			}
		}
	}
	run.pass(ev, emit)
	return nil
}

// Passes implements translate.Passer. Every event of a call that has arguments is looked into, for
// the .NET host says in rawEvent what it asks.
func (run *run) Passes(t agui.Type) bool {
	switch {
	case !run.worked, run.lone.Type != agui.Unknown:
		return false
	case len(run.beside) > 0 && !run.sorted, run.answered != nil && !run.answered.passes(t):
		return false
	}
	switch t {
	case agui.RunStarted, agui.Custom, agui.MessagesSnapshot, agui.TextStart, agui.TextEnd, agui.CallStart, agui.CallArgs, agui.CallEnd:
		return false
	case agui.CallResult:
		return run.answered == nil && run.dotnet.Passes(t)
	}
	return true
}

// pass lets an event through.
func (run *run) pass(ev agui.Event, emit func(agui.Event)) {
	switch ev.Type {
	case agui.CallStart:
		id := agui.View(ev.JSON).Get("toolCallId").String()
		run.begun.begin(id)
		run.calls[maphash.String(run.d.seed, id)] = struct{}{}
		run.dotnet.Note(ev)
	case agui.CallEnd:
		run.begun.end(agui.View(ev.JSON).Get("toolCallId").Str)
		run.dotnet.Note(ev)
	case agui.CallArgs, agui.CallChunk:
		run.dotnet.Note(ev)
	case agui.CallResult:
		run.dotnet.Note(ev)
		if run.answered != nil && run.answered.result(ev) {
			return
		}
	}
	emit(ev)
}

// noteRepeatedCall notes an event of a call that the .NET host tells again, and reports whether it
// is one.
func (run *run) noteRepeatedCall(ev agui.Event) bool {
	if !run.dotnet.Repeats(ev) {
		return false
	}
	run.dotnet.Note(ev)
	return true
}

// custom takes a CUSTOM event out that asks.
func (run *run) custom(ev agui.Event, emit func(agui.Event)) bool {
	a, ok := readCustom(ev)
	switch {
	case !ok && agui.View(ev.JSON).Get("name").Str == "WorkflowInterruptEvent" && ev.Valid() && run.asksRequest():
		// The question again, as text.
	case !ok:
		return false
	case run.asked(a.ID) == nil:
		if a.Kind == approval && !run.knows(a.Call) {
			a.Hosted = true
			run.tellCall(a, emit)
		}
		run.ask(a)
	case a.Kind == request:
		run.asked(a.ID).about = slices.Clone(a.about) // its call came first
	}
	run.tooMany = run.asking.Add(len(ev.JSON))
	run.drop(ev)
	return true
}

func (run *run) asked(id string) *ask {
	at, ok := run.askAt[id]
	if !ok {
		return nil
	}
	return &run.asks[at]
}

// ask adds a question whose id is new.
func (run *run) ask(a ask) {
	run.askAt[a.ID] = len(run.asks)
	run.asks = append(run.asks, a)
}

func (run *run) asksRequest() bool {
	return slices.ContainsFunc(run.asks, func(a ask) bool { return a.Kind == request })
}

// drop keeps what is taken out for a client that was shown it, in case it asks again.
func (run *run) drop(ev agui.Event) {
	if run.native {
		run.taken = append(run.taken, slices.Clone(ev.JSON))
	}
}

// knows reports whether the client has seen a tool call.
func (run *run) knows(id string) bool { return run.passed(id) || run.transcriptCall(id) != nil }

func (run *run) passed(id string) bool {
	_, here := run.calls[maphash.String(run.d.seed, id)]
	return here
}

// transcriptCall returns the call as the transcript has it, nil if it does not.
func (run *run) transcriptCall(id string) *agui.Call {
	if run.r.Transcript != nil {
		if c, ok := agui.CallOf(run.r.Transcript, id); ok {
			return &c
		}
	}
	return nil
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	var before []agui.Event
	keep := func(ev agui.Event) { before = append(before, ev.Clone()) }
	if run.native {
		keep = func(agui.Event) {}
	}
	say := keep
	if run.answered != nil {
		say = run.answered.emitBehindResults(keep)
	}
	run.settleLone(agui.Event{}, say)
	for len(run.held) > 0 {
		run.release(run.held[0], say)
	}
	res := run.ended(e, keep)
	if run.answered != nil && res.Next == nil {
		run.answered.release(keep)
	}
	if len(res.Asked.Interrupts) == 0 && (e.Event.Type == agui.RunFinished || res.Next != nil) {
		// A resumed workflow of 1.0.0rc7 to 1.0.1 ends its text behind the end of the run (RAN).
		for _, id := range run.texts.ids {
			say(textEnd(string(id)))
		}
	}
	if a := run.answered; a != nil && !run.native && a.untaken(res) {
		before = sortedAtEnd(run.r, before)
	}
	if res.Before = append(before, res.Before...); run.isHost {
		res.Backend = aguiserver.Backend
	}
	return res, nil
}

func (run *run) ended(e translate.End, keep func(agui.Event)) translate.Result {
	if e.Event.Type == agui.RunFinished {
		if asked, clean, ok := run.dotnet.Paused(run.r, e.Event); ok {
			asked.Interrupts = withKeys(asked.Interrupts)
			return translate.Result{Finish: clean, Asked: asked, Backend: aguiserver.Backend}
		}
	}
	if run.answered != nil {
		return run.endResumed(e, keep)
	}
	res := translate.Result{Finish: e.Event}
	if e.Event.Type == agui.RunErrored {
		if asked, waits := run.waits(e.Event); waits {
			return asked
		}
	}
	if e.Event.Type == agui.RunFinished {
		if len(run.asks) == 0 && !speaksOutcome(e.Event) { // none of Python's
			if asked, clean, ok := aguiserver.Inputs(run.r, e.Event); ok {
				asked.Interrupts = withKeys(asked.Interrupts)
				return translate.Result{Finish: clean, Asked: asked, Backend: aguiserver.Backend}
			}
		}
		if run.asksTooOld(e.Event) {
			return run.refuseTooOld(e.Event, keep)
		}
		if list, k := run.open(e.Event); len(list) > 0 {
			return run.paused(list, k, e.Event)
		}
	}
	return res
}

func textEnd(id string) agui.Event {
	return agui.NewEvent(agui.MustMarshal(struct {
		Type agui.Type `json:"type"`
		ID   string    `json:"messageId"`
	}{agui.TextEnd, id}))
}
