package client

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// If an answered call gets no result, a .NET client runs its own tool of that name, or makes an
// error text the result (Microsoft.Extensions.AI, FunctionInvokingChatClient). Many backends send
// no result for such a call. So Holdpoint sends a result with a text of its own. The backend never
// gets this result, because a backend that stores its thread already has the result of the call.

// OwnResults returns Holdpoint's own results for answered calls that got no result in the run, each
// with its call before it. It returns nil if the client does not need them. pause is the pause that
// the run resumed, or nil. next is the pause with which the run ends, or nil. A call about which
// next asks again gets no result yet. doubtful is true if it is not known whether the answers were
// carried out.
func (l Listener) OwnResults(k *KnownCalls, pause, next *agui.Pause, doubtful bool) []agui.Event {
	if !k.Resumes() || l.showsNativeForm() || !l.Line.NeedsResult() || pause == nil {
		return nil
	}
	var events []agui.Event
	for _, i := range pause.Interrupts {
		id := i.ToolCallID()
		c := k.clientLacks[id]
		if next != nil && len(next.InterruptsAbout(id)) > 0 || i.CallUnseen || k.answeredInRun[id] || c == nil && !(k.clientHas[id] && l.Line.ParsesResults()) {
			continue
		}
		if c != nil && !c.begun {
			events = append(events, c.events()...)
		}
		content := k.fallbackResults[id]
		if doubtful && content != words.Denied {
			content = words.InDoubt
		}
		if l.Line.ParsesResults() {
			// the client throws at a result that is not JSON
			content = string(agui.MustMarshal(content))
		}
		result := resultOf(id, content)
		k.NoteResult(result)
		events = append(events, result)
	}
	return events
}

// resultOf returns Holdpoint's own result of the call with the given id.
func resultOf(call, content string) agui.Event {
	return kit.ToolReply{ID: "result-" + call, Call: call, Content: content}.Event()
}

// ownContents returns the texts of Holdpoint's own results for the calls that the answers decide.
// It maps the id of each call to its text.
func ownContents(p *agui.Pause, answers []agui.Answer) map[string]string {
	contents := map[string]string{}
	for n, i := range p.Interrupts {
		a := answers[n]
		says := a.Meaning
		if says == agui.Unclear {
			says = kit.MeaningOf(i, a)
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

// recordedContent returns the text of Holdpoint's own result for a call whose question has ended.
func recordedContent(result *store.Result, questionID string) string {
	content := words.Answered
	for _, g := range result.GivenAnswers {
		switch {
		case g.ID != questionID:
		case g.Status == agui.Cancelled || g.Verdict == agui.VerdictDenied:
			content = words.Denied
		case result.EndKind == store.Doubtful:
			content = words.InDoubt
		case g.Verdict == agui.VerdictApproved:
			content = words.Approved
		}
	}
	return content
}

// resultsAgain returns Holdpoint's own results for calls about which the pause of result asked.
// Each has its call before it. It returns those for which the client lacks the call and the run
// sent no result. results are the calls whose results the client has.
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
