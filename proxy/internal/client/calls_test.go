package client

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/transcript"
	"holdpoint/translate"
)

// The tables have questions about this call. It is given as a message of the client's history, then
// as events, and then come the events of its result.
const (
	caller  = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"rm","arguments":"{\"path\":\"a\"}"}}]}`
	started = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm","parentMessageId":"a1"}`
	args    = `{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"path\":\"a\"}"}`
	closed  = `{"type":"TOOL_CALL_END","toolCallId":"c1"}`
	result  = `{"type":"TOOL_CALL_RESULT","messageId":"m9","toolCallId":"c1","content":"done"}`
)

// recorded returns a transcript with these messages, as the record has it from the time when the
// question was asked.
func recorded(messages ...string) *transcript.Transcript {
	list := make([]agui.Message, len(messages))
	for n, m := range messages {
		list[n] = agui.ParseMessage([]byte(m))
	}
	return transcript.New(1<<20, list, nil)
}

// replay passes events of the backend on to the client, as an exchange does. It returns the types
// of the events that the client gets, in the form of brief.
func replay(k *KnownCalls, events ...string) string {
	var list []agui.Event
	for _, text := range events {
		ev := agui.NewEvent([]byte(text))
		switch ev.Type {
		case agui.CallResult:
			ev = k.Separate(ev)
			call, _ := k.CallOf(ev)
			list = append(list, call...)
			k.NoteResult(ev)
		default:
			if k.ClientHas(ev) {
				continue
			}
			if c := k.LackingCall(ev); c != nil {
				c.NoteBegun(ev)
			}
		}
		list = append(list, ev)
	}
	return brief(list)
}

// TestKnownCalls: a client answers a question about a call, and the backend sends events of this
// call. The test checks which of these events the client gets.
func TestKnownCalls(t *testing.T) {
	t.Parallel()
	const (
		whole   = "TOOL_CALL_START(rm) TOOL_CALL_ARGS TOOL_CALL_END"
		itself  = "TOOL_CALL_RESULT(done)"
		inChunk = `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"rm","delta":"{"}`
		more    = `{"type":"TOOL_CALL_CHUNK","delta":"}"}`
		other   = `{"type":"TOOL_CALL_START","toolCallId":"c9","toolCallName":"ls"}`
		second  = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm","parentMessageId":"a2"}`
		early   = `{"type":"TOOL_CALL_RESULT","messageId":"result-n~x","toolCallId":"c1","content":"yes"}`
		alone   = `{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"rm"}`
		called  = `{"type":"TOOL_CALL_RESULT","messageId":"c1","toolCallId":"c1","content":"done"}`
		unseen  = `{"id":"n~x","reason":"confirmation","toolCallId":"c1"}`
	)
	p := asks(aboutCall, ended)
	hidden := asks(unseen, ended)
	hidden.Interrupts[0].CallUnseen = true
	unknown, lost := asks(aboutCall, ended), recorded(user)
	unknown.Interrupts[0].Calls = nil
	lost.ForgetMessages()
	holds, lacks := listen(t, older, user, caller), listen(t, older, user)
	news := listen(t, older, `{"id":"u2","role":"user","content":"yes"}`)
	// This client omits the message with the call, because it shows the call as a question.
	omits := listen(t, dotnet, user)
	for name, c := range map[string]struct {
		listener Listener
		pause    *agui.Pause
		known    *transcript.Transcript
		came     []string
		want     string
	}{
		"the client holds it: told once is enough":   {holds, p, recorded(user, caller), []string{started, args, closed, result}, itself},
		"it lacks it, and the backend tells it":      {lacks, p, recorded(user, caller), []string{started, args, closed, result}, whole + " " + itself},
		"it lacks it, and the backend does not":      {lacks, p, recorded(user, caller), []string{result}, whole + " " + itself},
		"only the question knows it":                 {lacks, p, recorded(user), []string{result}, whole + " " + itself},
		"it sends its new messages only":             {news, p, recorded(user, caller), []string{started, args, closed, result}, itself},
		".NET's lacks what it made a question of":    {omits, p, recorded(user, caller), []string{result}, whole + " " + itself},
		".NET's holds what it made no question of":   {listen(t, dotnet, user), asks(`{"id":"n~x","reason":"other","toolCallId":"c1"}`, ended), recorded(user, caller), []string{started, result}, itself},
		"a call that no stream has shown":            {lacks, hidden, recorded(user), []string{result}, itself},
		"a call that no stream has shown, for .NET":  {omits, hidden, recorded(user), []string{result}, whole + " " + itself},
		"the client's own form":                      {as(holds, translate.ShowNative), p, recorded(user, caller), []string{started, args, closed, result}, whole + " " + itself},
		"chunks of a call that it holds":             {holds, p, recorded(user, caller), []string{inChunk, more, result}, itself},
		"chunks of a call that it lacks":             {lacks, p, recorded(user, caller), []string{inChunk, more, result}, "TOOL_CALL_CHUNK(rm) TOOL_CALL_CHUNK " + itself},
		"another call":                               {holds, p, recorded(user, caller), []string{other}, "TOOL_CALL_START(ls)"},
		"one that begins after the result, same id":  {holds, p, recorded(user, caller), []string{result, started, args}, itself + " TOOL_CALL_START(rm) TOOL_CALL_ARGS"},
		"the answer told as a result, then the call": {holds, p, recorded(user, caller), []string{early, started, args}, "TOOL_CALL_RESULT(yes)"},
		"the same, and a call of another message":    {holds, p, recorded(user, caller), []string{early, second, args}, "TOOL_CALL_RESULT(yes) TOOL_CALL_START(rm) TOOL_CALL_ARGS"},
		"the same, and the call without a parent":    {holds, p, recorded(user, caller), []string{early, alone, args}, "TOOL_CALL_RESULT(yes)"},
		"too much was said to know the call":         {holds, unknown, lost, []string{started, args, result}, itself},
		"the call is not in what was said":           {holds, unknown, recorded(user), []string{started, args, result}, "TOOL_CALL_START(rm) TOOL_CALL_ARGS " + itself},
		"a call without a parent, its result":        {lacks, p, recorded(user, caller), []string{alone, called}, "TOOL_CALL_START(rm) " + itself},
	} {
		k := c.listener.KnownCalls(c.pause, make([]agui.Answer, 1), c.known)
		if got := replay(&k, c.came...); got != c.want || !k.Resumes() {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}

	var none KnownCalls
	if got := replay(&none, started, args, closed, result); got != whole+" "+itself || none.Resumes() || none.AnyLacking() {
		t.Errorf("a run that is no resume: %s", got)
	}
	k := lacks.KnownCalls(p, make([]agui.Answer, 1), recorded(user, caller))
	begun := agui.NewEvent([]byte(alone))
	k.ClientHas(begun)
	k.LackingCall(begun).NoteBegun(begun)
	if id := k.Separate(agui.NewEvent([]byte(called))).Get("messageId").Str; id != "result-c1" {
		t.Errorf("the result's message has the id of the call's: %s", id)
	}
}

// TestResultIDs checks that each result gets a message id that no other message has.
func TestResultIDs(t *testing.T) {
	t.Parallel()
	of := func(message, call string) agui.Event {
		return agui.NewEvent([]byte(`{"type":"TOOL_CALL_RESULT","messageId":"` + message + `","toolCallId":"` + call + `","content":"x"}`))
	}
	shown := recorded(user, strings.Replace(caller, `"id":"a1"`, `"id":"c1"`, 1), `{"id":"result-c8","role":"tool","toolCallId":"c8","content":"x"}`)
	var told ResultIDs
	for _, c := range []struct{ name, message, call, want string }{
		{"its own id", "m1", "c1", "m1"},
		{"the id of an earlier result", "m1", "c2", "result-c2"},
		{"the id of the message that has the call", "c1", "c1", "result-c1"},
		{"the id of its call, whose message has another", "c7", "c7", "c7"},
		{"a message has the other id already", "m1", "c8", "result-result-c8"},
		{"no id", "", "c3", ""},
	} {
		if got := told.Distinct(of(c.message, c.call), shown).Get("messageId").Str; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPassedResultsDoNotAllocate: Holdpoint compares the id of each result with the ids of earlier
// results. If it forwards the result unchanged, this must cost no allocation.
func TestPassedResultsDoNotAllocate(t *testing.T) {
	const runs = 200
	var told ResultIDs
	shown := transcript.New(1<<20, nil, nil)
	var results []agui.Event
	for n := range runs + 1 {
		results = append(results, agui.NewEvent(fmt.Appendf(nil, `{"type":"TOOL_CALL_RESULT","messageId":"r%d","toolCallId":"c%d","content":"x"}`, n, n)))
	}
	n := 0
	if allocs := testing.AllocsPerRun(runs, func() {
		if ev := told.Distinct(results[n], shown); ev.Edited {
			t.Errorf("edited: %s", ev.JSON)
		}
		n++
	}); allocs != 0 {
		t.Errorf("%v allocations for a result", allocs)
	}
	if ev := told.Distinct(results[0], shown); ev.Get("messageId").Str != "result-c0" {
		t.Errorf("a second result of that id: %s", ev.JSON)
	}
}
