package calls

import (
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

var _ translate.Passer = (*Run)(nil)

// A Run translates one exchange. A dialect may wrap it in a run of its own. Such a run must call
// Note and Emit for each event of a run with answers, Ask at a PlainEnd, and SetFate at every end.
type Run struct {
	Table    *Table
	Request  *translate.Request
	Native   bool           // the client gets the backend's stream unchanged
	Answered *AnsweredCalls // nil in a run without answers

	OpenCalls CallCounts
	// the backend did something, so its error says nothing about the answers
	BackendActed        bool
	ResultsProveNothing bool // a call without a result may have run
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

// Start returns the request of a run, and the run. A run without answers is sent unchanged, except
// for calls of earlier pauses that have no result.
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

// Note notes the result of a call. It ignores events of the types for which PassesEmit reports
// true.
func (run *Run) Note(ev agui.Event) {
	if run.Answered != nil && ev.Type == agui.CallResult {
		run.noteResult(ev)
	}
}

func (run *Run) noteResult(ev agui.Event) {
	run.BackendActed = true
	run.results = append(run.results, ev.Get("toolCallId").Str)
}

// Emit emits an event of a run with answers. It also emits the results that the backend does not
// send.
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

// UnsentResults returns the answers that the client must get as results, and that Emit has not sent
// when the run ends.
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

// End implements translate.Run. A call that this run answered does not ask again, because a backend
// may send the call again and then drop it.
func (run *Run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	if ends := run.Table.Ends; PlainEnd(e.Event) || ends != nil && ends(e.Event) {
		res = run.Ask(e.Event, nil, func(c agui.Call, _ *Kind) bool { return run.Answered.IsRepeated(c) })
	}
	res.HeldEvents = run.UnsentResults()
	run.SetFate(&res, e)
	return res, nil
}

// PassesEmit reports whether Note and Emit do nothing with events of this type but emit them
// unchanged.
func (run *Run) PassesEmit(t agui.Type) bool {
	return (run.Answered == nil || t != agui.CallResult && t != agui.RunStarted) && run.sender.passes(t)
}

// SetFate sets in res what became of the answers.
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

// lacksResult reports whether an approved call has no result.
func (run *Run) lacksResult() bool {
	for n, kept := range run.Answered.Questions {
		if kept.Runs != "" && !run.Answered.Denied[n] && !slices.Contains(run.results, kept.Runs) {
			return true
		}
	}
	return false
}
