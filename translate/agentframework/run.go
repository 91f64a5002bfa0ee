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

// A run translates one exchange. It removes the events with which the framework asks a question,
// and repairs events at which clients fail.
type run struct {
	d *Dialect
	r *translate.Request
	// showsNative is true if the client gets the stream unchanged. The run then only reads the
	// events.
	showsNative bool

	started      bool      // RUN_STARTED was received
	hasEvents    bool      // an event other than RUN_STARTED was received
	thread       string    // the backend's id of the thread
	openCalls    openItems // calls that have begun and not ended
	openTexts    openItems // texts that have begun and not ended
	asks         []ask
	askAt        map[string]int            // the index of each ask by its id
	asking       kit.AskedQuestions        // counts the bytes of the events that asked
	tooMany      error                     // the error that aborts the run if it asks too much
	removedCalls map[string]bool           // ids of calls that were removed from the stream
	held         []*heldCall               // calls that the framework may have made up to ask
	events       kit.HeldEvents[*heldCall] // the events of the held calls
	loneEnd      agui.Event                // a TOOL_CALL_END without its start; settleLone decides about it
	dotnet       aguiserver.Stream
	isHost       bool // the stream is known to be the .NET host's

	// the removed events, for a client that gets the stream unchanged
	removedEvents []json.RawMessage

	answered      *answeredExchange // the state of a resume; nil in other runs
	extraMessages []agui.Message    // new messages that the resume before this run could not send
	sorted        bool              // extraMessages follow the results in the client's list

	// calls has hashes of the ids of all calls whose TOOL_CALL_START was forwarded. They are hashes
	// because a stream may have many calls. The transcript has the same calls, and lacks those that
	// are still held.
	calls map[uint64]struct{}
}

func newRun(d *Dialect, r *translate.Request) *run {
	return &run{d: d, r: r, showsNative: r.Show == translate.ShowNative, askAt: map[string]int{}, removedCalls: map[string]bool{},
		calls: map[uint64]struct{}{}, events: kit.HeldEvents[*heldCall]{Max: maxHeld}}
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.tooMany != nil {
		return run.tooMany
	}
	run.hasEvents = run.hasEvents || ev.Type != agui.RunStarted
	if run.showsNative {
		emit(ev)
		emit = func(agui.Event) {}
	}
	if run.answered != nil && ev.Type != agui.RunStarted {
		run.answered.hasContent = run.answered.hasContent || ev.Type != agui.Custom
		run.answered.tellHistory(emit)
		run.answered.tellDenied(emit)
	}
	if len(run.extraMessages) > 0 && ev.Type != agui.RunStarted && !run.sorted {
		run.sorted = true
		emitSorted(run.r, run.extraMessages, nil, emit)
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
		if run.noteRepeatedCall(ev) || run.isOpenAlready(ev) || run.hold(ev) {
			return nil
		}
	case agui.CallArgs, agui.CallEnd:
		if run.noteRepeatedCall(ev) || run.handleHeld(ev, emit) {
			return nil
		}
	case agui.TextStart:
		if ev.Valid() {
			run.isHost = run.isHost || aguiserver.IsHostText(ev)
			run.openTexts.begin(agui.View(ev.JSON).Get("messageId").String())
		}
	case agui.TextEnd:
		if ev.Valid() {
			run.openTexts.end(agui.View(ev.JSON).Get("messageId").Str)
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

// Passes implements translate.Passer. Every event of a call must be read, because the .NET host
// asks in the rawEvent of any of them.
func (run *run) Passes(t agui.Type) bool {
	switch {
	case !run.hasEvents, run.loneEnd.Type != agui.Unknown:
		return false
	case len(run.extraMessages) > 0 && !run.sorted, run.answered != nil && !run.answered.passes(t):
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

// pass sends the event to the client, and notes which calls and texts it begins or ends.
func (run *run) pass(ev agui.Event, emit func(agui.Event)) {
	switch ev.Type {
	case agui.CallStart:
		id := agui.View(ev.JSON).Get("toolCallId").String()
		run.openCalls.begin(id)
		run.calls[maphash.String(run.d.seed, id)] = struct{}{}
		run.dotnet.Note(ev)
	case agui.CallEnd:
		run.openCalls.end(agui.View(ev.JSON).Get("toolCallId").Str)
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

// noteRepeatedCall reports whether the event belongs to a call that the .NET host sends a second
// time. If so, it notes the event.
func (run *run) noteRepeatedCall(ev agui.Event) bool {
	if !run.dotnet.Repeats(ev) {
		return false
	}
	run.dotnet.Note(ev)
	return true
}

// custom handles a CUSTOM event. It returns true if the event asks a question, and so must not be
// forwarded.
func (run *run) custom(ev agui.Event, emit func(agui.Event)) bool {
	a, ok := readCustom(ev)
	switch {
	case !ok && agui.View(ev.JSON).Get("name").Str == "WorkflowInterruptEvent" && ev.Valid() && run.asksRequest():
		// The WorkflowInterruptEvent repeats the question as a text.
	case !ok:
		return false
	case run.asked(a.ID) == nil:
		if a.Kind == approval && !run.hasCall(a.Call) {
			a.Hosted = true
			run.tellCall(a, emit)
		}
		run.ask(a)
	case a.Kind == request:
		run.asked(a.ID).about = slices.Clone(a.about) // the request_info call was received first
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

// ask adds a question. Its id must be new.
func (run *run) ask(a ask) {
	run.askAt[a.ID] = len(run.asks)
	run.asks = append(run.asks, a)
}

func (run *run) asksRequest() bool {
	return slices.ContainsFunc(run.asks, func(a ask) bool { return a.Kind == request })
}

// drop keeps an event that was removed from the stream, if the client gets the stream unchanged.
func (run *run) drop(ev agui.Event) {
	if run.showsNative {
		run.removedEvents = append(run.removedEvents, slices.Clone(ev.JSON))
	}
}

// hasCall reports whether the client has a tool call.
func (run *run) hasCall(id string) bool { return run.hasPassed(id) || run.transcriptCall(id) != nil }

func (run *run) hasPassed(id string) bool {
	_, here := run.calls[maphash.String(run.d.seed, id)]
	return here
}

// transcriptCall returns the call of the transcript that has this id, or nil.
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
	if run.showsNative {
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
		// A resumed workflow of 1.0.0rc7 to 1.0.1 sends TEXT_MESSAGE_END only after the end of the
		// run (RAN). So Holdpoint ends the texts itself.
		for _, id := range run.openTexts.ids {
			say(agui.MakeEvent(agui.TextEnd, "messageId", string(id)))
		}
	}
	if a := run.answered; a != nil && !run.showsNative && a.strandsMessages(res) {
		before = sortedAtEnd(run.r, before)
	}
	if res.HeldEvents = append(before, res.HeldEvents...); run.isHost {
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
		if asked, waits := run.lostQuestion(e.Event); waits {
			return asked
		}
	}
	if e.Event.Type == agui.RunFinished {
		if len(run.asks) == 0 && !speaksOutcome(e.Event) { // the Python package did not ask
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
