// Package agno translates agno's AGUI interface. A run that pauses ends as if it was over, behind
// the calls that it did not run, all under one message. The answers are tool messages on those
// calls, the last messages of the request:
//
//	a confirmation           {"accepted":true}, or {"accepted":false,"note":".."}
//	user input               {"values":{"field":..}}, which replaces arguments
//	user feedback (ask_user) {"selections":{"question":["label"]}}
//	external execution       the result as it is
//
// What agno makes of it (RAN on 3.1.10 and 2.9.0):
//
//   - Its RAW events have the source agno. They come before anything else of a run.
//   - The kind of a call is not on the wire. get_user_input and ask_user are known by their names,
//     other kinds by HOLDPOINT_TOOLS (input, external). The rest are confirmations.
//   - It looks at the last tool messages only. A user's message behind them loses them. So a resume
//     brings the answers alone, and what is new goes in a second exchange.
//   - A call that is left without an answer is silently rejected. So the results of the client's
//     own tools in that turn have to come with the answers.
//   - There is no no to user input or feedback: the tool would run with the model's arguments. Such
//     a question cannot be cancelled alone. If everything is cancelled, nothing is sent.
//   - A denied call has no result. So the answer is told to the client as one.
//   - Of two paused runs that have a call of the same id it resumes the older one. An approval of
//     such a call is refused if its arguments differ.
//   - It needs a database to be resumed at all. Its error says so.
//
// What cannot be done: the arguments of a confirmation cannot be edited. 2.7.2 and earlier show
// nothing of a pause.
package agno

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
)

// Name of the dialect.
const Name = "agno"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	calls.Table
	o    Options
	warn translate.Warn
	once sync.Once // of warn
}

// New makes the dialect. warn may be nil. It is told once if an agent has no database.
func New(o Options, warn translate.Warn) (*Dialect, error) {
	if err := o.err(); err != nil {
		return nil, fmt.Errorf("agno: %w", err)
	}
	if warn == nil {
		warn = func(string, ...any) {}
	}
	d := &Dialect{o: o, warn: warn}
	d.Table = calls.Table{
		Dialect: Name, Backend: "agno",
		Ask:         func(c agui.Call, _ *translate.Request) (calls.Question, bool) { return d.question(c), true },
		Kinds:       []*kind{confirm, input, fields, feedback, external},
		Resume:      calls.Alone,
		DenialError: denied,
		Refuse:      refuseRepeated,
		Errors: []calls.Error{
			{Prefix: "No paused run matching", Fate: translate.Lost},
			{Prefix: "Session ", Suffix: "not found", Fate: translate.Lost},
			// It could not bind the answers to a run, and looks for the runs of all answers before
			// it goes on with one (RAN 3.1.10 with a team in a team; team/_run.py).
			{Prefix: "Cannot continue run ", Suffix: "The run remains paused.", Fate: translate.Untouched},
			// The errors that agno's resume.py raises before anything runs.
			{Prefix: "user_input expects ", Fate: translate.Untouched},
			{Prefix: "user_feedback expects ", Fate: translate.Untouched},
			{Prefix: "Frontend tool resume requires ", Fate: translate.Untouched},
		},
		Wrap:  func(begun calls.Run) translate.Run { return &run{Run: begun, d: d} },
		Owner: func(string, bool) calls.Owner { return calls.Others }, // any tool may ask
		Reads: decides,
		Judge: judge,
	}
	return d, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer: the first RAW event of a run.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	return ev.Type == agui.Raw && agui.View(ev.JSON).Get("source").Str == "agno" && ev.Valid()
}

// refuseRepeated refuses a yes to a call of the id of an earlier question with other arguments. The
// run of that one may wait at agno still.
func refuseRepeated(r *translate.Request, i agui.Interrupt) error {
	for _, p := range r.Ended {
		for _, before := range p.Interrupts {
			if before.Native == i.Native && !slices.Equal(before.Calls, i.Calls) {
				return agui.Errorf(agui.ApprovalAmbiguous, textSameID, i.Native, i.ID)
			}
		}
	}
	return nil
}

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. All that it asks stands in the transcript. The calls that ask
// stand at the end of the stream, behind the last words of the model.
type run struct {
	calls.Run
	d *Dialect
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	run.Starts.Note(ev)
	if run.Answered == nil {
		emit(ev)
		return nil
	}
	run.Emit(ev, emit)
	run.Note(ev)
	if ev.Type == agui.Raw {
		event := agui.View(ev.JSON).Get("event.event").Str
		run.Unproved = run.Unproved || strings.HasPrefix(event, "Team")
		run.Worked = run.Worked || strings.HasSuffix(event, "RunContinued")
	}
	return nil
}

// Passes implements translate.Passer.
func (run *run) Passes(t agui.Type) bool {
	return run.Run.Passes(t) && (t != agui.Raw || run.Answered == nil)
}

// End implements translate.Run.
func (run *run) End(e translate.End) (translate.Result, error) {
	res := translate.Result{Finish: e.Event}
	if calls.PlainEnd(e.Event) {
		res = run.Ask(e.Event, nil, run.isUnderway)
	}
	run.Become(&res, e)
	if e.Event.Type == agui.RunErrored && run.Answered != nil && run.Answered.Denies() {
		res.Fate = translate.Finished // a no ends the pause: nobody could answer it otherwise
	}
	if res.Fate == translate.Untouched && strings.Contains(e.Event.Get("message").Str, "requires a database") {
		run.d.once.Do(func() {
			run.d.warn(logNoDatabase)
		})
	}
	return res, nil
}

// isUnderway reports whether a call without a result is one that this resume answered, and does not
// ask again. agno begins the calls again that it carries out, and not those that were denied. Ids
// of some models repeat, and then a call of the same id asks at the end.
func (run *run) isUnderway(c agui.Call, _ *kind) bool {
	return run.Answered != nil && slices.ContainsFunc(run.Answered.Questions, func(k calls.PrivateState) bool { return k.Call == c.ID }) && !run.Starts.Last(c.ID)
}
