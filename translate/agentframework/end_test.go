package agentframework

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// resumed plays stream to a run that answers the pause p. resume contains the answers.
func resumed(t *testing.T, p agui.Pause, l *dialecttest.Log, resume string, stream ...string) dialecttest.Played {
	t.Helper()
	_, run := answering(t, p, l, input(t, resume))
	return play(t, run, l, stream...)
}

func TestDeniedCallGetsItsResult(t *testing.T) {
	text := []string{started, textOpen, textEnds}
	for name, c := range map[string]struct {
		finish string
		resume string
		stream []string
		want   string
	}{
		"with a text":       {withList("a"), no, append(text, finished), "RUN_STARTED TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_END"},
		"with nothing":      {withList("a"), no, []string{started, finished}, "RUN_STARTED TOOL_CALL_RESULT"},
		"cancelled":         {withOutcome(schemaOld, "a"), "", append(text, finished), "RUN_STARTED TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_END"},
		"told by a backend": {withOutcome(schemaOld, "a"), no, []string{started, result("a", "denied"), finished}, "RUN_STARTED TOOL_CALL_RESULT"},
		"in a failed run":   {withList("a"), no, []string{started, failedWith("X", "x")}, "RUN_STARTED TOOL_CALL_RESULT"},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, asking(c.finish, "", "a")...)
			got := resumed(t, p, l, entries(p, c.resume), c.stream...)
			if got.Types() != c.want || !strings.Contains(got.Text(), `"messageId":"result-a~r1","toolCallId":"a","content":"`+resultRejected+`"`) {
				t.Errorf("told %s\n%s", got.Types(), got.Text())
			}
			if got.Result.Fate == translate.Lost {
				t.Error("lost")
			}
		})
	}
}

// TestDeclaredToolGetsNoResult: if the client runs a tool itself, Holdpoint must not make a result
// for it.
func TestDeclaredToolGetsNoResult(t *testing.T) {
	stream := events([]string{started}, toolCall("w", "write", `{}`), confirms("c", "w"), []string{withConfirm("c", "w")})
	p, l := pausedBy(t, stream...)
	_, run := answering(t, p, l, input(t, `"tools":[{"name":"write"}],`+entries(p, yes)))
	if got := play(t, run, l, started, textOpen, textEnds, finished); strings.Contains(got.Types(), "RESULT") {
		t.Errorf("told %s", got.Types())
	}
	_, run = answering(t, p, l, input(t, entries(p, yes)))
	if got := play(t, run, l, started, textOpen, textEnds, finished); !strings.Contains(got.Text(), resultAccepted) {
		t.Errorf("told %s", got.Types())
	}
}

func TestApprovedCallWithoutAResult(t *testing.T) {
	text := []string{started, textOpen, textEnds, snapshotOf(user, said("a"), `{"id":"m1","role":"assistant","content":"done"}`), finished}
	hosted := []string{started, callEnds("a"), asks("a", "a"), withList("a")}
	again := asking(withList("b"), "", "b")
	two := asking(withList("a", "b"), "", "a", "b")
	for name, c := range map[string]struct {
		pause, stream []string
		want          string // lost, doubt, or ""
		says          string // the text of the result in the client's history
	}{
		"1.0.0rc7 or 1.0.0b260225": {asking(withList("a"), "", "a"), text, "doubt", resultUntold},
		"1.0.0rc7, two":            {two, text, "lost", resultLost},
		"1.0.0rc7, one of two":     {two, append([]string{started, result("b", "done")}, text[1:]...), "doubt", resultLost},
		"1.0.0rc7, asks again":     {asking(withList("a"), "", "a"), again, "doubt", resultUntold},
		"1.0.0rc7, two, asks":      {two, again, "lost", resultLost},
		"1.0.0rc8":                 {asking(withOutcome(schemaOld, "a"), "", "a"), text, "doubt", resultUntold},
		"the provider's tool":      {hosted, text, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, c.pause...)
			answers := []string{"true", "true"}[:len(p.Interrupts)]
			got := resumed(t, p, l, entries(p, answers...), c.stream...)
			if (got.Result.Fate == translate.Lost) != (c.want == "lost") || (got.Result.Fate == translate.InDoubt) != (c.want == "doubt") || got.Result.Next != nil || len(got.Result.Asked.Interrupts) > 0 {
				t.Errorf("%+v", got.Result)
			}
			told := got.Text()
			if c.says == "" && strings.Contains(told, "RESULT") || !strings.Contains(told, c.says) {
				t.Errorf("told %s", told)
			}
			if c.says != "" && strings.Index(told, c.says) > strings.Index(told, "TEXT_MESSAGE_START") {
				t.Errorf("the result stands behind the words: %s", told)
			}
			if c.want != "" && strings.Contains(told, `"b"`) && !strings.Contains(told, resultNotRun) && len(answers) == 1 {
				t.Errorf("a call that nobody will be asked about is open: %s", told)
			}
		})
	}
	t.Run("told in the snapshot only", func(t *testing.T) {
		p, l := pausedBy(t, asking(withList("a"), "", "a")...)
		got := resumed(t, p, l, entries(p, "true"), started, textOpen, textEnds, snapshotOf(user, said("a"), toolMessage("holdpoint-x", "a", "deleted")), finished)
		if got.Result.Fate == translate.Lost || got.Types() != "RUN_STARTED TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_END" || !strings.Contains(got.Text(), `"toolCallId":"a","content":"deleted"`) {
			t.Errorf("%+v\n%s", got.Result, got.Text())
		}
	})
	t.Run("known to keep what it asks since it asked before", func(t *testing.T) {
		p, l := pausedBy(t, asking(withList("a"), "", "a")...)
		next := resumed(t, p, l, entries(p, "true"), append([]string{started, result("a", "done")}, again[1:]...)...)
		p = dialecttest.WithIDs(next.Result.Asked.Pause(Name))
		if got := resumed(t, p, l, entries(p, "true"), text...); got.Result.Fate != translate.Lost {
			t.Errorf("%+v", got.Result)
		}
	})
}

func TestErrorsOfAResume(t *testing.T) {
	status := `{"type":"CUSTOM","name":"status","value":{"state":"IN_PROGRESS"}}`
	approve := asking(withOutcome(schemaOld, "a"), "", "a")
	flow := append(append([]string{started}, requests("q", "dict", `{}`)...), `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"input_required","metadata":{"agent_framework":{"type":"workflow_request_info"}}}]}}`)
	type want struct {
		lost, nothing bool
		finish        agui.Type
	}
	for name, c := range map[string]struct {
		pause  []string
		resume string
		stream []string
		want   want
	}{
		"not found":                           {approve, yes, []string{started, failedWith("APPROVAL_RESUME_NOT_FOUND", "x")}, want{lost: true}},
		"not found, denied":                   {approve, no, []string{started, failedWith("APPROVAL_RESUME_NOT_FOUND", "x")}, want{lost: true}},
		"not found behind words":              {approve, yes, []string{started, textOpen, failedWith("APPROVAL_RESUME_NOT_FOUND", "x")}, want{finish: agui.RunErrored}},
		"invalid":                             {approve, yes, []string{started, failedWith("APPROVAL_RESUME_INVALID", "x")}, want{nothing: true, finish: agui.RunErrored}},
		"invalid response":                    {approve, yes, []string{started, failedWith("APPROVAL_RESUME_INVALID_RESPONSE", "x")}, want{nothing: true, finish: agui.RunErrored}},
		"one is missing":                      {approve, yes, []string{started, failedWith("APPROVAL_RESUME_MISSING_INTERRUPT", "x")}, want{nothing: true, finish: agui.RunErrored}},
		"the tool is not there":               {approve, yes, []string{started, failedWith("APPROVAL_TOOL_UNAVAILABLE", "x")}, want{nothing: true, finish: agui.RunErrored}},
		"a cancel that is refused":            {approve, "", []string{started, failedWith("APPROVAL_RESUME_INVALID", "x")}, want{finish: agui.RunErrored}},
		"invalid behind words":                {approve, yes, []string{started, textOpen, failedWith("APPROVAL_RESUME_INVALID", "x")}, want{finish: agui.RunErrored}},
		"the model fails":                     {approve, yes, []string{started, result("a", "done"), failedWith("RuntimeError", "x")}, want{finish: agui.RunErrored}},
		"the model fails before anything":     {approve, yes, []string{failedWith("RuntimeError", "x")}, want{finish: agui.RunErrored}},
		"workflow: not found":                 {flow, `{}`, []string{started, failedWith("WORKFLOW_RESUME_NOT_FOUND", "x")}, want{lost: true}},
		"workflow: of another type":           {flow, `{}`, []string{started, failedWith("WORKFLOW_RESUME_INVALID_RESPONSE", "x")}, want{nothing: true, finish: agui.RunErrored}},
		"workflow: waits for nothing":         {flow, `{}`, []string{started, status, failedWith("RuntimeError", "No pending requests found in workflow context.")}, want{lost: true}},
		"workflow: waits for nothing, 1.7.0":  {flow, `{}`, []string{started, failedWith("RuntimeError", "Workflow execution failed.")}, want{lost: true}},
		"workflow: fails":                     {flow, `{}`, []string{started, status, `{"type":"STEP_STARTED","stepName":"x"}`, failedWith("RuntimeError", "Workflow execution failed.")}, want{finish: agui.RunErrored}},
		"workflow: cancelled, 1.0.0rc8":       {flow, "", []string{started, failedWith("WORKFLOW_RESUME_CANCELLED", "x")}, want{finish: agui.RunFinished}},
		"workflow: cancelled, 1.7.0":          {flow, "", []string{started, finished}, want{finish: agui.RunFinished}},
		"an agent says what a workflow would": {approve, yes, []string{started, failedWith("RuntimeError", "Workflow execution failed.")}, want{finish: agui.RunErrored}},
		"a cut":                               {approve, yes, []string{started}, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, c.pause...)
			res := resumed(t, p, l, entries(p, c.resume), c.stream...).Result
			if got := (want{res.Fate == translate.Lost, res.Fate == translate.Untouched, res.Finish.Type}); got != c.want || res.Next != nil {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestFailedRunLeavesNoCallOpen: if a run fails, each approved call must have a result, because the
// model might make the call again otherwise.
func TestFailedRunLeavesNoCallOpen(t *testing.T) {
	p, l := pausedBy(t, asking(withOutcome(schemaOld, "a"), "", "a")...)
	got := resumed(t, p, l, entries(p, yes), failedWith("RuntimeError", "x"))
	if got.Types() != "RUN_STARTED TOOL_CALL_RESULT" || !strings.Contains(got.Text(), resultInDoubt) {
		t.Errorf("told %s\n%s", got.Types(), got.Text())
	}
	p, l = pausedBy(t, asking(withOutcome(schemaOld, "a"), "", "a")...)
	if got := resumed(t, p, l, entries(p, yes), started, failedWith("APPROVAL_RESUME_INVALID", "x")); got.Types() != "RUN_STARTED" {
		t.Errorf("the question stays open, and told was %s", got.Types())
	}
	p, l = pausedBy(t, asking(withOutcome(schemaOld, "a"), "", "a")...)
	l.Say(agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"more"}`)))
	_, run := answering(t, p, l, input(t, entries(p, yes)), func(r *translate.Request) {
		r.NewMessages = []agui.Message{agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"more"}`))}
	})
	got = play(t, run, l, started, failedWith("APPROVAL_RESUME_NOT_FOUND", "x"))
	u2 := `{"id":"u2","role":"user","content":"more"}`
	told := `{"id":"result-a~r1","role":"tool","content":"` + resultLost + `","toolCallId":"a"}`
	if all := got.All(); got.Types() != "RUN_STARTED MESSAGES_SNAPSHOT TOOL_CALL_RESULT MESSAGES_SNAPSHOT" || got.Result.Fate != translate.Lost ||
		string(all[1].JSON) != snapshotOf(user, said("a")) || string(all[3].JSON) != snapshotOf(user, said("a"), told, u2) {
		t.Errorf("told %s", got.Text())
	}
}

// TestAnswersThatWereLeftBehind: the backend acts on only one answer of a request. Holdpoint must
// send the other answers in further exchanges.
func TestAnswersThatWereLeftBehind(t *testing.T) {
	p, l := pausedBy(t, asking(withOutcome(schemaOld, "a", "b", "c"), "", "a", "b", "c")...)
	_, run := answering(t, p, l, input(t, entries(p, yes, no, yes)))
	text := `{"id":"m5","role":"assistant","content":"c is gone"}`
	open, ends := strings.Replace(textOpen, "m1", "m5", 1), strings.Replace(textEnds, "m1", "m5", 1)
	got := play(t, run, l, started, result("c", "gone c"), open, ends, snapshotOf(user, said("a", "b", "c"), toolMessage("x", "c", "gone c"), text), finished)
	if strings.Contains(got.Types(), "TEXT") {
		t.Errorf("told %s", got.Text())
	}
	next := got.Result.Next
	if next == nil || !next.Out.Resumes {
		t.Fatalf("%+v", got.Result)
	}
	if way := wayOf(next.Out); way != `array [{"interruptId":"b","status":"resolved","payload":{"accepted":false}},{"interruptId":"a","status":"resolved","payload":{"accepted":true}}]` {
		t.Errorf("sent %s", way)
	}
	sentMessages := sent(next.Out, "messages").Raw
	if strings.Contains(sentMessages, "c is gone") || !strings.Contains(sentMessages, "gone c") || strings.Contains(sentMessages, resultRejected) {
		t.Errorf("messages %s", sentMessages)
	}
	// Both approved calls have run now. The client gets the text of the first exchange after the
	// results.
	last := play(t, next.Run, l, started, result("a", "gone a"), snapshotOf(user, said("a", "b", "c"), toolMessage("x", "c", "gone c"), toolMessage("y", "a", "gone a"), toolMessage("z", "b", resultRejected)), finished)
	if last.Result.Next != nil || last.Result.Finish.Type != agui.RunFinished {
		t.Errorf("%+v", last.Result)
	}
	if got := last.Types(); got != "RUN_STARTED TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_END" {
		t.Errorf("told %s", last.Text())
	}
}

func TestWhatIsLeftBehindIsAskedAgainBesideANewQuestion(t *testing.T) {
	p, l := pausedBy(t, asking(withOutcome(schemaOld, "a", "b"), "", "a", "b")...)
	_, run := answering(t, p, l, input(t, entries(p, yes, yes)))
	stream := asking(withOutcome(schemaOld, "d"), "", "d")
	got := play(t, run, l, append([]string{started, result("b", "gone b")}, stream[1:]...)...)
	var ids []string
	for _, i := range got.Result.Asked.Interrupts {
		ids = append(ids, i.Native)
		if a, ok := askOf(i); !ok || a.Call != i.Native {
			t.Errorf("kept %+v", a)
		}
	}
	if strings.Join(ids, " ") != "d a" || got.Result.Next != nil {
		t.Fatalf("asks %q", ids)
	}
	// An earlier answer must not count for the new question.
	again := dialecttest.WithIDs(got.Result.Asked.Pause(Name))
	if _, _, err := resumeWith(t, newDialect(t), again, l, input(t, entries(again, yes))); dialecttest.Code(err) != agui.PartialResume {
		t.Errorf("%v", err)
	}
}

func TestLeftBehindEndings(t *testing.T) {
	first := []string{started, result("b", "gone b"), finished}
	for name, c := range map[string]struct {
		first, second []string
		want          agui.Type // agui.Unknown: the answers are in doubt
	}{
		"it was taken after all":     {first, []string{started, failedWith("APPROVAL_RESUME_NOT_FOUND", "x")}, agui.Unknown},
		"it fails":                   {first, []string{started, failedWith("X", "x")}, agui.RunErrored},
		"the model failed between":   {[]string{started, result("b", "gone b"), failedWith("X", "x")}, []string{started, result("a", "gone a"), finished}, agui.RunFinished},
		"the model failed for good":  {[]string{started, result("b", "gone b"), failedWith("X", "x")}, []string{started, failedWith("APPROVAL_RESUME_NOT_FOUND", "x")}, agui.Unknown},
		"nothing shows that it runs": {first, []string{started, finished}, agui.Unknown},
		// Holdpoint must not repeat the answer forever
		"only the other is told": {first, first, agui.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, asking(withOutcome(schemaOld, "a", "b"), "", "a", "b")...)
			got := resumed(t, p, l, entries(p, yes, yes), c.first...)
			if got.Result.Next == nil {
				t.Fatalf("%+v", got.Result)
			}
			last := play(t, got.Result.Next.Run, l, c.second...)
			if last.Result.Next != nil || last.Result.Fate == translate.Lost || last.Result.Finish.Type != c.want || (last.Result.Fate == translate.InDoubt) != (c.want == agui.Unknown) {
				t.Errorf("%+v", last.Result)
			}
		})
	}
	t.Run("only the denied is left", func(t *testing.T) {
		p, l := pausedBy(t, asking(withOutcome(schemaOld, "a", "b"), "", "a", "b")...)
		stream := []string{started, result("a", "gone a"), snapshotOf(user, said("a", "b"), toolMessage("x", "a", "gone a")), finished}
		got := resumed(t, p, l, entries(p, yes, no), stream...)
		if got.Result.Next == nil {
			t.Fatalf("%+v", got.Result)
		}
		if last := play(t, got.Result.Next.Run, l, stream...); last.Result.Next != nil || last.Result.Fate == translate.InDoubt || last.Result.Finish.Type != agui.RunFinished {
			t.Errorf("%+v", last.Result)
		}
	})
	t.Run("a batch of a version that acts on all", func(t *testing.T) {
		p, l := pausedBy(t, asking(withOutcome(schemaNew, "a", "b"), "", "a", "b")...)
		got := resumed(t, p, l, entries(p, yes, yes), started, result("a", "x"), result("b", "y"), failedWith("X", "x"))
		if got.Result.Next != nil || got.Result.Finish.Type != agui.RunErrored {
			t.Errorf("%+v", got.Result)
		}
	})
}

// TestBatchOfWhichNothingRanStaysOpen: the client approves one call and denies another. Holdpoint
// makes Agent Framework 1.7.0 forget its earlier answers first. If that failed, the backend repeats
// only the question about the denied call, but waits for answers to both. So both questions must be
// open.
func TestBatchOfWhichNothingRanStaysOpen(t *testing.T) {
	p, l := pausedBy(t, asking(withOutcome(schemaNew, "af-a", "af-b"), "af-", "a", "b")...)
	_, run := answering(t, p, l, input(t, entries(p, yes, no)))
	next := play(t, run, l, started, failedWith("APPROVAL_RESUME_NOT_FOUND", "x")).Result.Next
	got := play(t, next.Run, l, started, callEnds("b"), asks("af-b", "b"), withOutcome(schemaNew, "af-b"))
	list := got.Result.Asked.Interrupts
	if len(list) != 2 || list[0].Native != "af-b" || list[1].Native != "af-a" {
		t.Errorf("%+v", list)
	}
}

// TestWorkflowOfWhichOneQuestionIsCancelled: the client cancels one question and answers another.
// 1.0.0rc8 responds to the cancel with an error for both, and forgets only the cancelled question.
// Holdpoint must send the other answer again.
func TestWorkflowOfWhichOneQuestionIsCancelled(t *testing.T) {
	flow := append(append([]string{started}, requests("q", "dict", `{}`)...), requests("w", "dict", `{}`)...)
	flow = append(flow, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"input_required"},{"id":"w","reason":"input_required"}]}}`)
	p, l := pausedBy(t, flow...)
	got := resumed(t, p, l, entries(p, "", `{"x":1}`), started, failedWith("WORKFLOW_RESUME_CANCELLED", "x"))
	if got.Result.Next == nil {
		t.Fatalf("%+v", got.Result)
	}
	if way := wayOf(got.Result.Next.Out); way != `array [{"interruptId":"w","status":"resolved","payload":{"x":1}}]` {
		t.Errorf("sent %s", way)
	}
	if last := play(t, got.Result.Next.Run, l, started, finished); last.Result.Next != nil || last.Result.Finish.Type != agui.RunFinished {
		t.Errorf("%+v", last.Result)
	}
}

func TestNewMessagesSentWithTheAnswers(t *testing.T) {
	beside := agui.ParseMessage([]byte(`{"id":"u2","role":"user","content":"more"}`))
	outcome := func(ids ...string) string { return withOutcome(schemaOld, ids...) }
	for name, finish := range map[string]func(...string) string{"1.0.0rc7": withList, "1.0.0rc8": outcome} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, asking(finish("a"), "", "a")...)
			l.Say(beside)
			out, run := answering(t, p, l, input(t, entries(p, "true")), func(r *translate.Request) { r.NewMessages = []agui.Message{beside} })
			if strings.Contains(sent(out, "messages").Raw, "u2") || out.TakesNew {
				t.Errorf("sent %s", sent(out, "messages").Raw)
			}
			res := play(t, run, l, started, result("a", "done"), finished).Result
			if res.Next == nil || !res.Next.Out.TakesNew || res.Next.Out.Resumes || lastMessage(res.Next.Out).Get("id").Str != "u2" {
				t.Fatalf("%+v", res.Next)
			}
			if sent(res.Next.Out, "resume").Exists() {
				t.Errorf("body %s", res.Next.Out.Body)
			}
			if paused := play(t, res.Next.Run, l, asking(finish("b"), "", "b")...).Result; len(paused.Asked.Pause(Name).Interrupts) != 1 || paused.Next != nil {
				t.Errorf("%+v", paused)
			}
			// If the resumed run pauses again, Holdpoint must keep the new messages, and send them
			// with the next answer.
			p, l = pausedBy(t, asking(finish("a"), "", "a")...)
			_, run = answering(t, p, l, input(t, entries(p, "true")), func(r *translate.Request) { r.NewMessages = []agui.Message{beside} })
			stream := asking(finish("b"), "", "b")
			if res := play(t, run, l, append([]string{started, result("a", "done")}, stream[1:]...)...).Result; res.Next != nil || len(res.Asked.Interrupts) != 1 {
				t.Errorf("%+v", res)
			}
		})
	}
}

// TestCallBesideAnApproval: a turn has a call that needs an approval, and other calls. 1.0.0rc7
// does not run the other calls. So Holdpoint must make a result for each of them.
func TestCallBesideAnApproval(t *testing.T) {
	stream := asking(withList("a"), "", "a")
	stream = append(append([]string{stream[0], stream[1]}, toolCall("s", "search", `{}`)...), stream[2:]...)
	stream[len(stream)-2] = snapshotOf(user, said("s", "a"))
	p, l := pausedBy(t, stream...)
	got := resumed(t, p, l, entries(p, yes), started, result("a", "done"), finished)
	if !strings.Contains(got.Text(), resultSkipped) {
		t.Errorf("told %s", got.Text())
	}
	outcome := append([]string{}, stream...)
	outcome[len(outcome)-1] = withOutcome(schemaOld, "a")
	p, l = pausedBy(t, outcome...)
	if got := resumed(t, p, l, entries(p, yes), started, result("s", "found"), result("a", "done"), finished); strings.Contains(got.Text(), resultSkipped) || strings.Count(got.Types(), "RESULT") != 2 {
		t.Errorf("told %s", got.Text())
	}
}

// TestReasonIsText: every client fails if the reason of an interrupt is not a string. So Holdpoint
// must make each reason a string.
func TestReasonIsText(t *testing.T) {
	for name, outcome := range map[string]string{
		"an input of the .NET host":    `{"id":"x","reason":true}`,
		"an approval of the .NET host": `{"id":"x","reason":1,"toolCallId":"a"}`,
		"an approval":                  `{"id":"a","reason":{},"toolCallId":"a","metadata":{"agent_framework":{"type":"function_approval_request"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			finish := `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1","outcome":{"type":"interrupt","interrupts":[` + outcome + `]}}`
			p, _ := pausedBy(t, started, callEnds("a"), finish)
			for _, i := range p.Interrupts {
				if i.Reason() == "" {
					t.Errorf("asks %s", i.Object)
				}
			}
		})
	}
}
