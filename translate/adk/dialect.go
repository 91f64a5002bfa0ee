// Package adk translates Google ADK behind ag-ui-adk in its default mode, in which a run that asks
// ends like any other run. With emit_interrupt_outcome the package sends the interrupt outcome, and
// the dialect agui translates it.
//
// A run asks with a call that has no result. The answer is a tool message for that call:
//
//	adk_request_confirmation {"originalFunctionCall":{"id":A,"name":N,"args":{..}},
//	                          "toolConfirmation":{"hint":"..","confirmed":false[,"payload":..]}}
//	                         {"confirmed":b[,"payload":..]}
//	adk_request_input {"message":"..","response_schema":{..}[,"interruptId","payload"]}
//	                         the value
//	adk_request_credential {"functionCallId":F,"authConfig":{..}}
//	                         the authConfig with an exchangedAuthCredential
//	confirm_changes {}       {"accepted":b}, about a predicted state that is already written
//	a long-running tool      its result
//
// How the package handles answers (RAN on 0.6.5, 0.7.1 and 0.11.0, except where it says READ):
//
//   - It reads everything that it cannot parse as a yes. So a decision is sent in one form
//     only.
//   - All answers of a turn must be the last messages of one request. If they are sent one by
//     one, only the last one takes effect. The results of the client's own tools in that turn
//     count too.
//   - 0.6.5 requires the call in the history. The others drop an answer if an assistant message
//     has the call's id as its own, as clients name it, and an earlier run had that message. So
//     a resume has the calls in one message with a new id, and a client is not shown the calls
//     of ADK's own protocol. (The ids of a workflow's nodes are the same in every run.)
//   - An adk_request_input cannot be cancelled: ADK would pass the cancel to the node as the
//     value. A run without an answer starts the workflow again, and lets a model continue. So
//     for a cancel nothing is sent. A value that does not fit the response_schema ends in an
//     error, and the question is gone. With the outcome such a run also ends like any other
//     (2.13.0).
//   - In a resumable application the call A already has a result, which says that it needs a
//     confirmation. It gets another one after it ran.
//   - An empty run means that the answer was not accepted. But 0.6.5 ends every run that
//     answers confirm_changes this way, or sends nothing at all.
//
// A call of a long-running tool looks the same whether it waits for a person or for a job. So only
// the tools in HOLDPOINT_TOOLS (external) ask, and only if no text follows the call. Calls of tools
// that the request declares are the client's own.
//
// What cannot be done: the arguments of a call cannot be edited. A payload in addition to confirmed
// is for the tool itself, and works only in a resumable application. In the default mode ADK shows
// only one of a confirmation and a long-running call of the same turn. 0.6.5 never runs a confirmed
// call in a resumable application.
package adk

import (
	"errors"
	"fmt"
	"slices"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/calls"
	"holdpoint/translate/kit"
)

// Name is the name of the dialect.
const Name = "adk"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.CallSigner     = (*Dialect)(nil)
	_ translate.EarlyReader    = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	calls.Table
	ask kit.Names
}

// New returns the dialect. It never warns.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("adk: %w", err)
	}
	d := &Dialect{ask: o.Ask}
	d.Table = calls.Table{
		Dialect: Name, Backend: "ADK",
		Ask:    d.question,
		Kinds:  []*kind{confirm, changes, job, input, confirmNode, credential},
		Resume: calls.WithCalls,
		// ADK refuses runs until its confirmations are answered, but it does not wait for values.
		// So a cancel is left out for a kind of question that has no cancel.
		Skip: func(p agui.Pause, k *kind, a agui.Answer) bool {
			return calls.KeptIn(p).Outcome && a.Status == agui.Cancelled && k.Cancel == ""
		},
		Errors: []calls.Error{
			{Code: "INTERRUPT_RESUME_REQUIRED", Fate: translate.Untouched},
			{Code: "INTERRUPT_RESUME_INCOMPLETE", Fate: translate.Untouched},
			{Code: "SESSION_LOOKUP_ERROR", Fate: translate.Untouched},
			{Code: "PENDING_TOOL_CALLS", Fate: translate.Untouched},
			{Prefix: "Maximum concurrent executions", Fate: translate.Untouched},
			{Code: "UNKNOWN_INTERRUPT", Fate: translate.Lost},
			{Part: "unction call not found for function response", Fate: translate.Lost},
			{Part: "No function call event found for function responses", Fate: translate.Lost},
			{Prefix: "Validation failed for interrupt ", Fate: translate.Lost}, // ADK has dropped the question
		},
		Wrap: func(begun calls.Run) translate.Run { return d.newRun(begun) },
		Own:  protocolPrefix, OwnRare: 'k',
		Owner: d.owner,
		Reads: func(m *calls.ToolMessage) bool { _, ok := confirm.Read(m.Object.Get("content").Str); return ok },
		Judge: judge,
	}
	return d, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// SignCall implements translate.CallSigner. A run with one of ADK's own calls is from ADK, but this
// dialect claims it only at its end, because a run with an interrupt outcome belongs to the dialect
// agui. A call for a credential is claimed at once, because its secrets must never reach the
// client, however the run ends.
func (d *Dialect) SignCall(ev agui.Event, c agui.Call, r *translate.Request) translate.Verdict {
	switch {
	case c.Name == requestCredential && ev.Type == agui.CallStart:
		return translate.Mine
	case !isProtocolCall(c.Name) || ev.Type == agui.RunErrored:
		return translate.No
	case ev.Type == agui.RunFinished:
		if _, asks := d.question(c, r); asks && calls.PlainEnd(ev) {
			return translate.Mine
		}
		return translate.No
	}
	return translate.HoldToEnd
}

// Sign implements translate.Signer. A run is from ADK if it ends without an outcome, and if a call
// of a configured tool or of ADK's confirm_changes has no result at its end.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return calls.PlainEnd(ev) && d.Asks(r)
}

// Early implements translate.EarlyReader. This run reads the events before the backend is
// recognized: text that follows the call of a long-running tool shows that the run does not wait
// for that call.
func (d *Dialect) Early(r *translate.Request) translate.Run { return d.newRun(d.New(r)) }

// Begin implements translate.Dialect. ADK reads the messages that it has not seen yet. An agent
// with emit_interrupt_outcome expects the answers in the resume array, and the calls in the
// messages.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	out, begun, err := d.Start(r)
	if err != nil {
		return translate.Out{}, nil, err
	}
	if a := begun.Answered; a != nil && calls.KeptIn(r.Pause).Outcome {
		list := d.Messages(r, a)
		out.Body = agui.SetKey(out.Body, "messages", agui.MessageList(slices.Delete(list, 1, 1+len(a.Replies))))
		out.Body = agui.SetKey(out.Body, "resume", resumeArray(a.Replies))
	}
	return out, d.newRun(begun), nil
}
