package standard

import (
	"slices"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// maxHeld is the maximum number of bytes of the events that are held after an announcement. A
// backend announces a question at the end of a run. If many events follow, the event did not
// announce a question.
const maxHeld = 1 << 20

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. The outcome is in the terminal event. Some backends (Mastra,
// CrewAI) also announce the pause by an earlier CUSTOM on_interrupt event, with or without an
// outcome. No client may get a question before it is saved. So the run holds that event and all
// events after it, to keep their order.
type run struct {
	d *Dialect // set on a resume
	// plain is the request of an ordinary run. It is nil on a resume and in its further exchanges.
	plain        *translate.Request
	resume       *translate.Request // a resume's request; its NewMessages are not sent yet
	ifEnded      bool               // resume.NewMessages are sent only if the backend ended its turn
	started      bool               // the stream had RUN_STARTED
	streamed     bool               // the stream had an event other than RUN_STARTED
	backendActed bool               // the stream had an event other than RUN_STARTED and steps
	awaits       awaitedResults
	chain        *chain // if answers are sent one by one; otherwise nil
	suspends     suspendedRuns
	calls        *callWatch // nil if calls are not questions here

	held        kit.HeldEvents[heldKind] // the first announcement and the events after it
	asked       kit.AskedQuestions       // limits the number and size of the announcements
	heldTooMuch bool                     // held became full; only announcements are still held
}

// heldKind is the kind of a held event: an announcement of a question, or an event that follows
// one.
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
		case len(res.Asked.Interrupts) > 0:
			// An approved call may get its result after this question is answered.
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

// show returns the form in which the client is shown a pause.
func (run *run) show() translate.Show {
	switch {
	case run.plain != nil:
		return run.plain.Show
	case run.resume != nil:
		return run.resume.Show
	}
	return translate.ShowOutcome
}

// endedTurn reports whether the run only ended the waiting turn, because of a cancel.
func (run *run) endedTurn(finish agui.Event) bool {
	return !run.backendActed && agui.View(finish.JSON).Get("outcome.type").Str == "cancelled"
}

// hasInterrupts reports whether the outcome of a RUN_FINISHED has interrupts.
func hasInterrupts(finish agui.Event) bool {
	for range kit.Interrupts(finish) {
		return true
	}
	return false
}

// paused returns the result of a run that asks by the outcome of its RUN_FINISHED.
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

// question returns an interrupt of a backend as Holdpoint stores it. backend is the name of the
// backend if later runs need it, or "".
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
		// If another Holdpoint between this one and the backend made the question, it has already
		// handled calls that the stream does not show.
		CallUnseen: (of.hidesCall || i.Get("subagentRunId").Exists()) && !minted,
		// A lost question of another Holdpoint can only be cancelled.
		CancelOnly: i.Get("reason").Str == kit.ReasonLost && minted,
	}, backend
}

// object returns the interrupt in the form for the client, without its id. It adds a reason if none
// is there. Every other value keeps its bytes.
func object(i gjson.Result) []byte {
	o := kit.WithoutMembers(i, "id")
	if agui.View(o).Get("reason").Type != gjson.String { // clients fail if reason is not a text
		o = agui.SetString(o, "reason", reasonDefault)
	}
	return o
}
