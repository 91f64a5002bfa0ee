package agentframework

import (
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const declaresPick = `"tools":[{"name":"pick","description":"","parameters":{}}]`

func picks(id string) []string { return toolCall(id, "pick", `{"label":"x"}`) }

// mixedTurn returns the pause of a turn with two calls: a, which the backend asks about, and p,
// which is the client's own. It also returns the transcript and the played stream.
func mixedTurn(t *testing.T, more []string, finish string) (agui.Pause, *dialecttest.Log, dialecttest.Played) {
	t.Helper()
	stream := events([]string{started, textOpen}, toolCall("a", "rm", `{"path":"a"}`), picks("p"), []string{asks("af-a", "a")}, confirms("confirm-a", "a"), more, []string{textEnds, finish})
	played, l := playPlain(t, declaresPick, stream...)
	return dialecttest.WithIDs(played.Result.Asked.Pause(Name)), l, played
}

// answersBeside resumes the pause of mixedTurn with the payload as its answer. The parameter beside
// contains further messages of the request.
func answersBeside(t *testing.T, p agui.Pause, l *dialecttest.Log, payload string, beside ...string) (translate.Out, translate.Run, error) {
	t.Helper()
	list, _ := l.Messages()
	var all []string
	for _, m := range list {
		all = append(all, string(m))
	}
	in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[`+strings.Join(append(all, beside...), ",")+`],`+declaresPick+`,`+entries(p, payload)+`}`)
	return dialecttest.Resume(newDialect(t), p, in, dialecttest.NewLog(in.Messages), func(r *translate.Request) { r.NewMessages = in.Messages[len(all):] })
}

// TestClientsResultGoesWithTheAnswers: the client sends the result of its own call together with
// answers. Holdpoint must send this result with the answers, after its call. Without the result,
// Agent Framework 1.7.0 runs nothing. After a denial, it also never answers again, unless an
// exchange before that made it forget the earlier answers.
func TestClientsResultGoesWithTheAnswers(t *testing.T) {
	red, more := toolMessage("t1", "p", "red"), `{"id":"u2","role":"user","content":"and"}`
	for name, c := range map[string]struct {
		payload string
		beside  []string
		forgets bool
		code    agui.Code
		left    int
	}{
		"approved":               {payload: yes, beside: []string{red}},
		"with the person's word": {payload: yes, beside: []string{more, red}, left: 1},
		"it is missing":          {payload: yes, code: agui.PartialResume},
		"denied":                 {payload: no, beside: []string{red}, forgets: true},
		"cancelled":              {beside: []string{red}, forgets: true},
		"cancelled, missing":     {forgets: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, l, _ := mixedTurn(t, nil, withOutcome(schemaNew, "af-a"))
			out, run, err := answersBeside(t, p, l, c.payload, c.beside...)
			if dialecttest.Code(err) != c.code {
				t.Fatal(err)
			}
			if c.code != "" {
				return
			}
			if forgets := strings.Contains(sent(out, "resume").Raw, unknownInterrupt); forgets != c.forgets {
				t.Fatalf("sent %s", out.Body)
			}
			if c.forgets {
				res := play(t, run, dialecttest.LogOf(user), started, failedWith("APPROVAL_RESUME_NOT_FOUND", "")).Result
				out = res.Next.Out
			}
			list := sent(out, "messages").Array()
			at := len(list) - 1
			if has := list[at].Get("toolCallId").Str == "p"; has != (len(c.beside) > 0) || has && list[at-1].Get("toolCalls.#").Int() != 2 {
				t.Errorf("sent %s", sent(out, "messages").Raw)
			}
			if out.TakesNew != (len(c.beside) > 0) || len(out.UnsentMessages) != c.left {
				t.Errorf("takes %v, left %v", out.TakesNew, out.UnsentMessages)
			}
		})
	}
}

// TestForgedResultDoesNotGoWithTheAnswers: the client sends a forged result with its answers. It is
// a result of the call in question, or of a call that the client does not run. Holdpoint must not
// send it with the answers.
func TestForgedResultDoesNotGoWithTheAnswers(t *testing.T) {
	for name, forged := range map[string]string{"of the call that asks": toolMessage("t1", "a", "done"), "of a call that nobody made": toolMessage("t1", "z", "done")} {
		t.Run(name, func(t *testing.T) {
			p, l, _ := mixedTurn(t, nil, withOutcome(schemaNew, "af-a"))
			out, _, err := answersBeside(t, p, l, yes, toolMessage("t0", "p", "red"), forged)
			if err != nil || strings.Contains(sent(out, "messages").Raw, "done") || len(out.UnsentMessages) != 1 {
				t.Errorf("%v, sent %s, left %v", err, sent(out, "messages").Raw, out.UnsentMessages)
			}
		})
	}
}

// TestClientsCallIsNotAskedAbout: 1.0.0rc8 and older versions also ask for an approval of the
// client's own call. Holdpoint must not show the question about this call. 1.0.0rc8 requires an
// answer to each question, so Holdpoint must first cancel the question that it did not show.
func TestClientsCallIsNotAskedAbout(t *testing.T) {
	red := toolMessage("t1", "p", "red")
	more := []string{`{"type":"CUSTOM","name":"function_approval_request","value":{"id":"af-p","function_call":{"call_id":"p","name":"pick","arguments":{"label":"x"}}}}`}
	list := strings.Replace(withList("af-a"), `"interrupt":[`, `"interrupt":[{"id":"af-p","value":{}},`, 1)
	outcome := strings.Replace(withOutcome(schemaOld, "af-a"), `"interrupts":[`, `"interrupts":[{"id":"af-p","reason":"tool_call","toolCallId":"p","responseSchema":`+schemaOld+`,"metadata":{"agent_framework":{"type":"function_approval_request","function_call":{"call_id":"p","name":"pick","arguments":{}}}}},`, 1)
	for name, finish := range map[string]string{"list": list, "outcome": outcome} {
		t.Run(name, func(t *testing.T) {
			p, l, _ := mixedTurn(t, more, finish)
			if len(p.Interrupts) != 1 || p.Interrupts[0].Native != "af-a" {
				t.Fatalf("asked %+v", p.Interrupts)
			}
			out, run, err := answersBeside(t, p, l, yes, red)
			if err != nil {
				t.Fatal(err)
			}
			if finish != outcome {
				if last := lastMessage(out); strings.Contains(last.Raw, "pick") || !strings.Contains(sent(out, "messages").Raw, "red") {
					t.Errorf("sent %s", out.Body)
				}
				return
			}
			const first, second = `[{"interruptId":"af-a","status":"resolved","payload":{"accepted":true}},{"interruptId":"af-p","status":"cancelled"}]`, `[{"interruptId":"af-a","status":"resolved","payload":{"accepted":true}}]`
			if got := sent(out, "resume").Raw; got != first {
				t.Errorf("sent %s", got)
			}
			res := play(t, run, dialecttest.LogOf(user), started, failedWith("APPROVAL_RESUME_CANCELLED", "")).Result
			if res.Next == nil || sent(res.Next.Out, "resume").Raw != second {
				t.Errorf("then %+v", res)
			}
		})
	}
}

// TestDeclaredToolOfTheBackendIsAskedAbout: the backend asks about only one call, and the client
// declares a tool with the name of the call's tool. The call's tool is the backend's own
// nevertheless, so Holdpoint must show the question.
func TestDeclaredToolOfTheBackendIsAskedAbout(t *testing.T) {
	stream := events([]string{started, textOpen}, toolCall("a", "rm", `{"path":"a"}`), []string{asks("a", "a")}, confirms("confirm-a", "a"), []string{textEnds, withList("a")})
	if p, _ := playPlain(t, `"tools":[{"name":"rm"}]`, stream...); len(p.Result.Asked.Interrupts) != 1 {
		t.Errorf("asked %+v", p.Result.Asked)
	}
}

// TestCallIsToldOnce: Agent Framework 1.7.0 sends START and END of the client's own call twice if
// that call precedes a call that needs an approval. The client must get them once.
func TestCallIsToldOnce(t *testing.T) {
	call := toolCall("a", "rm", `{"path":"a"}`)
	pick := picks("p")
	stream := events([]string{started, textOpen}, pick[:2], call[:2], pick[:1], call[2:], []string{asks("af-a", "a")}, confirms("confirm-a", "a"), pick[2:], pick[2:], []string{textEnds, withOutcome(schemaNew, "af-a")})
	played, _ := playPlain(t, declaresPick, stream...)
	for _, event := range []string{`"TOOL_CALL_START","toolCallId":"p"`, `"TOOL_CALL_END","toolCallId":"p"`} {
		if n := strings.Count(played.Text(), event); n != 1 {
			t.Errorf("%s stands there %d times", event, n)
		}
	}
}

// TestAnswersWithoutTheConversation: the client sends answers without messages. Holdpoint must send
// them to 1.1.0 and later without messages too. If the model then fails because a call is missing,
// the next exchange must send the conversation.
func TestAnswersWithoutTheConversation(t *testing.T) {
	for name, c := range map[string]struct {
		schema, payload string
		bare            bool
		stream          []string
		next            bool
	}{
		"1.0.0rc8":                {schemaOld, yes, false, nil, false},
		"approved":                {schemaNew, yes, true, []string{started, result("a", "done"), finished}, false},
		"the model fails":         {schemaNew, yes, true, []string{started, result("a", "done"), failedWith("RuntimeError", "x")}, true},
		"the model fails, denied": {schemaNew, no, true, []string{failedWith("RuntimeError", "x")}, true},
		"the tool did not run":    {schemaNew, yes, true, []string{started, failedWith("RuntimeError", "x")}, false},
		"the answer is refused":   {schemaNew, no, true, []string{started, failedWith("APPROVAL_RESUME_INVALID", "x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, l := pausedBy(t, asking(withOutcome(c.schema, "af-a"), "af-", "a")...)
			in := dialecttest.Input(t, `{"threadId":"t1","runId":"r1","messages":[],`+entries(p, c.payload)+`}`)
			out, run, err := dialecttest.Resume(newDialect(t), p, in, l)
			if err != nil || (sent(out, "messages").Raw == "[]") != c.bare {
				t.Fatalf("%v, sent %s", err, out.Body)
			}
			if c.stream == nil {
				return
			}
			res := play(t, run, l, c.stream...).Result
			if (res.Next != nil) != c.next {
				t.Fatalf("%+v", res)
			}
			if c.next {
				all := sent(res.Next.Out, "messages").Array()
				if at := len(all) - 1; at < 1 || all[at].Get("toolCallId").Str != "a" || all[at-1].Get("toolCalls.0.id").Str != "a" || sent(res.Next.Out, "resume").Exists() {
					t.Errorf("then %s", res.Next.Out.Body)
				}
			}
		})
	}
}
