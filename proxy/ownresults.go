package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

// A client of .NET's carries out an answered call that got no result: a tool of its own of that
// name, or it makes an error text the result (Microsoft.Extensions.AI, FunctionInvokingChatClient).
// Many backends tell no result of such a call. So Holdpoint tells one in its own words. The backend
// never gets it, because one that keeps its thread has what came of the call already.

// ownResults returns the results of answered calls that the run has told none of, for a client that
// needs them, each behind its call. next is the pause that the run ends with, nil if there is none:
// what is asked again has no result yet.
func (r *run) ownResults(next *agui.Pause, doubtful bool) []agui.Event {
	if !r.knownCalls.resumes() || r.show == translate.ShowNative || !r.request.client.NeedsResult() || r.record.Pause == nil {
		return nil
	}
	var events []agui.Event
	for _, i := range r.record.Pause.Interrupts {
		id := i.ToolCallID()
		c := r.knownCalls.lacking[id]
		if next != nil && len(next.About(id)) > 0 || i.CallUnseen || r.knownCalls.again[id] || c == nil && !(r.knownCalls.held[id] && r.request.client.ParsesResults()) {
			continue
		}
		if c != nil && !c.begun {
			events = append(events, c.events()...)
		}
		content := r.knownCalls.says[id]
		if doubtful && content != words.Denied {
			content = words.InDoubt
		}
		if r.request.client.ParsesResults() {
			content = string(agui.MustMarshal(content)) // it throws at text that is not JSON
		}
		result := kit.ToolReply{ID: "result-" + id, Call: id, Content: content}.Event()
		r.knownCalls.answered(result)
		events = append(events, result)
	}
	return events
}

// ownContents returns what Holdpoint would say as the results of calls that the answers to a pause
// decide on.
func ownContents(p *agui.Pause, answers []agui.Answer) map[string]string {
	contents := map[string]string{}
	for n, i := range p.Interrupts {
		a := answers[n]
		says := a.Says
		if says == agui.Unclear {
			says = kit.Says(i, a)
		}
		content := words.Answered
		switch {
		case a.Status == agui.Cancelled || says == agui.Denies:
			content = words.Denied
		case says == agui.Approves:
			content = words.Approved
		}
		contents[i.ToolCallID()] = content
	}
	return contents
}
