// Package toolcall translates any AG-UI backend that asks by an ordinary tool call and leaves the
// call without a result. Such a run ends as if it was complete:
//
//	TOOL_CALL_START delete_file, ARGS, END, and no RESULT
//	RUN_FINISHED without an outcome
//
// The answer is a tool message for the call, at the end of the messages. The operator configures
// its content, because the stream does not show which content the backend expects. The operator
// also configures the names of the tools, because a call without a result may also wait for a job,
// or not wait at all. A tool that the request declares belongs to the client.
//
// There are two kinds of such backends, and the dialect answers both:
//
//   - The call is the question, such as ask_permission, and the answer is its result.
//   - The call waits for the answer and runs after it. The backend sends its result.
//
// The dialect assumes that the backend identifies calls by their ids, and expects all answers of a
// turn in one request. It sends the answers after the history, or without a history if the backend
// stores the conversation (translate.Request.Sessions). The stream does not show whether the
// backend still has the call. A resume counts as accepted if its run ends without an error.
//
// The dialect has no knowledge of frameworks; each known framework has a dialect of its own. The
// protocol is AG-UI's protocol for tools that the front end runs.
package toolcall

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
)

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "tool-call"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct{ *calls.Plain }

// New returns the dialect, or an error if an option is wrong. It never warns.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("tool-call: %w", err)
	}
	words, err := o.words()
	if err != nil {
		return nil, fmt.Errorf("tool-call: %w", err)
	}
	return &Dialect{calls.NewPlain(calls.Plain{
		Table: calls.Table{Dialect: Name, Backend: textBackend, Ends: asksNothing},
		Tools: o.Ask, Words: words, RemovesCalls: true,
		MadePause: func(p agui.Pause) bool { return p.Dialect == Name },
	}, message)}, nil
}

func message(tool, said string) string {
	if said == "" {
		return calls.AsksToCall(tool)
	}
	return fmt.Sprintf(askCallSaying, tool, said)
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer. It claims the stream at the end of the run, if the run ends as
// if it was complete and one of its calls asks.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return calls.PlainEnd(ev) && d.Asks(r)
}

// asksNothing reports whether the outcome of a RUN_FINISHED is a string or null. If the operator
// has configured this dialect, a run with such an outcome also counts as complete.
func asksNothing(ev agui.Event) bool {
	outcome := agui.View(ev.JSON).Get("outcome")
	return ev.Type == agui.RunFinished && ev.Valid() && (outcome.Type == gjson.String || outcome.Type == gjson.Null)
}
