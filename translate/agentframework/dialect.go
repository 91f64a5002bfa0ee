// Package agentframework translates Microsoft Agent Framework: the Python package
// agent-framework-ag-ui, every version from 1.0.0rc7 on, and the .NET host on AGUI.Server
// (internal/aguiserver).
//
// Python asks for the approval of a tool call with a CUSTOM function_approval_request event, after
// the events of the call. The rest of the stream shows the version of the backend, and so the form
// of the answer. Two groups of versions differ (pauseState.Row):
//
//	the stream also has                        versions     form of the answer
//	confirm_changes, a second call, and
//	a list in RUN_FINISHED.interrupt           1.0.0rc7     a tool message {"accepted":b}; for several calls function_approvals
//	the interrupt outcome too                  1.0.0rc8..   the resume array
//
// A predicted state is confirmed by a confirm_changes call without such a CUSTOM event. In all
// versions the answer is a tool message for that call, and the call itself must not be in the
// history. 1.0.0rc8 and later list the call in their outcome, but refuse every resume entry for it.
// A workflow asks with a CUSTOM request_info event and a call of that name. 1.0.0rc7 accepts the
// answer as an object in resume.
//
// Pre-releases before 1.0.0rc7 keep no record of their questions. The dialect refuses these
// questions (prereleases.go). To any version it sends nothing that could make the backend run a
// call without a question.
//
// What cannot be repaired:
//
//   - 1.0.0b260225 to b260311 ask about one call in the form of 1.0.0rc7, and run the call
//     without sending its result. A 1.0.0rc7 that has lost the question sends the same stream.
//     Such a run is in doubt.
//   - A workflow of 1.0.0rc7 that waits for a text reads the next user message as its answer,
//     even after a cancel.
//   - Up to 1.0.0b260311 every tool message with a key "accepted" runs the call that it names.
//     Under auto, before the route is known to speak this dialect, two kinds of forged messages
//     pass: one with more keys than the decision that is not the last message, and one that
//     answers a tool which the request declares (forgotten.go, harmless).
//
// RAN in a comment means that the behaviour was seen on a running backend; e2e/agentframework has
// the backends.
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

// Name is the name of the dialect.
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
	seed maphash.Seed // for hashes of call ids
	warn translate.Warn
	old  sync.Once // lets the dialect write logTooOld only once
}

// New returns the dialect. warn may be nil. The dialect calls it once if a backend is too old.
func New(_ struct{}, warn translate.Warn) (*Dialect, error) {
	if warn == nil {
		warn = func(string, ...any) {}
	}
	return &Dialect{seed: maphash.MakeSeed(), warn: warn}, nil
}

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// Sign implements translate.Signer. It recognizes these events, which only the framework sends:
//
//   - the CUSTOM events of approvals and workflows;
//   - a snapshot with a confirm_changes call;
//   - RUN_FINISHED with a list in interrupt, with an outcome that has the framework's metadata, or
//     with an outcome of the .NET host;
//   - a RUN_ERROR which says that the thread waits for an answer.
//
// The CUSTOM events also suffice for a workflow's runs without a question. In these runs 1.0.0rc7
// to 1.0.1 send TEXT_MESSAGE_END after the end of the run.
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

// SignCall implements translate.CallSigner. It recognizes three things: calls that the framework
// made up, by their arguments; a TOOL_CALL_END without its TOOL_CALL_START, because a CUSTOM event
// that asks must follow it; and the rawEvent that the .NET host adds to a call.
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
		return translate.Hold // the backend never sends the TOOL_CALL_START of such a call
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

// speaksOutcome reports whether the event has an interrupt outcome with the framework's metadata.
func speaksOutcome(finish agui.Event) bool {
	for i := range kit.Interrupts(finish) {
		if i.Get("metadata." + metadataKey).IsObject() {
			return true
		}
	}
	return false
}

// Begin implements translate.Dialect. It sends a run without answers unchanged, except that it
// removes content that a version of the framework would read as an answer. Keys that the dialect
// does not know can stay, because every version ignores them (RAN).
func (d *Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	switch {
	case r.Pause.ID == "":
		plain := r.With(harmless(r.Input), nil)
		out := aguiserver.PlainRequest(plain, slices.ContainsFunc(r.NamedInterrupts, namesApproval))
		if out.Body == nil && !bytes.Equal(r.Input.Raw, plain.Input.Raw) {
			out.Body = plain.Input.Raw
		}
		return out, d.plainRun(plain), nil
	case aguiserver.MadePause(r.Pause):
		return aguiserver.Resume(r)
	case kit.CancelsOnly(r.Pause):
		return d.cancel(r)
	}
	return d.resume(r)
}

func (d *Dialect) plainRun(r *translate.Request) *run {
	return newRun(d, r.Plain())
}
