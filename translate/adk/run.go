package adk

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// maxHeld bounds the bytes of held events. Beyond it the dialect sends all held events to the
// client unchanged. But if one of them has secrets, the run ends with an error instead.
const maxHeld = 8 << 20

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. It holds the events of ADK's own calls until it knows whether they
// become questions. A client with HOLDPOINT_CLIENT=native gets all events unchanged.
type run struct {
	calls.Run
	d *Dialect

	held            kit.HeldEvents[string] // keyed by the call's id
	asking          []*heldCall            // the held calls, in order of their start
	latest          map[string]*heldCall   // call id → the last held call with this id
	full            bool                   // maxHeld was exceeded, so the run holds no more events
	callsBeforeText []string               // ids of calls of configured tools that text followed
	openToolCalls   []string               // ids of calls of configured tools that no text has followed yet
	started         bool                   // RUN_STARTED was received
}

// A heldCall is one of ADK's own calls whose events are held.
type heldCall struct {
	id, name string
	args     []byte
	half     rune // see agui.AppendPiece, for args
	twice    bool // another call has the same id
}

func (d *Dialect) newRun(begun calls.Run) *run {
	return &run{Run: begun, d: d, held: kit.HeldEvents[string]{Max: maxHeld}}
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.Answered != nil {
		run.Note(ev)
		run.started = run.started || ev.Type == agui.RunStarted
		run.BackendActed = run.BackendActed || ev.Type != agui.RunStarted
	}
	switch ev.Type {
	case agui.CallStart:
		name := agui.View(ev.JSON).Get("toolCallName").Str
		switch {
		case run.hidesSecrets(name) && run.full:
			return tooLarge()
		case isProtocolCall(name) && !run.full && ev.Valid() && !run.Request.Input.Declares(name):
			a := &heldCall{id: ev.Get("toolCallId").Str, name: ev.Get("toolCallName").Str}
			if a.id == "" { // without an id, an answer could not name the call
				if run.hidesSecrets(name) {
					return unreadableError()
				}
				break
			}
			if first := run.latest[a.id]; first != nil {
				first.twice, a.twice = true, true
			}
			if run.latest == nil {
				run.latest = map[string]*heldCall{}
			}
			run.asking, run.latest[a.id] = append(run.asking, a), a
			return run.hold(a.id, ev, emit)
		case len(run.d.ask) > 0 && run.d.ask.Match(name):
			run.openToolCalls = append(run.openToolCalls, ev.Get("toolCallId").Str)
		}
	case agui.CallArgs, agui.CallEnd:
		if a := run.askingOf(ev); a != nil {
			if ev.Type == agui.CallArgs {
				a.args = agui.AppendPiece(a.args, agui.View(ev.JSON).Get("delta").Raw, &a.half)
			}
			return run.hold(a.id, ev, emit)
		}
	case agui.CallResult:
		if !run.Native && (len(run.asking) > 0 || run.Answered != nil) && run.isCredential(ev.Get("toolCallId").Str) {
			return nil
		}
	case agui.MessagesSnapshot:
		if !run.Native && !run.Request.Input.Declares(requestCredential) {
			ev = withoutCredentials(ev)
		}
	case agui.TextStart, agui.TextChunk:
		run.callsBeforeText, run.openToolCalls = append(run.callsBeforeText, run.openToolCalls...), nil
	}
	if run.Answered == nil {
		emit(ev)
	} else {
		run.Emit(ev, emit)
	}
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	if run.Answered != nil && !run.BackendActed || !run.PassesEmit(t) {
		return false
	}
	switch t {
	case agui.CallStart:
		return false
	case agui.MessagesSnapshot:
		return run.Native
	case agui.CallArgs, agui.CallEnd:
		return len(run.asking) == 0
	case agui.CallResult:
		return run.Native || len(run.asking) == 0 && run.Answered == nil
	case agui.TextStart, agui.TextChunk:
		return len(run.openToolCalls) == 0
	}
	return true
}

// askingOf returns the held call that the event ev belongs to, or nil.
func (run *run) askingOf(ev agui.Event) *heldCall {
	if len(run.asking) == 0 || run.full {
		return nil
	}
	if a := run.latest[agui.View(ev.JSON).Get("toolCallId").Str]; a != nil && ev.Valid() {
		return a
	}
	return nil
}

// hold holds the event ev of the call id. If the held events then exceed maxHeld, hold sends all of
// them to the client. If they contain secrets, it returns an error instead.
func (run *run) hold(id string, ev agui.Event, emit func(agui.Event)) error {
	run.held.Add(id, ev)
	if run.Native {
		emit(ev)
	}
	if run.full = run.held.Full(); run.full {
		if run.dropCredentials() > 0 {
			return tooLarge()
		}
		for _, waited := range run.held.ReleaseAll() {
			if !run.Native {
				emit(waited)
			}
		}
		run.asking, run.latest = nil, nil
	}
	return nil
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	if e.Event.Type == agui.RunFinished && (calls.PlainEnd(e.Event) || run.announces(e.Event)) {
		res = run.asked(e.Event)
	}
	if run.dropCredentials() > 0 && e.Event.Type == agui.RunFinished {
		return res, unreadableError()
	}
	for _, ev := range run.held.ReleaseAll() {
		if !run.Native {
			res.HeldEvents = append(res.HeldEvents, ev)
		}
	}
	run.setFate(&res, e)
	return res, nil
}

// setFate sets in res what became of the answers that the run sent. A run without events means that
// ADK did not accept them. The exception is 0.6.5 at an answer to confirm_changes: it then sends a
// run without events, or nothing at all, although it accepted the answer.
func (run *run) setFate(res *translate.Result, e translate.End) {
	if run.Answered == nil || run.BackendActed || len(res.Asked.Interrupts) > 0 {
		run.SetFate(res, e)
		return
	}
	onlyChanges := !slices.ContainsFunc(run.Answered.Kinds, func(k *kind) bool { return k != changes })
	switch e.Event.Type {
	case agui.Unknown:
		if onlyChanges && !run.started && !e.Cut && e.Status == 0 && !e.None {
			res.Finish = agui.FinishedEvent(run.Request.Input.ThreadID, run.Request.Input.RunID)
		}
	case agui.RunFinished:
		if res.Fate = translate.Lost; onlyChanges {
			res.Fate = translate.Finished
			run.SetFate(res, e)
		}
	default:
		run.SetFate(res, e)
	}
}

// announces reports whether the interrupt outcome of a RUN_FINISHED is only about held calls. The
// runs of an agent with emit_interrupt_outcome reach this dialect if the operator set the dialect,
// or after a question for a value.
func (run *run) announces(finish agui.Event) bool {
	if !finish.Valid() || len(run.asking) == 0 {
		return false
	}
	about := false
	for i := range kit.Interrupts(finish) {
		if about = run.latest[i.Get("id").Str] != nil; !about {
			return false
		}
	}
	return about
}

// asked returns the result of a run that ended with the event finish, with the questions of the
// run.
func (run *run) asked(finish agui.Event) translate.Result {
	var hidden []calls.HiddenCall
	for _, a := range run.asking {
		hidden = append(hidden, calls.HiddenCall{
			Call: agui.Call{ID: a.id, Name: a.name, Args: string(a.args)}, Repeated: a.twice,
			Frames: func() []agui.Event { return run.held.Release(a.id) },
		})
	}
	return run.Ask(finish, hidden, func(c agui.Call, k *kind) bool { return k == job && slices.Contains(run.callsBeforeText, c.ID) })
}
