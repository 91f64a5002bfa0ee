// Package toolcall translates any AG-UI backend that asks by an ordinary call of a tool and leaves
// the call without a result. Such a run ends as if it was complete:
//
//	TOOL_CALL_START delete_file, ARGS, END, and no RESULT
//	RUN_FINISHED without an outcome
//
// The answer is a tool message for the call, at the end of the messages. Its content is configured,
// because the stream does not show it. So are the names of the tools, because a call without a
// result may also wait for a job, or for nothing. A tool that the request declares belongs to the
// client.
//
// The dialect answers two kinds of such backends:
//
//   - The call is the question, such as ask_permission, and the answer is its result.
//   - The call waits for the answer and runs after it. The backend sends its result.
//
// It assumes that the backend identifies calls by their ids, expects all answers of a turn in one
// request, and looks for them after the history, or alone if it stores the conversation
// (translate.Request.Sessions). The stream does not show whether the backend still has the call. A
// resume counts as accepted if its run ends well.
//
// It has no knowledge of frameworks; each known framework has a dialect of its own. The protocol is
// AG-UI's protocol for tools that the front end runs.
package toolcall

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
)

// Name is the name of the dialect.
const Name = "tool-call"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct{ *calls.Plain }

// New makes the dialect. It does not warn.
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

// Sign implements translate.Signer. It claims a stream at its plain end if a call in it asks.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return calls.PlainEnd(ev) && d.Asks(r)
}

// asksNothing reports whether a RUN_FINISHED has an outcome that is a text or null. If the operator
// has named the dialect, such an outcome is a plain end too.
func asksNothing(ev agui.Event) bool {
	outcome := agui.View(ev.JSON).Get("outcome")
	return ev.Type == agui.RunFinished && ev.Valid() && (outcome.Type == gjson.String || outcome.Type == gjson.Null)
}
