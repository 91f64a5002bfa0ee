package client

import (
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate"
)

const inTreeUser = `{"name":null,"id":"u1","role":"user","content":"go"}`

// TestCallsAgain: Holdpoint sends a question again. The test checks which calls it streams before
// the question. A client that ignores snapshots shows a question only if the call streams in the
// same run.
func TestCallsAgain(t *testing.T) {
	t.Parallel()
	const whole = "TOOL_CALL_START(rm) TOOL_CALL_ARGS TOOL_CALL_END"
	p := asks(aboutCall, ended)
	hidden := asks(aboutCall, ended)
	hidden.Interrupts[0].CallUnseen = true
	unknown := asks(aboutCall, ended)
	unknown.Interrupts[0].Calls[0].ArgumentsUnknown = true
	decided := asks(aboutCall, ended)
	decided.Decisions = []agui.Decision{{Question: "n~x"}}
	announced := asks(aboutCall, ended, started)
	net := listen(t, dotnet, user)
	for name, c := range map[string]struct {
		listener Listener
		pause    *agui.Pause
		told     []string // events of this run so far
		want     string
	}{
		".NET's lacks it":                       {net, p, nil, whole},
		".NET's has it":                         {listen(t, dotnet, user, caller), p, nil, ""},
		".NET's sends its new messages only":    {listen(t, dotnet, `{"role":"user","content":"more"}`), p, nil, ""},
		"this run has begun it":                 {net, p, []string{started}, ""},
		"the backend's announcement has it":     {as(net, translate.ShowBoth), announced, nil, ""},
		"the announcement is not told":          {as(net, translate.ShowOutcome), announced, nil, whole},
		"the question is decided":               {net, decided, nil, ""},
		"no stream has shown it":                {net, hidden, nil, ""},
		"it is not known whole":                 {net, unknown, nil, ""},
		"a question about no call":              {net, asks(question, ended), nil, ""},
		"AG-UI 1.0 has it from a snapshot":      {listen(t, official, user), p, nil, ""},
		"an unknown one has it from a snapshot": {listen(t, older, user), p, nil, ""},
		"the own form has nothing made here":    {listen(t, inTree, inTreeUser), p, nil, ""},
	} {
		var k KnownCalls
		if c.told != nil {
			k = c.listener.KnownCalls(p, make([]agui.Answer, 1), recorded(user, caller))
			replay(&k, c.told...)
		}
		if got := brief(c.listener.CallsAgain(c.pause, &k)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestEndAgain: a client that ignores snapshots gets the recorded end of a run. The test checks
// which events of this end Holdpoint streams to it.
func TestEndAgain(t *testing.T) {
	t.Parallel()
	const (
		resume = `[{"interruptId":"n~x","status":"resolved"}]`
		reply  = `{"id":"m9","role":"tool","toolCallId":"c1","content":"done"}`
		next   = `{"id":"a2","role":"assistant","content":"It is gone.","toolCalls":[{"id":"c2","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
		listed = `{"id":"m8","role":"tool","toolCallId":"c2","content":"empty"}`
		both   = `{"id":"a1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"rm","arguments":"{}"}},{"id":"c3","type":"function","function":{"name":"df","arguments":"{}"}}]}`
		other  = `{"id":"m7","role":"tool","toolCallId":"c3","content":"none"}`
		asking = "TOOL_CALL_START(rm) TOOL_CALL_ARGS TOOL_CALL_END "
	)
	ended := func(edit func(*store.Result)) *store.Result {
		p := asks(aboutCall, ended)
		p.SeenMessages = append(p.SeenMessages, agui.NewSeenMessage(agui.ParseMessage([]byte(caller))))
		r := &store.Result{Pause: p, EndKind: store.Finished, GivenAnswers: []store.GivenAnswer{{ID: "n~x", Status: agui.Resolved, Verdict: agui.VerdictApproved}}}
		if edit != nil {
			edit(r)
		}
		return r
	}
	repeat := func(body string, messages ...string) Listener {
		return listen(t, string(agui.SetKey([]byte(body), "resume", []byte(resume))), messages...)
	}
	for name, c := range map[string]struct {
		listener Listener
		result   *store.Result
		messages string // the messages that the store keeps
		want     string // "-": nothing is streamed
	}{
		"the call and its result":                {repeat(dotnet, user), ended(nil), "[" + user + "," + caller + "," + reply + "]", asking + "TOOL_CALL_RESULT(done)"},
		"what followed":                          {repeat(dotnet, user), ended(nil), "[" + user + "," + caller + "," + reply + "," + next + "," + listed + "]", asking + "TOOL_CALL_RESULT(done) TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START(ls) TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_RESULT(empty)"},
		"the client has the result":              {repeat(dotnet, user, caller, `{"role":"tool","content":"done","toolCallId":"c1","id":"c1"}`), ended(nil), "[" + user + "," + caller + "," + reply + "]", ""},
		"the client has the call":                {repeat(dotnet, user, caller), ended(nil), "[" + user + "," + caller + "," + reply + "]", "TOOL_CALL_RESULT(done)"},
		"a call that was not asked about":        {repeat(dotnet, user), ended(nil), "[" + user + "," + both + "," + reply + "," + other + "]", asking + "TOOL_CALL_RESULT(done) TOOL_CALL_RESULT(none)"},
		"no result was told":                     {repeat(dotnet, user), ended(nil), "[" + user + "," + caller + "]", asking + "TOOL_CALL_RESULT(" + words.Approved + ")"},
		"the store keeps no messages":            {repeat(dotnet, user), ended(nil), "", asking + "TOOL_CALL_RESULT(" + words.Approved + ")"},
		"in doubt":                               {repeat(dotnet, user), ended(func(r *store.Result) { r.EndKind = store.Doubtful }), "", asking + "TOOL_CALL_RESULT(" + words.InDoubt + ")"},
		"an id that can be guessed":              {repeat(dotnet, user), ended(func(r *store.Result) { r.Pause.Interrupts[0].Native = "n~x" }), "", "-"},
		"another question":                       {repeat(dotnet, user), ended(func(r *store.Result) { r.Pause.Interrupts[0].ID = "n~z" }), "", "-"},
		"a question that is forgotten":           {repeat(dotnet, user), ended(func(r *store.Result) { r.Pause = nil }), "", "-"},
		"AG-UI 1.0 takes snapshots":              {repeat(official, user), ended(nil), "", "-"},
		"an unknown one takes snapshots":         {repeat(older, user), ended(nil), "", "-"},
		"the own form has nothing made here":     {as(repeat(dotnet, user), translate.ShowNative), ended(nil), "", "-"},
		"it names no question, and could be any": {listen(t, dotnet, user), ended(nil), "", "-"},
	} {
		if !c.listener.LacksEnd(c.result) {
			if c.want != "-" {
				t.Errorf("%s: nothing is streamed", name)
			}
			continue
		}
		if got := brief(c.listener.EndAgain(c.result, []byte(c.messages))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
