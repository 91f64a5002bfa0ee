package client

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// A client of .NET's carries out an answered call that got no result: a tool of its own of that
// name, or it makes an error text the result (Microsoft.Extensions.AI, FunctionInvokingChatClient).
// Many backends tell no result of such a call. So Holdpoint tells one in its own words. The backend
// never gets it, because a backend that keeps its thread has the call's outcome already.

// OwnResults returns the results of answered calls that the run has told none of, for a client that
// needs them, each after its call. asked is the pause that the run resumed, nil if there is none.
// next is the pause that the run ends with, nil if there is none: a question that is asked again
// has no result yet. doubtful reports that it is not known what the answers have led to.
func (l Listener) OwnResults(k *KnownCalls, asked, next *agui.Pause, doubtful bool) []agui.Event {
	if !k.Resumes() || l.showsNativeForm() || !l.Line.NeedsResult() || asked == nil {
		return nil
	}
	var events []agui.Event
	for _, i := range asked.Interrupts {
		id := i.ToolCallID()
		c := k.lacking[id]
		if next != nil && len(next.About(id)) > 0 || i.CallUnseen || k.again[id] || c == nil && !(k.held[id] && l.Line.ParsesResults()) {
			continue
		}
		if c != nil && !c.begun {
			events = append(events, c.events()...)
		}
		content := k.says[id]
		if doubtful && content != words.Denied {
			content = words.InDoubt
		}
		if l.Line.ParsesResults() {
			content = string(agui.MustMarshal(content)) // it throws at text that is not JSON
		}
		result := resultOf(id, content)
		k.Answered(result)
		events = append(events, result)
	}
	return events
}

// resultOf returns Holdpoint's own result of a call.
func resultOf(call, content string) agui.Event {
	return kit.ToolReply{ID: "result-" + call, Call: call, Content: content}.Event()
}

// ownContents returns what Holdpoint would say as the results of calls that the answers to a pause
// decide on, by call.
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

// recordedContent returns what Holdpoint says as the result of a call whose question has ended.
func recordedContent(result *store.Result, questionID string) string {
	content := words.Answered
	for _, g := range result.Given {
		switch {
		case g.ID != questionID:
		case g.Status == agui.Cancelled || g.Says == agui.SaysDenied:
			content = words.Denied
		case result.How == store.Doubtful:
			content = words.InDoubt
		case g.Says == agui.SaysApproved:
			content = words.Approved
		}
	}
	return content
}

// resultsAgain returns Holdpoint's own results of calls that a pause asked about, each after its
// call, if its run told none. results are those that the client holds.
func resultsAgain(result *store.Result, lacks func(call string) bool, results map[string]bool) []agui.Event {
	var events []agui.Event
	for n := range result.Pause.Interrupts {
		i := &result.Pause.Interrupts[n]
		call, known := namedCall(i)
		if !known || i.CallUnseen || results[call.ID] || !lacks(call.ID) {
			continue
		}
		results[call.ID] = true
		events = append(events, callEvents(agui.Call{ID: call.ID, Name: call.Name, Args: call.Args})...)
		events = append(events, resultOf(call.ID, recordedContent(result, i.ID)))
	}
	return events
}
