// Package agno translates agno's AGUI interface. A run that pauses ends like any other run, after
// the calls that it did not run, which have the same parent message. The answers are tool messages
// for these calls, at the end of the request:
//
//	a confirmation           {"accepted":true}, or {"accepted":false,"note":".."}
//	user input               {"values":{"field":..}}, which replaces arguments
//	user feedback (ask_user) {"selections":{"question":["label"]}}
//	external execution       the result unchanged
//
// How agno behaves (RAN on 3.1.10 and 2.9.0):
//
//   - Its RAW events have the source agno. They precede all other events of a run.
//   - The stream does not show the kind of a call. get_user_input and ask_user are recognized
//     by their names, other kinds by HOLDPOINT_TOOLS (input, external). All other calls are
//     confirmations.
//   - It reads only the tool messages at the end. A user message after them hides them. So a
//     resume sends only the answers, and new messages follow in a second exchange.
//   - It silently rejects a call without an answer. So the results of the client's own tools in
//     that turn must be sent with the answers.
//   - User input and feedback cannot be denied: the tool would run with the model's arguments.
//     Such a question cannot be cancelled alone. If all questions are cancelled, nothing is
//     sent.
//   - A denied call has no result. So the client is sent the denial as its result.
//   - If two paused runs have a call with the same id, it resumes the older one. An approval of
//     such a call is refused if the arguments differ.
//   - It needs a database to resume a run. Its error says so.
//
// What cannot be done: the arguments of a confirmation cannot be edited. 2.7.2 and earlier do not
// show a pause at all.
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

// Name is the name of the dialect.
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
	once sync.Once // lets the dialect write logNoDatabase only once
}

// New returns the dialect. The function warn may be nil. The dialect calls it once if an agent has
// no database.
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
		DenialError: resultDenied,
		Refuse:      refuseRepeated,
		Errors: []calls.Error{
			{Prefix: "No paused run matching", Fate: translate.Lost},
			{Prefix: "Session ", Suffix: "not found", Fate: translate.Lost},
			// agno could not assign the answers to a run. It finds the runs of all answers before
			// it continues one of them (RAN 3.1.10 with a team in a team; team/_run.py), so nothing
			// ran.
			{Prefix: "Cannot continue run ", Suffix: "The run remains paused.", Fate: translate.Untouched},
			// agno's resume.py raises these errors before it runs anything.
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

// Sign implements translate.Signer. The first RAW event of a run has the source agno.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	return ev.Type == agui.Raw && agui.View(ev.JSON).Get("source").Str == "agno" && ev.Valid()
}

// refuseRepeated returns an error if an earlier question had the same call id with other arguments.
// The run of the earlier question may still wait, and agno would apply a yes to that run.
func refuseRepeated(r *translate.Request, i agui.Interrupt) error {
	for _, p := range r.EndedPauses {
		for _, before := range p.Interrupts {
			if before.Native == i.Native && !slices.Equal(before.Calls, i.Calls) {
				return agui.Errorf(agui.ApprovalAmbiguous, textSameID, i.Native, i.ID)
			}
		}
	}
	return nil
}

var _ translate.Passer = (*run)(nil)

// A run translates one exchange. Its questions are the calls at the end of the stream that have no
// result. They are read from the transcript.
type run struct {
	calls.Run
	d *Dialect
}

// Event implements translate.Run.
func (run *run) Event(ev agui.Event, emit func(agui.Event)) error {
	run.OpenCalls.Note(ev)
	if run.Answered == nil {
		emit(ev)
		return nil
	}
	run.Emit(ev, emit)
	run.Note(ev)
	if ev.Type == agui.Raw {
		event := agui.View(ev.JSON).Get("event.event").Str
		run.ResultsProveNothing = run.ResultsProveNothing || strings.HasPrefix(event, "Team")
		run.BackendActed = run.BackendActed || strings.HasSuffix(event, "RunContinued")
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
	run.SetFate(&res, e)
	if e.Event.Type == agui.RunErrored && run.Answered != nil && run.Answered.Denies() {
		// after a failed denial the question could not be answered again
		res.Fate = translate.Finished
	}
	if res.Fate == translate.Untouched && strings.Contains(e.Event.Get("message").Str, "requires a database") {
		run.d.once.Do(func() {
			run.d.warn(logNoDatabase)
		})
	}
	return res, nil
}

// isUnderway reports whether a call without a result is one that this resume answered, and so not a
// new question. agno sends the start of a call that it runs after an approval, but not of a denied
// call. Some models repeat ids, so a call that asks again is the last call of the stream with its
// id.
func (run *run) isUnderway(c agui.Call, _ *kind) bool {
	return run.Answered != nil && slices.ContainsFunc(run.Answered.Questions, func(k calls.PrivateState) bool { return k.Call == c.ID }) && !run.OpenCalls.IsLast(c.ID)
}
