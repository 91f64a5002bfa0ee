package auto

import (
	"holdpoint/internal/agui"
	"holdpoint/translate"
)

// maxHeld bounds the frames of a held call. A call of which nobody can tell what it is by then is nobody's.
const maxHeld = 1 << 20

// A run passes a stream on until a dialect claims it.
type run struct {
	d *Dialect
	r translate.Request

	found translate.Run // nil until somebody claimed the stream
	name  string

	// How the stream began, for the dialect that will claim it: RUN_STARTED and the first STEP_STARTED, by which
	// LangGraph tells later whether a graph goes on or begins anew.
	began   []agui.Event
	stepped bool
	held    *held
	foreign translate.Announcer // Mastra's or CrewAI's announcement was seen
}

// held is the one tool call whose frames wait for a verdict.
type held struct {
	call   agui.Call
	chunks bool // it came in TOOL_CALL_CHUNKs, the later ones of which need no id
	events []agui.Event
	size   int
}

// Event implements translate.Run. Only CUSTOM events and those of tool calls are looked into.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.found != nil {
		return run.found.Event(ev, emit)
	}
	switch ev.Type {
	case agui.RunStarted:
		run.began = append(run.began, ev.Clone())
	case agui.StepStarted:
		if !run.stepped {
			run.stepped = true
			run.began = append(run.began, ev.Clone())
		}
	case agui.Custom:
		if who := translate.Announced(ev); who == translate.Mastra || who == translate.CrewAI {
			run.foreign = who
		}
		if v, one := run.ask(ev); v == translate.Mine {
			return run.take(one, ev, emit)
		}
	case agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk:
		if run.held != nil && run.held.has(ev) {
			return run.hold(ev, emit)
		}
		if ev.Type == agui.CallArgs {
			break // of a call that nobody wanted at its start
		}
		v, one := run.askOf(ev, agui.Call{})
		if v == translate.Mine {
			return run.take(one, ev, emit)
		}
		if v == translate.Hold && run.held != nil && run.held.call.Ended {
			run.release(emit) // an end without a start was held; it gives way
		}
		if v == translate.Hold && run.held == nil {
			run.held = &held{call: agui.Call{ID: ev.Get("toolCallId").Str}, chunks: ev.Type == agui.CallChunk}
			run.held.note(ev)
			run.held.add(ev)
			return nil
		}
	case agui.CallResult:
		if run.held != nil && run.held.has(ev) {
			run.release(emit)
		}
	}
	emit(ev)
	return nil
}

// ask asks about an event beside the held call, or of it.
func (run *run) ask(ev agui.Event) (translate.Verdict, translate.Dialect) {
	if run.held == nil {
		return run.askOf(ev, agui.Call{})
	}
	return run.askOf(ev, run.held.call)
}

// askOf asks the dialects in order: the first "mine", else "hold" if one of them wants to wait.
func (run *run) askOf(ev agui.Event, call agui.Call) (translate.Verdict, translate.Dialect) {
	verdict := translate.No
	for _, one := range run.d.list {
		switch one.Sign(ev, call, run.r.Transcript) {
		case translate.Mine:
			return translate.Mine, one
		case translate.Hold:
			verdict = translate.Hold
		}
	}
	return verdict, nil
}

// hold takes the next event of the held call. At its end nothing more can come that would tell.
func (run *run) hold(ev agui.Event, emit func(agui.Event)) error {
	run.held.note(ev)
	v, one := run.ask(ev)
	if v == translate.Mine {
		return run.take(one, ev, emit)
	}
	run.held.add(ev)
	if v == translate.No || ev.Type == agui.CallEnd || run.held.size > maxHeld {
		run.release(emit)
	}
	return nil
}

func (run *run) release(emit func(agui.Event)) {
	if run.held == nil {
		return
	}
	for _, ev := range run.held.events {
		emit(ev)
	}
	run.held = nil
}

// take gives the stream to the dialect that claimed it: how it began, which the client has seen already, then
// what was held, then the event at hand, unless that is the terminal one.
func (run *run) take(one translate.Dialect, ev agui.Event, emit func(agui.Event)) error {
	_, found, err := one.Begin(run.r)
	if err != nil {
		return err
	}
	run.found, run.name = found, one.Name()
	for _, b := range run.began {
		if err := found.Event(b, func(agui.Event) {}); err != nil {
			return err
		}
	}
	waiting := run.held
	run.held = nil
	if waiting != nil {
		for _, h := range waiting.events {
			if err := found.Event(h, emit); err != nil {
				return err
			}
		}
	}
	if ev.Type.Terminal() {
		return nil
	}
	return found.Event(ev, emit)
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	var before []agui.Event
	if run.found == nil && e.Event.Type.Terminal() {
		if v, one := run.ask(e.Event); v == translate.Mine {
			if err := run.take(one, e.Event, func(ev agui.Event) { before = append(before, ev) }); err != nil {
				return translate.Result{}, err
			}
		}
	}
	if run.found == nil {
		run.release(func(ev agui.Event) { before = append(before, ev) })
		run.warn(e)
		return translate.Result{Before: before, Finish: e.Event}, nil
	}
	res, err := run.found.End(e)
	res.Before = append(before, res.Before...)
	if len(res.Pause.Interrupts) > 0 {
		res.Pause.Dialect = run.name
	} else {
		run.warn(e)
	}
	return res, err
}

// warn says, once for each kind, that a pause passed which cannot be answered through Holdpoint.
func (run *run) warn(e translate.End) {
	if e.Event.Type != agui.RunFinished {
		return
	}
	switch run.foreign {
	case translate.Mastra:
		run.d.mastra.Do(func() {
			run.d.warn("Mastra pauses without the interrupt outcome: its on_interrupt event passes untouched; let it emit the outcome (1.1.0 and later do)")
		})
	case translate.CrewAI:
		run.d.crewAI.Do(func() {
			run.d.warn("CrewAI pauses without the interrupt outcome: its on_interrupt event passes untouched; set emit_interrupt_outcome")
		})
	}
}

// has says whether the event is of the held call.
func (h *held) has(ev agui.Event) bool {
	id := ev.Get("toolCallId")
	if !id.Exists() && ev.Type == agui.CallChunk {
		return h.chunks
	}
	return id.Str == h.call.ID
}

// note reads what the event tells of the call.
func (h *held) note(ev agui.Event) {
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
		h.call.Args += ev.Get("delta").Str
	}
}

func (h *held) add(ev agui.Event) {
	h.events = append(h.events, ev.Clone())
	h.size += len(ev.JSON) + len(ev.Frame)
}
