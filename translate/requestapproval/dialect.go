// Package requestapproval translates .NET backends that ask by a synthetic tool call named
// request_approval: the Step04 samples of Microsoft Agent Framework (since 2025-12) and of the
// AG-UI SDK (since 2026-06), and what was written after them.
//
// They show no call of the function that they want to run. They show
//
//	request_approval {"request":{"approval_id":A,"function_name":F,"function_arguments":{..},"message":".."}}
//
// with the call id X, and end the run as if nothing was open. The answer is a tool message on X,
// {"approval_id":A,"approved":true}, behind the assistant's message with that call. X and A by
// version:
//
//	A1     Agent Framework's sample on Microsoft.Extensions.AI up to 10.3   X = A = call_1
//	A2     the same from 10.4 on, old host and new                          X = A = ficc_call_1
//	B      the AG-UI SDK's sample                                           X = call_1, A = ficc_call_1
//
// The backend keeps nothing. It takes what is to be run out of the history and compares nothing. It
// runs an old pair again if the function's result is not in the history. It throws if the
// result is there, or if some request has no answer. Hence:
//
//   - The call is renamed in place. A client sees F with its arguments under X, and an interrupt
//     that is bound to it. Its history never holds a pair, so a later run has an ordinary exchange
//     (call X, result X) and stays as it is.
//   - A resume, and nothing else, carries the synthetic calls again, for all that is open, with
//     their answers. Both come out of the record, never out of the client's copy.
//   - Only clients that are shown the backend's own form have other pairs in their history. Such a
//     pair is never an answer again. With the result it becomes the exchange that it was. Without
//     it, it is taken out.
//   - A call without any result is taken out of what goes to the backend if the request does not
//     declare its tool, and if an ended pause of the record asked about it or a user's message
//     stands behind it. It is left over from a pause that never got its result (an error, a doubt,
//     a pause that was given up). It would stay for ever, and model providers refuse a history that
//     has one. This and the former are done if the dialect is named, and under auto on routes that
//     were seen to speak it.
//
// What cannot be done:
//
//   - The server tells nobody which of several calls needed an approval. The model's client asks
//     for all of a batch, also for the tools of the front end. Such a question is put like the
//     others, but its call is not shown, because the front end would carry it out. An approval of
//     it comes to "function not found".
//   - A reason cannot be given.
//   - An error on the resume does not report whether the function ran. It comes again with every
//     further answer, so it ends the pause.
//   - The SDK's own sample client invents a new thread id for its resume, and gives its messages no
//     ids. Its answer in the backend's own form shows no conversation, and is refused. The client
//     has to keep the id.
//   - Under auto, on a route that nobody knows yet, a request that declares request_approval in its
//     tools is left alone, pairs included. The call is then the client's own. On other routes the
//     declaration does not matter.
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

// Name of the dialect.
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

// New makes the dialect. It has no options, and nothing to warn of.
func New(struct{}, translate.Warn) (*Dialect, error) { return &Dialect{}, nil }

// Name implements translate.Dialect.
func (*Dialect) Name() string { return Name }

// SignCall implements translate.CallSigner: a call that is named request_approval, if its arguments
// are those of a request. Many products have a tool of that name.
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
		if whole(c.Args, len(ev.Get("delta").Str)) {
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

// Continues implements translate.Continuer: the newer of the hosts are on AGUI.Server, which
// approves each call that has no result.
func (*Dialect) Continues(spoken, _ string) bool { return spoken == "" || spoken == Name }

// AsksUnder implements translate.Stateless. Where the dialect is known, Begin takes all such calls
// out.
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
	// A tool message on an open call is a second answer to this backend, in whatever spelling, and
	// runs it again.
	r = r.With(r.Input, kit.HistoryOf(kit.BesideResults(r, results), callsAsked(asked)).Without())
	body, err := resumeBody(r, asked, list)
	if err != nil {
		return translate.Out{}, nil, err
	}
	out := translate.Out{Body: body, Resumes: true, TakesNew: takesNew(r)}
	if !out.TakesNew && len(results) > 0 {
		out.TakesNew, out.Left = true, r.New
	}
	return out, newRun(r), nil
}

// plainOut returns an ordinary run: as it came, but for what this backend would throw at or run
// again, and for keys that it predates. A resume that the newest host reads itself would be a
// second answer beside the pair.
func plainOut(r *translate.Request) translate.Out {
	in := r.Input
	body := in.Raw
	if list, changed := cleanHistory(in.Messages, isLeftOver(r)); changed {
		body = agui.SetKey(body, "messages", agui.MessageList(list))
	}
	body = agui.DeleteKey(agui.DeleteKey(body, "protocolVersion"), "resume")
	if bytes.Equal(body, in.Raw) { // messages may have moved only
		return translate.Out{}
	}
	return translate.Out{Body: body}
}
