package client

import (
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/words"
	"holdpoint/store"
	"holdpoint/translate"
)

// TestOwnResults: the client has answered the question about a call, and the backend sent no result
// of the call. The test checks which result Holdpoint sends to the client.
func TestOwnResults(t *testing.T) {
	t.Parallel()
	const whole = "TOOL_CALL_START(rm) TOOL_CALL_ARGS TOOL_CALL_END "
	yes := agui.Answer{ID: "n~x", Status: agui.Resolved, Meaning: agui.Approves}
	no := agui.Answer{ID: "n~x", Status: agui.Resolved, Meaning: agui.Denies}
	cancel := agui.Answer{ID: "n~x", Status: agui.Cancelled}
	free := agui.Answer{ID: "n~x", Status: agui.Resolved, Payload: []byte(`"blue"`)}
	p := asks(aboutCall, ended)
	hidden := asks(aboutCall, ended)
	hidden.Interrupts[0].CallUnseen = true
	net := listen(t, dotnet, user)
	// The in-tree client has the call: its next request includes it.
	tree := listen(t, inTree, `{"name":null,"id":"u1","role":"user","content":"go"}`, caller)
	tree.Show = translate.ShowOutcome // the form that the operator has chosen
	for name, c := range map[string]struct {
		listener Listener
		asked    *agui.Pause
		answer   agui.Answer
		next     *agui.Pause
		doubtful bool
		told     []string // results sent by the backend
		want     string
	}{
		"a yes":                              {net, p, yes, nil, false, nil, whole + "TOOL_CALL_RESULT(" + words.Approved + ")"},
		"a no":                               {net, p, no, nil, false, nil, whole + "TOOL_CALL_RESULT(" + words.Denied + ")"},
		"a cancel":                           {net, p, cancel, nil, false, nil, whole + "TOOL_CALL_RESULT(" + words.Denied + ")"},
		"an answer that is neither":          {net, p, free, nil, false, nil, whole + "TOOL_CALL_RESULT(" + words.Answered + ")"},
		"a yes that may have run":            {net, p, yes, nil, true, nil, whole + "TOOL_CALL_RESULT(" + words.InDoubt + ")"},
		"a no beside a doubt":                {net, p, no, nil, true, nil, whole + "TOOL_CALL_RESULT(" + words.Denied + ")"},
		"the backend told one":               {net, p, yes, nil, false, []string{result}, ""},
		"the backend told the call alone":    {net, p, yes, nil, false, []string{started, args, closed}, "TOOL_CALL_RESULT(" + words.Approved + ")"},
		"the call is asked about again":      {net, p, yes, asks(aboutCall, ended), false, nil, ""},
		"another one is asked about":         {net, p, yes, asks(`{"id":"n~z","reason":"tool_call","toolCallId":"c5"}`, ended), false, nil, whole + "TOOL_CALL_RESULT(" + words.Approved + ")"},
		"a call that no stream has shown":    {net, hidden, yes, nil, false, nil, ""},
		"it holds the call, in-tree":         {tree, p, yes, nil, false, nil, `TOOL_CALL_RESULT("` + words.Approved + `")`},
		"it holds the call, AGUI.Client":     {listen(t, dotnet, user, caller), p, yes, nil, false, nil, ""},
		"AG-UI 1.0 needs none":               {listen(t, official, user), p, yes, nil, false, nil, ""},
		"an unknown one needs none":          {listen(t, older, user), p, yes, nil, false, nil, ""},
		"the own form has nothing made here": {as(net, translate.ShowNative), p, yes, nil, false, nil, ""},
		"no question was answered":           {net, nil, yes, nil, false, nil, ""},
	} {
		k := c.listener.KnownCalls(p, []agui.Answer{c.answer}, recorded(user, caller))
		replay(&k, c.told...)
		if got := brief(c.listener.OwnResults(&k, c.asked, c.next, c.doubtful)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	var none KnownCalls
	if got := net.OwnResults(&none, p, nil, false); got != nil {
		t.Errorf("a run that is no resume: %s", brief(got))
	}
	k := net.KnownCalls(p, []agui.Answer{yes}, recorded(user, caller))
	if net.OwnResults(&k, p, nil, false); len(net.OwnResults(&k, p, nil, false)) != 0 {
		t.Error("a result is told twice")
	}
}

// TestRecordedResults: a question has ended, and the record says how. The test checks the text of
// the result that Holdpoint makes for its call.
func TestRecordedResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given store.GivenAnswer
		how   store.EndKind
		want  string
	}{
		"a yes":                   {store.GivenAnswer{ID: "n~x", Status: agui.Resolved, Verdict: agui.VerdictApproved}, store.Finished, words.Approved},
		"a no":                    {store.GivenAnswer{ID: "n~x", Status: agui.Resolved, Verdict: agui.VerdictDenied}, store.Finished, words.Denied},
		"a cancel":                {store.GivenAnswer{ID: "n~x", Status: agui.Cancelled}, store.Finished, words.Denied},
		"neither":                 {store.GivenAnswer{ID: "n~x", Status: agui.Resolved}, store.Finished, words.Answered},
		"a yes that may have run": {store.GivenAnswer{ID: "n~x", Status: agui.Resolved, Verdict: agui.VerdictApproved}, store.Doubtful, words.InDoubt},
		"a no beside a doubt":     {store.GivenAnswer{ID: "n~x", Status: agui.Resolved, Verdict: agui.VerdictDenied}, store.Doubtful, words.Denied},
		"to another question":     {store.GivenAnswer{ID: "o~y", Status: agui.Resolved, Verdict: agui.VerdictApproved}, store.Finished, words.Answered},
	} {
		if got := recordedContent(&store.Result{EndKind: c.how, GivenAnswers: []store.GivenAnswer{c.given}}, "n~x"); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
