// Package adk translates Google ADK behind ag-ui-adk in its default mode, where a run that asks
// ends as if it was over. With emit_interrupt_outcome the package speaks the outcome, and the
// dialect agui has it.
//
// A run asks by a call without a result. The answer is a tool message on that call:
//
//	adk_request_confirmation {"originalFunctionCall":{"id":A,"name":N,"args":{..}},
//	                          "toolConfirmation":{"hint":"..","confirmed":false[,"payload":..]}}
//	                         {"confirmed":b[,"payload":..]}
//	adk_request_input {"message":"..","response_schema":{..}[,"interruptId","payload"]}
//	                         the value
//	adk_request_credential {"functionCallId":F,"authConfig":{..}}
//	                         the authConfig with an exchangedAuthCredential
//	confirm_changes {}       {"accepted":b}, of a predicted state, which is written already
//	a long-running tool      its result
//
// What the package makes of it (RAN on 0.6.5, 0.7.1 and 0.11.0 unless READ is said):
//
//   - It takes whatever it cannot read for a yes. So a decision is sent in one form only.
//   - All answers of a turn have to come in one request. They must stand behind each other, and
//     nothing may stand behind them. Of answers that come one by one the last one is carried out
//     only. The results of the client's own tools in that turn count too.
//   - 0.6.5 wants the call in the history. The others drop an answer if an assistant's message has
//     the id of the call, as clients name it, and an earlier run had that message. So a resume
//     carries the calls in one message under an id of its own, and a client is not shown the calls
//     of ADK's own protocol. (The ids of a workflow's nodes are the same in every run.)
//   - An adk_request_input has no word for a cancel: ADK would hand it to the node as the value. A
//     run without an answer begins the workflow anew, and lets a model talk on. So a cancel sends
//     nothing. A value that breaks the response_schema ends in an error, and the question is gone.
//     With the outcome such a run ends plainly too (2.13.0).
//   - In a resumable application the call A has a result already, which says that it wants a
//     confirmation. It has another when it ran.
//   - An empty run says that nothing was taken. 0.6.5 ends so at every answer to confirm_changes,
//     or sends nothing at all.
//
// A call of a long-running tool looks the same if it waits for a job. So only those ask that
// HOLDPOINT_TOOLS names (external), and only if nothing is said behind the call. Calls that the
// request declares are the client's own.
//
// What cannot be done: the arguments of a call cannot be edited. A payload beside confirmed is the
// tool's own matter, and works in a resumable application only. In the plain mode ADK shows one of
// a confirmation and a long-running call of the same turn. 0.6.5 never runs a confirmed call in a
// resumable application.
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

// Name of the dialect.
const Name = "adk"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.CallSigner     = (*Dialect)(nil)
	_ translate.Early          = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	calls.Table
	ask kit.Names
}

// New makes the dialect. It warns of nothing.
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
		// ADK refuses runs until its confirmations are answered. It does not wait for a value.
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

// SignCall implements translate.CallSigner. It waits for the end of a run with one of ADK's own
// calls. If the run ends with an interrupt outcome, it belongs to the dialect agui. A call for a
// credential is claimed at once: however the run ends, its secrets are not to pass.
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

// Sign implements translate.Signer. It signs the plain end of a run that left a call of a
// configured tool without a result, or the confirm_changes of ADK.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	return calls.PlainEnd(ev) && d.Asks(r)
}

// Early implements translate.Early. What is said behind a call of a long-running tool tells whether
// the run waits for it.
func (d *Dialect) Early(r *translate.Request) translate.Run { return d.newRun(d.New(r)) }

// Begin implements translate.Dialect. ADK looks at the messages that it has not seen. With the
// outcome it wants the answers in the resume array, and the calls in the messages.
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
