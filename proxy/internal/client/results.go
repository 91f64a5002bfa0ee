package client

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate/kit"
)

// If an answered call gets no result, a .NET client runs its own tool of that name, or makes an
// error text the result (Microsoft.Extensions.AI, FunctionInvokingChatClient). Many backends send
// no result for such a call, so Holdpoint sends one in its own words. The backend never gets this
// result, because a backend that keeps its thread has the outcome of the call already.

// OwnResults returns results for answered calls that got none in the run, each after its call, if
// the client needs them. asked is the pause that the run resumed, nil if there is none. next is the
// pause that the run ends with, nil if there is none: a question that is asked again has no result
// yet. doubtful reports that the outcome of the answers is not known.
func (l Listener) OwnResults(k *KnownCalls, asked, next *agui.Pause, doubtful bool) []agui.Event {
	if !k.Resumes() || l.showsNativeForm() || !l.Line.NeedsResult() || asked == nil {
		return nil
	}
	var events []agui.Event
	for _, i := range asked.Interrupts {
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
			content = string(agui.MustMarshal(content)) // the client throws at text that is not JSON
		}
		result := resultOf(id, content)
		k.NoteResult(result)
		events = append(events, result)
	}
	return events
}

// resultOf returns Holdpoint's own result of a call.
func resultOf(call, content string) agui.Event {
	return kit.ToolReply{ID: "result-" + call, Call: call, Content: content}.Event()
}

// ownContents returns the texts that Holdpoint would send as results of the calls that the answers
// decide, by call.
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

// recordedContent returns the text that Holdpoint sends as the result of a call whose question has
// ended.
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

// resultsAgain returns Holdpoint's own results of calls that a pause asked about and that the
// client lacks, each after its call, if its run sent none. results are the calls whose results the
// client has.
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
