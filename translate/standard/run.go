package standard

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// maxHeld is the maximum number of bytes that are held after an announcement. A backend announces
// at the end of a run. If the run goes on longer, the event meant something else.
const maxHeld = 1 << 20

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. The outcome is in the terminal event. Some backends (Mastra,
// CrewAI) also announce the pause by an earlier CUSTOM on_interrupt, with the outcome or without
// it. No client may get a question before it is saved. So the run holds that event and all events
// after it, to keep their order.
type run struct {
	d            *Dialect           // set on a resume
	plain        *translate.Request // the request of an ordinary run; nil if the exchange follows the answers
	resume       *translate.Request // the request of a resume; New are the messages that were not sent with the answers
	ifEnded      bool               // the messages in left.New are sent in another exchange only if the backend ended its turn
	started      bool               // the stream had RUN_STARTED
	streamed     bool               // the stream had another event
	backendActed bool               // the stream had an event that is not RUN_STARTED or a step
	awaits       awaitedResults
	chain        *chain // of answers that are sent one by one, or nil
	suspends     suspendedRuns
	calls        *callWatch // nil if no call of this exchange can ask

	held        kit.HeldEvents[heldKind] // the events from the first announcement on
	asked       kit.AskedQuestions       // counts the announcements
	heldTooMuch bool                     // too much followed the announcement: only announcements are still held
}

// heldKind is the kind of a held event.
type heldKind int

const (
	announcement heldKind = iota
	follower
)

func newRun() *run { return &run{held: kit.HeldEvents[heldKind]{Max: maxHeld}} }

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	switch ev.Type {
	case agui.RunStarted:
		run.started = true
	case agui.StepStarted, agui.StepFinished:
		run.streamed = true
	default:
		run.streamed, run.backendActed = true, true
	}
	run.awaits.remove(ev)
	run.calls.observe(ev)
	switch who := kit.Announced(ev); {
	case who == kit.Mastra, who == kit.CrewAI:
		if err := run.asked.Add(len(ev.JSON)); err != nil {
			return err
		}
		run.held.Add(announcement, ev)
		return nil
	case run.heldTooMuch, who == kit.NoDialect && run.held.Empty():
		emit(ev)
		return nil
	}
	run.held.Add(follower, ev)
	if run.held.Full() {
		run.heldTooMuch = true
		for _, h := range run.held.Release(follower) {
			emit(h)
		}
	}
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	if !run.backendActed {
		return false
	}
	if t == agui.CallResult && len(run.awaits) > 0 {
		return false
	}
	return t != agui.Custom && (run.heldTooMuch || run.held.Empty()) && run.calls.passes(t)
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	held := run.held.ReleaseAll()
	switch e.Event.Type {
	case agui.RunFinished:
		if hasInterrupts(e.Event) {
			res = paused(e.Event)
		} else if announced := run.announcedPause(e.Event, held); len(announced.Asked.Interrupts) > 0 {
			res = announced
		}
		switch {
		case len(res.Asked.Interrupts) > 0: // a call that was approved may get its result later
		case len(run.awaits) > 0:
			res = translate.Result{Fate: run.withoutResult(e.Event)}
		case run.chain != nil && len(run.chain.unsent) > 0: // the chain continues
		case run.resume != nil && len(run.resume.NewMessages) > 0 && (!run.ifEnded || run.endedTurn(e.Event)):
			res.Next = run.d.extraExchange(run.resume)
		}
	case agui.RunErrored:
		if run.resume != nil {
			res = run.endRefused(e.Event)
		} else if asked, waits := run.lostQuestion(e.Event); waits {
			res = asked
		}
	}
	for _, h := range held {
		who := kit.Announced(h)
		if who == kit.Mastra {
			res.Backend = mastra
		}
		if len(res.Asked.Interrupts) > 0 && who != kit.NoDialect {
			res.Asked.NativeEvents = append(res.Asked.NativeEvents, run.suspends.shownAnnouncement(h, run.show()))
		} else {
			res.HeldEvents = append(res.HeldEvents, h)
		}
	}
	if run.chain != nil {
		res = run.chain.afterExchange(run.d, res, e, run.resume)
	}
	return res, nil
}

// show returns how the pause is reported to the client.
func (run *run) show() translate.Show {
	switch {
	case run.plain != nil:
		return run.plain.Show
	case run.resume != nil:
		return run.resume.Show
	}
	return translate.ShowOutcome
}

// endedTurn reports whether a cancel ended the turn that waited.
func (run *run) endedTurn(finish agui.Event) bool {
	return !run.backendActed && agui.View(finish.JSON).Get("outcome.type").Str == "cancelled"
}

// hasInterrupts reports whether a RUN_FINISHED has interrupts.
func hasInterrupts(finish agui.Event) bool {
	for range kit.Interrupts(finish) {
		return true
	}
	return false
}

// paused returns the end of a run that asks by its outcome.
func paused(finish agui.Event) translate.Result {
	asked, backend := translate.AskedPause{NativeFinish: slices.Clone(finish.JSON)}, ""
	for i := range kit.Interrupts(agui.NewEvent(asked.NativeFinish)) {
		one, of := question(i)
		if of != "" {
			backend = of
		}
		asked.Interrupts = append(asked.Interrupts, one)
	}
	return translate.Result{Finish: kit.WithoutOutcome(finish), Asked: asked, Backend: backend}
}

// question returns an interrupt as it is stored, and its backend if later runs need it.
func question(i gjson.Result) (one agui.Interrupt, backend string) {
	native, o := i.Get("id").Str, object(i)
	of := profileOf(native, i)
	if schema := of.schema; schema != "" && !agui.View(o).Get("responseSchema").Exists() {
		o = agui.SetKey(o, "responseSchema", []byte(schema))
	}
	if of.message != nil && i.Get("message").Str == "" {
		o = agui.SetString(o, "message", of.message(i))
	}
	minted := of.isMinted(native, i)
	if of.ownRuns && !minted {
		backend = mastra
	}
	yes, no := of.words()
	return agui.Interrupt{
		Native: native, Object: o, Yes: yes, No: no,
		// Another Holdpoint behind this one has already left out the call if needed.
		CallUnseen: (of.hidesCall || i.Get("subagentRunId").Exists()) && !minted,
		CancelOnly: i.Get("reason").Str == kit.ReasonLost && minted, // the lost question of another Holdpoint behind this one
	}, backend
}

// object returns the interrupt in the form for the client, without its id. Every value keeps its
// bytes.
func object(i gjson.Result) []byte {
	o := kit.WithoutMembers(i, "id")
	if agui.View(o).Get("reason").Type != gjson.String { // all clients fail at a reason that is not a text
		o = agui.SetString(o, "reason", reasonDefault)
	}
	return o
}
