// Package requestapproval translates .NET backends that ask by a synthetic tool call named
// request_approval: the Step04 samples of Microsoft Agent Framework (since 2025-12) and of the
// AG-UI SDK (since 2026-06), and programs written after them.
//
// These backends do not send the call of the function that they want to run. They send
//
//	request_approval {"request":{"approval_id":A,"function_name":F,"function_arguments":{..},"message":".."}}
//
// with the call id X, and end the run as if no question was open. The answer is a tool message for
// X, {"approval_id":A,"approved":true}, which follows the assistant's message with that call. X and
// A depend on the version:
//
//	A1     Agent Framework's sample on Microsoft.Extensions.AI up to 10.3   X = A = call_1
//	A2     the same from 10.4 on, old host and new                          X = A = ficc_call_1
//	B      the AG-UI SDK's sample                                           X = call_1, A = ficc_call_1
//
// The backend stores nothing. It reads from the history which function to run, and does not compare
// the history with anything. An old request with its answer is called a pair. If the history has a
// pair but not the function's result, the backend runs the function again. If the history has a
// pair and the result, or a request without an answer, the backend throws an exception. Therefore:
//
//   - Holdpoint renames the synthetic call in the stream. A client sees a call of F with its
//     arguments under the id X, and an interrupt about this call. Its history never contains a
//     pair. So a later run has an ordinary call X with the result X, which Holdpoint does not
//     change.
//   - Only a resume sends the synthetic calls again, for all open questions, with their answers.
//     Holdpoint makes both from the record, never from the client's copy.
//   - Only clients that are shown the backend's own form have pairs in their history. Such an old
//     pair never counts as an answer. If the history has the function's result, the pair becomes
//     the function's own call. If not, the pair is removed.
//   - A call without any result may have been left by a pause that never got a result (because of
//     an error or a doubt, or because the pause was given up). Model providers refuse a history
//     with such a call. So the call is removed from the backend's input if an ended pause on record
//     asked about it or a user's message follows it, unless the request declares its tool. This and
//     the previous point apply if the dialect is configured. With the dialect auto they apply on
//     routes that are known to speak this dialect.
//
// Limits:
//
//   - The server does not send which of several calls needed an approval. The model's client asks
//     for all calls of a batch, even for tools of the front end. Holdpoint asks such a question
//     like the others, but does not show its call, because the front end would run it. If the
//     question is approved, the run ends with "function not found".
//   - A reason cannot be sent to the backend.
//   - An error on the resume does not tell whether the function ran. The backend would repeat the
//     error at every further answer, so the error ends the pause.
//   - The SDK's own sample client makes a new thread id for its resume, and gives its messages no
//     ids. Its answer in the backend's own form does not belong to a known conversation, and is
//     refused. The client has to keep the thread id.
//   - With the dialect auto, on a route whose dialect is unknown, a request that declares
//     request_approval in its tools stays unchanged, including its pairs. The call then belongs to
//     the client. On other routes the declaration does not matter.
//
// These facts are from the source code and published baselines of both samples and of
// Microsoft.Extensions.AI's FunctionInvokingChatClient, 10.0 to 10.9. They were read, not run.
package requestapproval

import (
	"bytes"
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Name is the dialect's name in HOLDPOINT_DIALECT.
const Name = "request-approval"

var (
	_ translate.CallSigner    = (*Dialect)(nil)
	_ translate.HistoryReader = (*Dialect)(nil)
	_ translate.Continuer     = (*Dialect)(nil)
	_ translate.ToolOwner     = (*Dialect)(nil)
	_ translate.Stateless     = (*Dialect)(nil)
)

// A Dialect implements translate.Dialect.
type Dialect struct{}

// New returns the dialect. It has no options and never warns.
func New(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{}, nil }

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// SignCall implements translate.CallSigner. Many products have a tool named request_approval. So
// SignCall claims a call of that name only if its arguments have the form of a request.
func (*Dialect) SignCall(ev agui.Event, c agui.Call, _ *translate.Request) translate.Verdict {
	switch {
	case c.Name != microsoft.RequestApproval:
		return translate.No
	case ev.Type == agui.RunFinished:
		return mineIf(fits(c.Args) && plainEnd(ev))
	case !ev.Valid():
		return translate.No
	}
	switch ev.Type {
	case agui.CallEnd:
		return mineIf(fits(c.Args))
	case agui.CallChunk:
		if isComplete(c.Args, len(ev.Get("delta").Str)) {
			return mineIf(fits(c.Args))
		}
	case agui.CallStart, agui.CallArgs:
	default:
		return translate.No
	}
	if !couldFit(c.Args) {
		return translate.No
	}
	return translate.Hold
}

func mineIf(mine bool) translate.Verdict {
	if mine {
		return translate.Mine
	}
	return translate.No
}

// Owns implements translate.ToolOwner.
func (*Dialect) Owns(tool string) bool { return tool == microsoft.RequestApproval }

// Continues implements translate.Continuer. It returns true for a thread of this or of an unknown
// dialect, because the newer hosts use AGUI.Server, which approves each call without a result.
func (*Dialect) Continues(detectedDialect, _ string) bool {
	return detectedDialect == "" || detectedDialect == Name
}

// AsksUnder implements translate.Stateless. If the dialect of the thread is known, Begin removes
// all such calls, so AsksUnder returns false.
func (*Dialect) AsksUnder(id, detectedDialect string) (call string, asks bool) {
	call, is := microsoft.CallOf(id)
	return call, is && detectedDialect == ""
}

// KeepsNothing implements translate.Stateless.
func (*Dialect) KeepsNothing(p *agui.Pause) bool { return p.Dialect == Name }

// ReadsCalls implements translate.Stateless.
func (*Dialect) ReadsCalls(p *agui.Pause) bool { return p.Dialect == Name }

// Begin implements translate.Dialect.
func (*Dialect) Begin(r *translate.Request) (translate.Out, translate.Run, error) {
	if r.Pause.ID == "" {
		return plainOut(r), newRun(r), nil
	}
	asked, ok := keptOf(r.Pause)
	if !ok || len(asked) != len(r.Answers) {
		return translate.Out{}, nil, kit.Unreadable()
	}
	results, err := kit.ClientResults(r, kit.ClientCalls(r), false)
	if err != nil {
		return translate.Out{}, nil, err
	}
	list := kit.WithResults(r, messagesBefore(r), results)
	// For this backend, a tool message for an open call is a second answer, in any spelling of its
	// keys. The backend would run the call again, so these messages are left out.
	r = r.With(r.Input, kit.HistoryOf(kit.NewWithoutResults(r, results), askedCallIDs(asked)).WithoutCalls())
	body, err := resumeBody(r, asked, list)
	if err != nil {
		return translate.Out{}, nil, err
	}
	out := translate.Out{Body: body, Resumes: true, TakesNew: takesNew(r)}
	if !out.TakesNew && len(results) > 0 {
		out.TakesNew, out.UnsentMessages = true, r.NewMessages
	}
	return out, newRun(r), nil
}

// plainOut returns an ordinary run. It removes from the request everything at which this backend
// would fail or that it would run again, and members that are newer than the backend. It also
// removes resume: the newest host reads resume itself, so it would be a second answer in addition
// to the pair.
func plainOut(r *translate.Request) translate.Out {
	in := r.Input
	body := in.Raw
	if list, changed := cleanHistory(in.Messages, leftOverCalls(r)); changed {
		body = agui.SetKey(body, "messages", agui.MessageList(list))
	}
	body = agui.DeleteKey(agui.DeleteKey(body, "protocolVersion"), "resume")
	if bytes.Equal(body, in.Raw) { // changed may only mean that messages moved
		return translate.Out{}
	}
	return translate.Out{Body: body}
}
