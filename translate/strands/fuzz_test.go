package strands

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// FuzzStream checks any bytes in any framing as the answer to a plain run, a resume, or a request
// for the agent's questions. Nothing may panic, and the events must be in a valid order.
func FuzzStream(f *testing.F) {
	all := []string{began, opened, hi, closed, calls, argument, toolStop, endTurn, whole, paid, asksPay, endsWell, endsAsk, boom, waits}
	ts := []string{tsBegan, tsModel, tsOpened, tsHi, tsClosed, tsCall, tsArgs, tsStop, tsWhole, tsTools, tsResult, fakes("c1", "c2"), tsAsk, tsPaused, tsEnded}
	for kind := range byte(4) {
		f.Add(strings.Join(all, "\n"), kind, true)
		f.Add(strings.Join(ts, "\n"), kind, false)
	}
	for _, s := range append(all, ts...) {
		f.Add(s, byte(0), true)
		f.Add(`{"type": "multiagent_node_stream", "node_id": "n", "event": `+s+`}`, byte(1), false)
		f.Add(`{"type":"nodeStreamUpdateEvent","nodeId":"n","inner":{"event":`+s+`}}`, byte(0), false)
	}
	f.Add(`"{'type': 'multiagent_node_stream', 'node_id': 'n', 'event': {'tool_interrupt_event': {'interrupts': [Interrupt(id='a', name='b', reason=<x>)]}}}"`+"\n"+endsAsk, byte(0), false)
	f.Add(`{"result": {"role": "assistant", "content": [{"text": "x"}, {"toolUse": {}}]}}`, byte(2), false)
	f.Add(`"[{'id': 'v1:a', 'name': 'b', 'reason': nan}]"`, byte(2), true)
	f.Add("plain \xff", byte(3), true)
	f.Fuzz(func(t *testing.T, answer string, kind byte, more bool) {
		mediaType := []string{stream, "application/x-ndjson", "application/json", "text/plain"}[kind%4]
		if mediaType == stream {
			answer = frames(strings.Split(answer, "\n")...)
		}
		d := newDialect(t, Server{Reasoning: more, Text: more, Rules: strandsapi.Rules{Questions: map[bool]string{true: "[@this].#(type==interrupt)"}[more]}})
		checkPlayed(t, d, plain(t, d, mediaType, answer))
		p := pyPause(t, d)
		l := &dialecttest.Log{}
		_, run, err := resume(t, d, p, l, nil, dialecttest.Entry(p.Interrupts[0].ID, "true"))
		if err != nil {
			t.Fatal(err)
		}
		checkPlayed(t, d, play(t, run, l, mediaType, answer))
		asks := plain(t, d, stream, frames(waits)).Result.Next.Run
		checkPlayed(t, d, play(t, asks, &dialecttest.Log{}, mediaType, answer))
		in := input(t, "")
		_, run, err = d.Begin(&translate.Request{Input: in, ClientMessages: in.Messages, EndedPauses: []translate.EndedPause{{Pause: p, Failed: true}}, Transcript: l})
		if err != nil {
			t.Fatal(err)
		}
		checkPlayed(t, d, play(t, play(t, run, l, stream, frames(waits)).Result.Next.Run, l, mediaType, answer))
	})
}

func checkPlayed(t *testing.T, d *Dialect, p played) {
	t.Helper()
	open, argued := map[string]bool{}, map[string]bool{}
	id := func(ev agui.Event) string {
		return ev.Get("messageId").Str + ev.Get("toolCallId").Str + ev.Get("stepName").Str
	}
	for _, ev := range p.All() {
		if !ev.Valid() || ev.Type == agui.Unknown && !strings.Contains(string(ev.JSON), string(agui.ReasoningContent)) || ev.Type.Terminal() || ev.Type == agui.RunStarted {
			t.Fatalf("emitted %s", ev.JSON)
		}
		switch ev.Type {
		case agui.TextStart, agui.CallStart, agui.StepStarted:
			if open[id(ev)] {
				t.Fatalf("begun twice: %s", ev.JSON)
			}
			open[id(ev)] = true
			delete(argued, id(ev))
		case agui.TextContent, agui.CallArgs:
			if !open[id(ev)] || ev.Get("delta").Type != gjson.String || ev.Get("delta").Raw == `""` {
				t.Fatalf("of nothing: %s", ev.JSON)
			}
			argued[id(ev)] = true
		case agui.TextEnd, agui.CallEnd, agui.StepFinished:
			if !open[id(ev)] {
				t.Fatalf("ended twice: %s", ev.JSON)
			}
			if ev.Type == agui.CallEnd && !argued[id(ev)] {
				t.Fatalf("no arguments: %s", ev.JSON)
			}
			delete(open, id(ev))
		case agui.CallResult:
			if ev.Get("content").Type != gjson.String || ev.Get("toolCallId").Str == "" {
				t.Fatalf("result %s", ev.JSON)
			}
		}
	}
	res := p.Result
	if res.Finish.Type != agui.Unknown && !res.Finish.Valid() {
		t.Fatalf("finish %s", res.Finish.JSON)
	}
	success := res.Finish.Type == agui.RunFinished && len(res.Asked.Interrupts) == 0
	if success && len(open) > 0 {
		t.Fatalf("open at the end: %v", open)
	}
	if res.Next != nil && !json.Valid(res.Next.Out.Body) {
		t.Fatalf("next body %s", res.Next.Out.Body)
	}
	for _, i := range res.Asked.Interrupts {
		checkInterrupt(t, i)
	}
	if len(res.Asked.Interrupts) == 0 {
		return
	}
	// Each published question must either be answerable or be refused with a reason. It must always
	// be possible to answer no to all of them.
	pause := dialecttest.WithIDs(res.Asked.Pause(Name))
	var entries []string
	for _, i := range pause.Interrupts {
		entries = append(entries, dialecttest.Entry(i.ID, ""))
	}
	in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],"resume":[` + strings.Join(entries, ",") + `]}`))
	if !ok || err != nil {
		return // an id is not valid UTF-8
	}
	answers, _ := d.Answers(in, pause)
	out, _, err := d.Begin(&translate.Request{Input: in, Pause: pause, Answers: answers})
	if err != nil {
		if !dialecttest.IsRunError(err) {
			t.Fatal(err)
		}
		return
	}
	for _, one := range gjson.GetBytes(out.Body, "prompt").Array() {
		if one.Get("interruptResponse.response").Raw != `"n"` {
			t.Fatalf("cancelled became %s", one.Raw)
		}
	}
}

// checkInterrupt checks the members of an interrupt that make a client fail if they are null or
// have the wrong type.
func checkInterrupt(t *testing.T, i agui.Interrupt) {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(i.Object, &o); err != nil || i.Native == "" || !json.Valid(i.Private) {
		t.Fatalf("%s: %v", i.Object, err)
	}
	for key, v := range o {
		switch key {
		case "reason", "message", "toolCallId":
			if _, ok := v.(string); !ok {
				t.Fatalf("%s is no string: %s", key, i.Object)
			}
		case "responseSchema", "metadata":
			if _, ok := v.(map[string]any); !ok {
				t.Fatalf("%s is no object: %s", key, i.Object)
			}
		default:
			t.Fatalf("%s has no place in an interrupt: %s", key, i.Object)
		}
	}
	if o["reason"] == nil {
		t.Fatalf("no reason: %s", i.Object)
	}
}

// FuzzAnswers checks any payload under several rules. Nothing may panic. The prompt must be JSON
// with the backend's own id, a denial must become the rule's text for no, and a hook that expects a
// text must get one.
func FuzzAnswers(f *testing.F) {
	for _, payload := range []string{
		`{"approved":true}`, `{"approved":false}`, `true`, `false`, `"y"`, `"n"`, `""`, `null`, `{"approved":false,"answer":"y"}`, `{"approved":false,"approved":true}`, `7`, `[true]`,
		`{"approved":true,"editedArgs":{}}`, `{"approved":"true"}`, `{"answer":{"text":"prod"}}`, `{"Approved":true}`, `{"\u0061pproved":true}`,
	} {
		for n := range byte(8) {
			f.Add(payload, n)
		}
	}
	all := []string{"", `{"name":"*","answers":"bool"}`, `{"name":"*","answers":"envelope"}`, `{"name":"*","answers":"raw"}`, `{"name":"*","answers":"docs-string","path":"answer"}`, `{"name":"*","answers":"raw","path":"answer"}`, `{"name":"*","answers":"docs-string","yes":"A","no":"D","cancel":"gone"}`, `{"name":"*","answers":"envelope","path":"answer"}`}
	no := []string{`"n"`, "false", "", "", `"n"`, `{"status":"cancelled"}`, `"D"`, `{"cancelled":true}`}
	f.Fuzz(func(t *testing.T, payload string, n byte) {
		if !agui.ValidJSON([]byte(payload)) {
			return
		}
		n %= 8
		d := newDialect(t, Server{Rules: rules(t, all[n])})
		rule, _ := d.rules.Answer("approval")
		p := pyPause(t, d)
		for _, tool := range []bool{false, true} {
			p.Interrupts[0].Private = agui.MustMarshal(private{"approval", tool})
			for _, status := range []agui.Status{agui.Resolved, agui.Cancelled} {
				a := agui.Answer{ID: p.Interrupts[0].ID, Status: status, Payload: kit.Payload(gjson.Parse(payload))}
				in := input(t, "")
				out, _, err := d.Begin(&translate.Request{Input: in, Pause: p, Answers: []agui.Answer{a}})
				if err != nil {
					if !dialecttest.IsRunError(err) || status == agui.Cancelled {
						t.Fatal(err)
					}
					continue
				}
				response := gjson.GetBytes(out.Body, "prompt.0.interruptResponse.response")
				if !json.Valid(out.Body) || !response.Exists() || gjson.GetBytes(out.Body, "prompt.0.interruptResponse.interruptId").Str != payID {
					t.Fatalf("body %s", out.Body)
				}
				denied := payload == "false" || gjson.Get(payload, "approved").Type == gjson.False
				switch {
				case status == agui.Cancelled:
					if response.Raw != string(rule.Cancelled()) {
						t.Fatalf("cancelled became %s", response.Raw)
					}
				case denied && no[n] != "" && response.Raw != no[n]:
					t.Fatalf("%s became %s", payload, response.Raw)
				case !tool && (n == 0 || n == 4 || n == 6) && response.Type != gjson.String:
					t.Fatalf("%s became %s, which no hook for a string takes", payload, response.Raw)
				}
			}
		}
	})
}
