package aguiserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

// FuzzEvents: the backend streams any events, one on each line. The dialect must not panic and must
// emit the events unchanged. Each question must be an interrupt that clients accept.
func FuzzEvents(f *testing.F) {
	two := []string{asking("call_1", "rm", filesArgs, ""), asking("call_2", "ls", "null", `,"requiresConfirmation":false`)}
	batch := append(shows("call_1", "rm", filesArgs, two...), shows("call_2", "ls", "null", two...)...)
	for _, end := range []string{interrupting(interruptFor("call_1", "rm")), interrupting(questionFor, interruptFor("call_1", "rm")), endWith(success), endWith("null"), `{"type":"RUN_ERROR","message":"x"}`} {
		f.Add(strings.Join(append(batch, end), "\n"))
		f.Add(strings.Join(append(asksFor("call_1", "rm", exactArgs), end), "\n"))
		f.Add(strings.Join(append(append(shows("call_1", "rm", "{}"), batch...), end), "\n"))
	}
	// an interrupt without the field reason
	f.Add(strings.Join(append(asksFor("call_1", "rm", exactArgs), interrupting(`{"id":"ficc_call_1","toolCallId":"call_1"}`)), "\n"))
	f.Add(interrupting(`{"id":null,"reason":null,"metadata":null,"toolCallId":7}`, `"x"`))
	f.Fuzz(func(t *testing.T, stream string) {
		in := inputOf(t, `"messages":[],"tools":[{"name":"mine"}]`)
		l := &dialecttest.Log{}
		run := &run{r: &translate.Request{Input: in, Transcript: l}}
		var end translate.End
		for line := range strings.SplitSeq(stream, "\n") {
			ev := agui.NewEvent([]byte(line))
			Signs(ev)
			if ev.Type.Terminal() {
				end.Event = ev
				break
			}
			err := run.Event(ev, func(got agui.Event) {
				if string(got.JSON) != line {
					t.Fatalf("%s became %s", line, got.JSON)
				}
				l.Add(got)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		res, err := run.End(end)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Asked.Interrupts) == 0 {
			if string(res.Finish.JSON) != string(end.Event.JSON) {
				t.Fatalf("the end became %s", res.Finish.JSON)
			}
			return
		}
		if !json.Valid(res.Finish.JSON) || res.Finish.Get("outcome").Exists() || !MadePause(res.Asked.Pause("agent-framework")) {
			t.Fatalf("end %s, private %s", res.Finish.JSON, res.Asked.Private)
		}
		if _, err := json.Marshal(res.Asked); err != nil {
			t.Fatalf("the pause cannot be stored: %v", err)
		}
		for _, i := range res.Asked.Interrupts {
			if !json.Valid(i.Object) || !gjson.GetBytes(i.Object, "reason").Exists() {
				t.Fatalf("interrupt %s", i.Object)
			}
			call, approval := callOf(i)
			if !approval {
				continue
			}
			if call.Name == "mine" && !strings.Contains(stream, messageStart) {
				t.Fatalf("asked about the client's own tool: %s", i.Object)
			}
			if bound := i.ToolCallID() != ""; bound != call.isAmong(l.Calls()) || bound != (i.ToolCallID() == call.ID) {
				t.Fatalf("bound to a call that was not seen, or to none: %s of %+v", i.Object, l.Calls())
			}
		}
		checkAnswers(t, dialecttest.WithIDs(res.Asked.Pause("agent-framework")), in)
	})
}

// checkAnswers checks the request that cancels the pause. It must be refused, or run only calls
// that need no approval.
func checkAnswers(t *testing.T, p agui.Pause, in agui.RunInput) {
	t.Helper()
	var answers []agui.Answer
	for _, i := range p.Interrupts {
		answers = append(answers, agui.Answer{ID: i.ID, Status: agui.Cancelled})
	}
	out, _, err := Resume(&translate.Request{Input: in, Pause: p, Answers: answers})
	if err != nil {
		if !dialecttest.IsRunError(err) {
			t.Fatal(err)
		}
		return
	}
	if !json.Valid(out.Body) {
		t.Fatalf("body %s", out.Body)
	}
	yes := strings.Count(gjson.GetBytes(out.Body, "resume.#.payload.approved").Raw, "true")
	if yes != len(keptOf(p).Siblings) {
		t.Fatalf("%d approvals in %s", yes, out.Body)
	}
}

// FuzzAnswers: a client answers an approval and a free question with any payload. The dialect must
// not panic, and every request to the backend must be JSON. A call may be approved only if it is
// the one in the question and was answered with a yes. The host must not be able to read the answer
// to the free question as an approval.
func FuzzAnswers(f *testing.F) {
	for _, payload := range []string{
		`{"approved":true}`, `{"approved":false,"approved":true}`, `{"accepted":true}`, `{"approved":true,"toolCall":{"callId":"x"}}`, `{"tool_call":1}`, `true`, `"x"`, `null`, `[]`, ``,
	} {
		for _, messages := range []string{messagesOf(userMessage, gatedCall), messagesOf(userMessage, ownCall, ownResult, gatedCall) + mineTool, messagesOf(), messagesOf(gatedCall, gatedResult, gatedCall, moreText)} {
			f.Add(payload, payload, messages, false)
			f.Add(payload, payload, messages, true)
		}
	}
	f.Add(`true`, `true`, messagesOf(userMessage, gatedCall, strings.Replace(gatedResult, `"tool"`, `"tooL"`, 1)), false)
	f.Fuzz(func(t *testing.T, first, second, more string, cancelled bool) {
		body := []byte(`{"threadId":"t1","runId":"r1",` + more + `}`)
		if !agui.ValidJSON(body) || first != "" && !agui.ValidJSON([]byte(first)) || second != "" && !agui.ValidJSON([]byte(second)) {
			return
		}
		in, ok, err := agui.ParseInput(body)
		if !ok || err != nil {
			return
		}
		p := asksTwo(t)
		answers := answersFor(p, says(first), says(second))
		if cancelled {
			answers[0].Status = agui.Cancelled
		}
		PlainRequest(&translate.Request{Input: in, EndedPauses: []translate.EndedPause{{Pause: p}}}, true)
		out, _, err := Resume(&translate.Request{Input: in, Pause: p, Answers: answers})
		if err != nil {
			if dialecttest.Code(err) != agui.InvalidPayload {
				t.Fatal(err)
			}
			return
		}
		if !json.Valid(out.Body) {
			t.Fatalf("body %s", out.Body)
		}
		sent := gjson.GetBytes(out.Body, "resume").Array()
		if len(sent) != 2 || sent[0].Get("payload.toolCall").Raw != `{"callId":"call_1","name":"rm","arguments":`+exactArgs+`}` || len(sent[0].Get("payload").Map()) != 2 {
			t.Fatalf("sent %s", sent)
		}
		if yes := sent[0].Get("payload.approved"); !yes.IsBool() || yes.Bool() && (cancelled || !strings.Contains(first, "true")) {
			t.Fatalf("%s (cancelled %v) became %s", first, cancelled, sent[0].Raw)
		}
		if sent[1].Get("payload.toolCall").Exists() {
			t.Fatalf("a free answer can be taken for an approval: %s", sent[1].Raw)
		}
		for _, m := range gjson.GetBytes(out.Body, "messages").Array() {
			if m.Get("role").Str == "assistant" && m.Raw == gatedCall && !slices.ContainsFunc(in.Messages, isTool) {
				t.Fatalf("the call that was asked about is left: %s", out.Body)
			}
		}
	})
}

// isTool reports whether the dialect reads a message as the result of a call, whatever the spelling
// of its role.
func isTool(m agui.Message) bool { return kit.IsTool(gjson.ParseBytes(m.JSON)) }
