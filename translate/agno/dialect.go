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
//     other kinds by HOLDPOINT_AGNO_INPUT and HOLDPOINT_AGNO_EXTERNAL. The rest are confirmations.
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
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/translate"
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
	return &Dialect{o: o, warn: warn}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer: the first RAW event of a run.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	return ev.Type == agui.Raw && agui.View(ev.JSON).Get("source").Str == "agno" && ev.Valid()
}

// Begin implements translate.Dialect. A run without answers goes as it came: agno keeps the history
// itself.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return translate.Out{}, &run{d: d, r: r}, nil
	}
	return d.resume(r)
}
