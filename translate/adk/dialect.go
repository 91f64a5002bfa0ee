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
// HOLDPOINT_ADK_ASK names, and only if nothing is said behind the call. Calls that the request
// declares are the client's own.
//
// What cannot be done: the arguments of a call cannot be edited. A payload beside confirmed is the
// tool's own matter, and works in a resumable application only. In the plain mode ADK shows one of
// a confirmation and a long-running call of the same turn. 0.6.5 never runs a confirmed call in a
// resumable application.
package adk

import (
	"errors"
	"fmt"

	"holdpoint/internal/agui"
	"holdpoint/translate"
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
type Dialect struct{ ask kit.Names }

// New makes the dialect. It warns of nothing.
func New(o Options, _ translate.Warn) (*Dialect, error) {
	if err := errors.Join(o.Check()...); err != nil {
		return nil, fmt.Errorf("adk: %w", err)
	}
	return &Dialect{ask: o.Ask}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// SignCall implements translate.CallSigner. It waits for the end of a run with one of ADK's own
// calls. If the run ends with an interrupt outcome, it belongs to the dialect agui. A call for a
// credential is claimed at once: however the run ends, its secrets are not to pass.
func (*Dialect) SignCall(ev agui.Event, c agui.Call, _ *translate.Request) translate.Verdict {
	switch {
	case c.Name == requestCredential && ev.Type == agui.CallStart:
		return translate.Mine
	case !isProtocolCall(c.Name) || ev.Type == agui.RunErrored:
		return translate.No
	case ev.Type == agui.RunFinished:
		if protocolCallOf(c).asks() && plainEnd(ev) {
			return translate.Mine
		}
		return translate.No
	}
	return translate.HoldToEnd
}

// Sign implements translate.Signer. It signs the plain end of a run that left a call of a
// configured tool without a result, or the confirm_changes of ADK.
func (d *Dialect) Sign(ev agui.Event, r *translate.Request) bool {
	if ev.Type != agui.RunFinished || !plainEnd(ev) || r.Transcript == nil {
		return false
	}
	for _, c := range r.Transcript.Calls() {
		if c.Fresh && !c.Answered && !r.Input.Declares(c.Name) && (d.kindOf(c, r) != "" || protocolCallOf(c).asks()) {
			return true
		}
	}
	return false
}

// plainEnd says whether a RUN_FINISHED has no interrupt outcome.
func plainEnd(ev agui.Event) bool {
	outcome := agui.View(ev.JSON).Get("outcome")
	return ev.Valid() && (!outcome.Exists() || outcome.Get("type").Str == "success")
}

// Early implements translate.Early. What is said behind a call of a long-running tool tells whether
// the run waits for it.
func (d *Dialect) Early(r *translate.Request) translate.Run { return newRun(d, r) }

// Begin implements translate.Dialect. A run without answers goes as it came: ADK keeps the history
// itself, and looks at the messages that it has not seen.
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return translate.Out{}, newRun(d, r), nil
	}
	return d.resume(r)
}
