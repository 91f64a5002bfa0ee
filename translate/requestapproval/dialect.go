// Package requestapproval translates .NET backends that ask by a synthetic tool call named
// request_approval: the Step04 samples of Microsoft Agent Framework (since 2025-12) and of the
// AG-UI SDK (since 2026-06), and programs written after them.
//
// They do not send the call of the function that they want to run. They send
//
//	request_approval {"request":{"approval_id":A,"function_name":F,"function_arguments":{..},"message":".."}}
//
// with the call id X, and end the run as if nothing was open. The answer is a tool message for X,
// {"approval_id":A,"approved":true}, which follows the assistant's message with that call. X and A
// depend on the version:
//
//	A1     Agent Framework's sample on Microsoft.Extensions.AI up to 10.3   X = A = call_1
//	A2     the same from 10.4 on, old host and new                          X = A = ficc_call_1
//	B      the AG-UI SDK's sample                                           X = call_1, A = ficc_call_1
//
// The backend keeps nothing. It reads from the history what it is to run, and compares nothing. It
// runs an old pair of request and answer again if the function's result is not in the history. It
// throws an exception if the result is there, or if some request has no answer. Therefore:
//
//   - The call is renamed in place. A client sees F with its arguments under X, and an interrupt
//     that is bound to this call. Its history never contains a pair, so a later run has an ordinary
//     exchange (call X, result X), which is unchanged.
//   - Only a resume sends the synthetic calls again, for all open questions, with their answers.
//     Both are made from the record, never from the client's copy.
//   - Only clients that are shown the backend's own form have other pairs in their history. Such a
//     pair is never an answer again. If the result is there, the pair becomes the exchange that it
//     was. If not, the pair is removed.
//   - A call without any result is removed from the backend's input if the request does not declare
//     its tool, and if an ended pause on record asked about it or a user's message follows it. Its
//     pause never got a result (an error, a doubt, a pause that was given up). The call would stay
//     forever, and model providers refuse a history that has one. This and the previous point apply
//     if the dialect is named, and under auto on routes that are known to speak it.
//
// Limits:
//
//   - The server does not send which of several calls needed an approval. The model's client asks
//     for all calls of a batch, even for the tools of the front end. Such a question is asked like
//     the others, but its call is not shown, because the front end would run it. An approval of it
//     ends with "function not found".
//   - A reason cannot be sent.
//   - An error on the resume does not tell whether the function ran. It is repeated at every
//     further answer, so it ends the pause.
//   - The SDK's own sample client makes a new thread id for its resume, and gives its messages no
//     ids. Its answer in the backend's own form has no conversation, and is refused. The client has
//     to keep the id.
//   - Under auto, on a route whose dialect is unknown, a request that declares request_approval in
//     its tools is unchanged, pairs included. The call then belongs to the client. On other routes
//     the declaration does not matter.
//
// Facts: source and published baselines of both samples and of Microsoft.Extensions.AI's
// FunctionInvokingChatClient, 10.0 to 10.9, read, not run.
package requestapproval

import (
	"bytes"
	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// Name is the name of the dialect.
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

// New makes the dialect. It has no options, and does not warn.
func New(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{}, nil }

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// SignCall implements translate.CallSigner. It claims a call named request_approval if its
// arguments are those of a request, because many products have a tool of that name.
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

// Continues implements translate.Continuer. It returns true because the newer hosts are on
// AGUI.Server, which approves each call that has no result.
func (*Dialect) Continues(spoken, _ string) bool { return spoken == "" || spoken == Name }

// AsksUnder implements translate.Stateless. If the dialect is known, Begin removes all such calls,
// so AsksUnder returns false.
func (*Dialect) AsksUnder(id, spoken string) (call string, asks bool) {
	call, is := microsoft.CallOf(id)
	return call, is && spoken == ""
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
	// In any spelling, a tool message for an open call is a second answer to this backend, which would
	// run the call again.
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

// plainOut returns an ordinary run. It removes from the request whatever this backend would fail at
// or run again, and members that are newer than the backend. A resume, which the newest host reads
// itself, would be a second answer in addition to the pair.
func plainOut(r *translate.Request) translate.Out {
	in := r.Input
	body := in.Raw
	if list, changed := cleanHistory(in.Messages, leftOverCalls(r)); changed {
		body = agui.SetKey(body, "messages", agui.MessageList(list))
	}
	body = agui.DeleteKey(agui.DeleteKey(body, "protocolVersion"), "resume")
	if bytes.Equal(body, in.Raw) { // messages may only have moved
		return translate.Out{}
	}
	return translate.Out{Body: body}
}
