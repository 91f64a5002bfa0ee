package adk

import (
	"encoding/json"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// maxHeld bounds the events of the calls that ask. What is more goes out as it came, unless it
// holds secrets: then the run ends in an error.
const maxHeld = 8 << 20

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. It holds the calls of ADK's own protocol. A client that is
// shown the backend's own form gets everything as it comes.
type run struct {
	d      *Dialect
	r      *translate.Request
	native bool
	resume *resumed // nil in a run without answers

	held   kit.Held[string]   // by the id of the call
	asking []*asking          // the protocol calls that are held, in their order
	latest map[string]*asking // the last of each id
	full   bool               // too much was held: nothing is held any more
	talked []string           // calls of configured tools behind which something was said
	opened []string           // those behind which nothing was said yet
}

// asking is a protocol call that is held.
type asking struct {
	id, name string
	args     []byte
	twice    bool // another one has its id
}

func (a *asking) call() protocolCall {
	return protocolCall{id: a.id, name: a.name, args: string(a.args), twice: a.twice}
}

func newRun(d *Dialect, r *translate.Request) *run {
	return &run{d: d, r: r, native: r.Show == translate.ShowNative, held: kit.Held[string]{Max: maxHeld}}
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	if run.resume != nil {
		run.resume.see(ev)
	}
	switch ev.Type {
	case agui.RunStarted:
		emit(ev)
		run.resume.tell(emit)
		return nil
	case agui.CallStart:
		name := agui.View(ev.JSON).Get("toolCallName").Str
		switch {
		case run.hides(name) && run.full:
			return tooLarge()
		case isProtocolCall(name) && !run.full && ev.Valid() && !run.r.Input.Declares(name):
			a := &asking{id: ev.Get("toolCallId").Str, name: ev.Get("toolCallName").Str}
			if a.id == "" { // no answer could name it
				if run.hides(name) {
					return unreadable()
				}
				break
			}
			if first := run.latest[a.id]; first != nil {
				first.twice, a.twice = true, true
			}
			if run.latest == nil {
				run.latest = map[string]*asking{}
			}
			run.asking, run.latest[a.id] = append(run.asking, a), a
			return run.hold(a.id, ev, emit)
		case len(run.d.ask) > 0 && run.d.ask.Match(name):
			run.opened = append(run.opened, ev.Get("toolCallId").Str)
		}
	case agui.CallArgs, agui.CallEnd:
		if a := run.askingOf(ev); a != nil {
			if ev.Type == agui.CallArgs {
				a.args = append(a.args, ev.Get("delta").Str...)
			}
			return run.hold(a.id, ev, emit)
		}
	case agui.CallResult:
		if !run.native && (len(run.asking) > 0 || run.resume != nil) && run.isCredential(ev.Get("toolCallId").Str) {
			return nil
		}
	case agui.MessagesSnapshot:
		if !run.native && !run.r.Input.Declares(requestCredential) {
			ev = withoutCredentials(ev)
		}
	case agui.TextStart, agui.TextChunk:
		run.talked, run.opened = append(run.talked, run.opened...), nil
	}
	emit(ev)
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	if run.resume != nil && !run.resume.passes(t) {
		return false
	}
	switch t {
	case agui.CallStart:
		return false
	case agui.MessagesSnapshot:
		return run.native
	case agui.CallArgs, agui.CallEnd:
		return len(run.asking) == 0
	case agui.CallResult:
		return run.native || len(run.asking) == 0 && run.resume == nil
	case agui.TextStart, agui.TextChunk:
		return len(run.opened) == 0
	}
	return true
}

// askingOf is the held call that the event belongs to, nil if it belongs to none.
func (run *run) askingOf(ev agui.Event) *asking {
	if len(run.asking) == 0 || run.full {
		return nil
	}
	if a := run.latest[agui.View(ev.JSON).Get("toolCallId").Str]; a != nil && ev.Valid() {
		return a
	}
	return nil
}

// hold keeps an event of a call that asks. It returns an error if that is too much, and holds
// secrets.
func (run *run) hold(id string, ev agui.Event, emit func(agui.Event)) error {
	run.held.Add(id, ev)
	if run.native {
		emit(ev)
	}
	if run.full = run.held.Full(); run.full {
		if run.dropCredentials() > 0 {
			return tooLarge()
		}
		for _, waited := range run.held.ReleaseAll() {
			if !run.native {
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
	if e.Event.Type == agui.RunFinished && (plainEnd(e.Event) || run.announces(e.Event)) {
		res = run.asked(e.Event)
	}
	if run.dropCredentials() > 0 && e.Event.Type == agui.RunFinished {
		return res, unreadable()
	}
	for _, ev := range run.held.ReleaseAll() {
		if !run.native {
			res.Before = append(res.Before, ev)
		}
	}
	if run.resume != nil && len(res.Asked.Interrupts) == 0 {
		run.resume.end(&res, e)
	}
	return res, nil
}

// announces reports whether a RUN_FINISHED has an interrupt outcome about calls that are held. An
// agent with emit_interrupt_outcome comes to one behind a question for a value, or where the
// dialect is named.
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

// asked is the result of a run that ended, with what it asks.
func (run *run) asked(finish agui.Event) translate.Result {
	res := translate.Result{Finish: finish}
	var calls []agui.Call
	if run.r.Transcript != nil {
		calls = run.r.Transcript.Calls()
	}
	shown := make(map[string]bool, len(calls))
	for _, c := range calls {
		shown[c.ID] = c.ID != ""
	}
	isShown := func(id string) bool { return shown[id] }
	var p translate.Asked
	done := map[string]bool{}
	for _, a := range run.asking {
		question, ok := a.call().question(isShown)
		if !ok || done[a.id] {
			continue
		}
		done[a.id] = true
		p.Interrupts = append(p.Interrupts, question)
		for _, ev := range run.held.Release(a.id) {
			if run.native {
				p.Own = append(p.Own, ev.JSON)
			}
		}
	}
	var clients []string
	for _, c := range calls {
		if !c.Fresh || c.Answered || done[c.ID] {
			continue
		}
		if run.r.Input.Declares(c.Name) {
			clients = append(clients, c.ID)
			continue
		}
		k := run.d.kindOf(c, run.r)
		question, own := protocolCallOf(c).question(isShown)
		switch {
		case own: // more than can be held
			p.Interrupts = append(p.Interrupts, question)
		case k == "", k == job && (slices.Contains(run.talked, c.ID)):
			continue
		default:
			p.Interrupts = append(p.Interrupts, asks(k, c))
		}
		done[c.ID] = true
		if run.native {
			p.Own = append(p.Own, kit.CallFrames(c)...)
		}
	}
	if len(p.Interrupts) == 0 {
		return res
	}
	p.Private = agui.MustMarshal(keptOfPause{clients, !plainEnd(finish)})
	if run.native {
		p.OwnFinish, p.Shown = slices.Clone(finish.JSON), true
	}
	res.Asked, res.Finish = p, kit.WithoutOutcome(finish)
	return res
}

// keptOf is what was kept of the whole pause.
func keptOfWhole(p agui.Pause) keptOfPause {
	var k keptOfPause
	if json.Unmarshal(p.Private, &k) != nil {
		return keptOfPause{}
	}
	return k
}
