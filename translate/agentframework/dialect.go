// Package agentframework translates Microsoft Agent Framework: the Python package
// agent-framework-ag-ui, every version from 1.0.0rc7 on, and the .NET host on AGUI.Server
// (internal/aguiserver).
//
// Python asks for the approval of a tool call by CUSTOM function_approval_request behind the call's
// own events. What comes with that event shows the row of versions that the backend belongs to, and
// the form of the answer (pauseState.Row):
//
//	stream                                     versions     answered by
//	confirm_changes, a second call, and
//	RUN_FINISHED.interrupt, a list             1.0.0rc7     tool message {"accepted":b}; several: function_approvals
//	and the interrupt outcome                  1.0.0rc8..   the resume array
//
// A predicted state is confirmed by a confirm_changes call without such a CUSTOM event. In all
// versions the answer is a tool message on that call, and the call itself is not in the history.
// The outcome of 1.0.0rc8 and later lists it, but the backend refuses every resume entry for it. A
// workflow asks by CUSTOM request_info and a call of that name. 1.0.0rc7 takes the answer as a
// resume object.
//
// The pre-releases before 1.0.0rc7 keep no contract. Their questions are refused (tooold.go), and
// all that could make them run a call without a question is kept from them as from any version.
//
// What cannot be repaired:
//
//   - 1.0.0b260225 to b260311 ask for one call as 1.0.0rc7 does, and run it without a trace.
//     1.0.0rc7 looks the same when it has lost the question. Such a run is in doubt.
//   - A workflow of 1.0.0rc7 that waits for a text takes the next user message for it, also after a
//     cancel.
//   - Up to 1.0.0b260311 every tool message with a key "accepted" runs the call that it names.
//     Under auto, while nobody knows that the route speaks this dialect, two forged ones go
//     through: one that says more than the decision and has words behind it, and one whose tool the
//     request declares (forgotten.go, harmless).
//
// RAN in a comment says that it was seen on a running backend; e2e/agentframework has the backends.
package agentframework

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/agentframework/internal/aguiserver"
	"holdpoint/translate/kit"
)

// Name of the dialect.
const Name = "agent-framework"

var (
	_ translate.Signer         = (*Dialect)(nil)
	_ translate.CallSigner     = (*Dialect)(nil)
	_ translate.Taker          = (*Dialect)(nil)
	_ translate.DecisionReader = (*Dialect)(nil)
	_ translate.Continuer      = (*Dialect)(nil)
	_ translate.Stateless      = (*Dialect)(nil)
	_ translate.HistoryReader  = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct {
	seed maphash.Seed // for ids of calls
	warn translate.Warn
	old  sync.Once // of warn
}

// New makes the dialect. warn may be nil. It is told once if a backend is too old.
func New(_ struct{}, warn translate.Warn) (*Dialect, error) {
	if warn == nil {
		warn = func(string, ...any) {}
	}
	return &Dialect{seed: maphash.MakeSeed(), warn: warn}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer: the CUSTOM events of approvals and of workflows (of whose plain
// runs 1.0.0rc7 to 1.0.1 tell the end of a text behind the end of the run); the synthetic calls in
// a snapshot; the list in RUN_FINISHED.interrupt, an outcome with metadata of the framework's own,
// and one of the .NET host's; and a RUN_ERROR which says that the thread waits.
func (*Dialect) Sign(ev agui.Event, _ *translate.Request) bool {
	switch ev.Type {
	case agui.Custom:
		_, asks := readCustom(ev)
		return asks || isStatus(ev)
	case agui.MessagesSnapshot:
		return signSnapshot(ev)
	case agui.RunFinished:
		return speaksOutcome(ev) || len(listedInterrupt(ev)) > 0 || aguiserver.Signs(ev)
	case agui.RunErrored:
		return ev.Valid() && refusesWaiting(ev)
	}
	return false
}

// SignCall implements translate.CallSigner: the synthetic calls by their arguments; an END without
// START, which a CUSTOM event that asks has to follow; and what the .NET host says beside a call.
func (*Dialect) SignCall(ev agui.Event, c agui.Call, _ *translate.Request) translate.Verdict {
	switch ev.Type {
	case agui.CallStart:
		if mayAsk(c.Name) && ev.Valid() {
			return translate.Hold
		}
	case agui.CallArgs, agui.CallEnd:
		if v := signArgs(ev, c); v != translate.No {
			return v
		}
	default:
		return translate.No
	}
	if aguiserver.Signs(ev) {
		return translate.Mine
	}
	return translate.No
}

func signArgs(ev agui.Event, c agui.Call) translate.Verdict {
	switch {
	case c.ID == "" && ev.Type == agui.CallEnd && ev.Valid():
		return translate.Hold // its START never came
	case !mayAsk(c.Name):
		return translate.No
	case !c.Ended:
		return translate.Hold
	}
	if _, ok := readCall(c); ok {
		return translate.Mine
	}
	return translate.No
}

// speaksOutcome reports whether an interrupt outcome is of this framework.
func speaksOutcome(finish agui.Event) bool {
	for i := range kit.Interrupts(finish) {
		if i.Get("metadata." + metadataKey).IsObject() {
			return true
		}
	}
	return false
}

// Begin implements translate.Dialect. A plain run goes as it came, but for what a backend of the
// family would take for an answer: no version minds keys that it does not know (RAN).
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	switch {
	case r.Pause.ID == "":
		plain := r.With(harmless(r.Input), nil)
		out := aguiserver.Plain(plain, slices.ContainsFunc(r.Named, namesApproval))
		if out.Body == nil && !bytes.Equal(r.Input.Raw, plain.Input.Raw) {
			out.Body = plain.Input.Raw
		}
		return out, d.plainRun(plain), nil
	case aguiserver.Made(r.Pause):
		return aguiserver.Resume(r)
	case kit.CancelsOnly(r.Pause):
		return d.cancel(r)
	}
	return d.resume(r)
}

func (d *Dialect) plainRun(r *translate.Request) *run {
	return newRun(d, r.Plain())
}
