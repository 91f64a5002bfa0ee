package calls

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

var _ translate.Passer = (*Run)(nil)

// A Run translates one exchange. A dialect that needs more wraps it in a run of its own, which
// calls Note and Emit for each event of a run with answers, Ask at a plain end, and SetFate at
// every end.
type Run struct {
	Table    *Table
	Request  *translate.Request
	Native   bool           // the client is shown the backend's own form
	Answered *AnsweredCalls // nil in a run without answers

	OpenCalls           CallCounts
	BackendActed        bool // the backend has done something, so its error tells nothing about the answers
	ResultsProveNothing bool // a missing result does not prove that a call did not run
	sent                bool
	sender              resultSender
	results             []string
}

// New returns the run of an exchange without answers.
func (t *Table) New(r *translate.Request) Run {
	return Run{Table: t, Request: r, Native: r.Show == translate.ShowNative}
}

func (t *Table) wrapped(run Run) translate.Run {
	if t.Wrap == nil {
		return &run
	}
	return t.Wrap(run)
}

// Begin implements translate.Dialect.
func (t *Table) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	out, run, err := t.Start(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	return out, t.wrapped(run), nil
}

// Start returns the request of a run, and the run. A run without answers passes unchanged, except
// for calls that an earlier pause has left without results.
func (t *Table) Start(r *translate.Request) (translate.Out, Run, error) {
	in := r.Input
	if t.withoutOldCalls != nil {
		in = t.withoutOldCalls(r)
	}
	if r.Pause.ID == "" {
		out := translate.Out{}
		if len(in.Raw) != len(r.Input.Raw) {
			out.Body = in.Raw
		}
		return out, t.New(r), nil
	}
	r = r.With(in, r.NewMessages)
	a, err := t.answer(r)
	if err != nil {
		return translate.Out{}, Run{}, err
	}
	run := t.New(r.With(in, a.OtherMessages))
	run.Answered = a
	if t.Resume == Last && !run.Native {
		run.sender = resultSender{a, kit.CallsOf(a.Replies)}
	}
	return translate.Out{Body: body(in, t.Messages(r, a)), Resumes: true, TakesNew: len(r.NewMessages) > 0, UnsentMessages: a.OtherMessages}, run, nil
}

// Note records an event. It does nothing for an event that Passes.
func (run *Run) Note(ev agui.Event) {
	if run.Answered != nil && ev.Type == agui.CallResult {
		run.noteResult(ev)
	}
}

func (run *Run) noteResult(ev agui.Event) {
	run.BackendActed = true
	run.results = append(run.results, ev.Get("toolCallId").Str)
}

// Emit emits an event of a run with answers, and the results that the backend does not send.
func (run *Run) Emit(ev agui.Event, emit func(agui.Event)) {
	run.sender.beforeEvent(ev, emit)
	emit(ev)
	if ev.Type != agui.RunStarted || run.Native || run.sent {
		return
	}
	run.sent = true
	for n, reply := range run.Answered.Replies {
		if told := run.Answered.Kinds[n].Results; told == Always || told == Denials && run.Answered.Denied[n] {
			emit(reply.Event())
		}
	}
}

// UnsentResults returns the answers that were not sent when the run ended.
func (run *Run) UnsentResults() []agui.Event { return run.sender.unsentAnswers() }

// Event implements translate.Run.
func (run *Run) Event(ev agui.Event, emit func(agui.Event)) error {
	run.OpenCalls.Note(ev)
	if run.Answered == nil {
		emit(ev)
		return nil
	}
	run.Note(ev)
	run.Emit(ev, emit)
	return nil
}

// Passes implements translate.Passer.
func (run *Run) Passes(t agui.Type) bool { return run.OpenCalls.Passes(t) && run.PassesEmit(t) }

// End implements translate.Run. A call that was answered does not ask again: a backend may begin
// the call again and then drop it.
func (run *Run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	if ends := run.Table.Ends; PlainEnd(e.Event) || ends != nil && ends(e.Event) {
		res = run.Ask(e.Event, nil, func(c agui.Call, _ *Kind) bool { return run.Answered.IsRepeated(c) })
	}
	res.HeldEvents = run.UnsentResults()
	run.SetFate(&res, e)
	return res, nil
}

// PassesEmit reports whether Note and Emit only emit events of the type unchanged.
func (run *Run) PassesEmit(t agui.Type) bool {
	return (run.Answered == nil || t != agui.CallResult && t != agui.RunStarted) && run.sender.passes(t)
}

// SetFate sets the outcome of the answers in a result.
func (run *Run) SetFate(res *translate.Result, e translate.End) {
	switch {
	case run.Answered == nil || len(res.Asked.Interrupts) > 0:
	case e.Event.Type == agui.RunErrored && !run.BackendActed:
		res.Fate = run.Table.fate(e.Event)
	case e.Event.Type != agui.RunFinished:
	case !run.ResultsProveNothing && run.lacksResult():
		res.Fate = translate.InDoubt
	case len(run.Request.NewMessages) > 0:
		res.Next = run.Next()
	}
}

// lacksResult reports whether a call that was approved has no result.
func (run *Run) lacksResult() bool {
	for n, kept := range run.Answered.Questions {
		if kept.Runs != "" && !run.Answered.Denied[n] && !slices.Contains(run.results, kept.Runs) {
			return true
		}
	}
	return false
}
