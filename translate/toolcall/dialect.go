// Package toolcall translates any AG-UI backend that asks by a plain call of a tool which it does
// not answer itself. Its run ends as if it was over:
//
//	TOOL_CALL_START delete_file, ARGS, END, and no RESULT
//	RUN_FINISHED without an outcome
//
// The answer is a tool message on that call, the last of the messages. What it says is configured,
// because nothing on the wire tells. So are the names of the tools: a call without a result may
// also wait for a job, or for nothing. What the request declares in its tools is the client's own.
//
// Two kinds of backends ask so, and both are answered:
//
//   - The call is the question, such as ask_permission, and the answer is its result.
//   - The call waits for the answer and runs then. The backend tells its result itself.
//
// The backend is taken to know its calls by their ids, to take all answers of a turn in one
// request, and to look for them behind the history, or alone if it keeps the conversation
// (translate.Request.Sessions). Whether it knows the call still is not on the wire: a resume whose
// run ends well has been taken.
//
// It does not know how one framework or another does so; each that is known has a dialect of its
// own. The protocol is AG-UI's, of tools that the front end runs.
package toolcall

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
)

// Name of the dialect.
const Name = "tool-call"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct{ *calls.Plain }

// New makes the dialect. It warns of nothing.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("tool-call: %w", err)
	}
	words, err := o.words()
	if err != nil {
		return nil, fmt.Errorf("tool-call: %w", err)
	}
	return &Dialect{calls.NewPlain(calls.Plain{
		Table: calls.Table{Dialect: Name, Backend: "the backend", Ends: asksNothing},
		Tools: o.Ask, Words: words, Forgets: true,
		Asked: func(p agui.Pause) bool { return p.Dialect == Name },
	}, message)}, nil
}

func message(tool, said string) string {
	if said == "" {
		return calls.AsksToCall(tool)
	}
	return fmt.Sprintf("The agent asks to call the tool %s: %s", tool, said)
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer. It signs the plain end of a run with a call that asks.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return calls.PlainEnd(ev) && d.Asks(r)
}

// asksNothing reports whether a RUN_FINISHED asks nothing itself, in whatever form: where the
// operator has named the dialect, an outcome that is a text or null is a plain end too.
func asksNothing(ev agui.Event) bool {
	outcome := agui.View(ev.JSON).Get("outcome")
	return ev.Type == agui.RunFinished && ev.Valid() && (outcome.Type == gjson.String || outcome.Type == gjson.Null)
}
