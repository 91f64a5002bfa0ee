package requestapproval

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/internal/microsoft"
	"holdpoint/translate/kit"
)

// FuzzEvents checks any stream. Nothing may panic, and only events of request_approval calls may be
// missing in the output. A client in the native form must get the unchanged stream. It must be
// possible to store and answer each question.
func FuzzEvents(f *testing.F) {
	chunk := `{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"request_approval","delta":` + dialecttest.Quoted(argsB) + `}`
	result := `{"type":"TOOL_CALL_RESULT","messageId":"a","toolCallId":"a","content":"x"}`
	for _, s := range [][]string{
		stream(trio("a", argsA), trio("b", argsB), succeeded), stream(start("a"), start("b"), args("b", `{"x":1}`), args("a", argsA), end("b"), end("a"), finished),
		stream(chunk, `{"type":"TOOL_CALL_CHUNK","delta":" "}`, trio("a", argsA), result, finished), stream(start("a"), args("a", argsA), failed),
		stream(`{"type":"MESSAGES_SNAPSHOT","messages":[`+assistant("m", "a", "request_approval", argsA)+`]}`, finished),
	} {
		f.Add(strings.Join(s, "\n"), false)
		f.Add(strings.Join(s, "\n"), true)
	}
	f.Fuzz(func(t *testing.T, text string, native bool) {
		show := translate.ShowOutcome
		if native {
			show = translate.ShowNative
		}
		lines := strings.Split(text, "\n")
		p := playPlain(t, show, "", lines...)
		checkPlayed(t, p, native)
		before := pausedBy(t, stream(trio("a", argsA), finished)...)
		_, run, err := resumeWith(t, before, input(t, dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `true`))), func(r *translate.Request) { r.Show = show })
		if err != nil {
			t.Fatal(err)
		}
		checkPlayed(t, dialecttest.Play(run, unknown(), lines...), native)
	})
}

func checkPlayed(t *testing.T, p dialecttest.Played, native bool) {
	t.Helper()
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	for _, ev := range append(p.Emitted, p.Result.HeldEvents...) {
		if ev.Edited && (native || !json.Valid(ev.JSON)) {
			t.Fatalf("edited: %s", ev.JSON)
		}
	}
	pause := p.Result.Asked.Pause(Name)
	if len(pause.Interrupts) == 0 {
		return
	}
	if p.Result.Finish.Type != agui.RunFinished || !json.Valid(p.Result.Finish.JSON) || p.Result.Finish.Get("outcome").Exists() {
		t.Fatalf("finish %s", p.Result.Finish.JSON)
	}
	if _, err := json.Marshal(pause); err != nil {
		t.Fatalf("the pause cannot be stored: %v", err)
	}
	for _, i := range pause.Interrupts {
		checkInterrupt(t, i.Object)
	}
	pause = dialecttest.WithIDs(pause)
	for _, approved := range []bool{true, false} {
		var entries []string
		for _, i := range pause.Interrupts {
			e := map[string]any{"interruptId": i.ID, "status": "resolved", "payload": approved}
			entries = append(entries, string(agui.MustMarshal(e)))
		}
		in, ok, err := agui.ParseInput([]byte(`{"threadId":"t","runId":"r","messages":[],` + dialecttest.ResumeArray(entries...) + `}`))
		if !ok || err != nil {
			return // two ids are equal
		}
		out, _, err := resumeWith(t, pause, in)
		if err != nil {
			t.Fatal(err)
		}
		checkPairs(t, out.Body, len(pause.Interrupts), approved)
	}
}

// checkPairs checks that one answer directly follows each request_approval call, and that no other
// message could be an answer.
func checkPairs(t *testing.T, body []byte, want int, approved bool) {
	t.Helper()
	list := gjson.GetBytes(body, "messages").Array()
	pairs := 0
	for n, m := range list {
		for _, c := range m.Get("toolCalls").Array() {
			a, ok := readAsk([]byte(c.Get("function.arguments").Str))
			if !ok || c.Get("function.name").Str != microsoft.RequestApproval {
				continue
			}
			pairs++
			answer := list[n+1]
			content := gjson.Parse(answer.Get("content").Str)
			if answer.Get("toolCallId").Str != c.Get("id").Str || content.Get("approval_id").Str != a.approvalID || content.Get("approved").Bool() != approved {
				t.Fatalf("request %s has answer %s", m.Raw, answer.Raw)
			}
		}
	}
	if pairs != want || len(microsoft.Approvals(kit.ReadObject(body), true)) != want {
		t.Fatalf("%d requests, want %d: %s", pairs, want, body)
	}
}

// FuzzAnswers checks any request of a client while a request_approval call is open. Nothing may
// panic, and the output must repeat the call with exactly one answer. The answer must be a denial
// unless the client sent a yes.
func FuzzAnswers(f *testing.F) {
	old := assistant("x", "x", "request_approval", argsB)
	for _, more := range []string{
		"", `"resume":[]`, dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", "")), dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `true`)), dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"approved":false,"approved":true}`)),
		dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", `{"accepted":true}`)) + "," + messages(hello, assistant("a", "a", "request_approval", argsB), tool("a", "a", `{"approved":true}`)),
		messages(hello, tool("a", "a", `{"approval_id":"ficc_a","approved":false}`)), messages(old, tool("y", "x", `{"approval_id":"ficc_b","approved":false}`), tool("z", "x", "gone")) + "," + dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", "false")),
		`"forwardedProps":{"command":{"resume":false}}`, `"tools":[{"name":"request_approval"}],` + dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", "")),
		messages(`{"role":"assistant","tool_calls":[{"id":"x","id":"a","function":{"name":"x","name":"request_approval","arguments":"{}"}}]}`) + "," + dialecttest.ResumeArray(dialecttest.Entry("ficc_a~r1", "")),
	} {
		f.Add(more)
	}
	f.Fuzz(func(t *testing.T, more string) {
		body := `{"threadId":"t","runId":"r",` + strings.TrimSuffix(more, ",") + `}`
		if more == "" {
			body = `{"threadId":"t","runId":"r"}`
		}
		if !agui.ValidJSON([]byte(body)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(body))
		if !ok || err != nil {
			return
		}
		if out, _, err := new(Dialect).Begin(&translate.Request{Input: in, Transcript: unknown()}); err != nil || out.Body != nil && !json.Valid(out.Body) {
			t.Fatalf("%v %s", err, out.Body)
		} else {
			sent := out.Body
			if sent == nil {
				sent = in.Raw
			}
			if list := microsoft.Approvals(kit.ReadObject(sent), true); len(list) > 0 && strings.Contains(string(sent), microsoft.RequestApproval) {
				for _, one := range list {
					if m := gjson.GetBytes(sent, "messages").Array()[one.At]; strings.Contains(m.Raw, "approved") && len(kit.Members(m, "function_approvals")) == 0 {
						t.Fatalf("an old pair goes to the backend: %s", sent)
					}
				}
			}
		}
		p := pausedBy(t, stream(trio("a", argsA), finished)...)
		out, _, err := resumeWith(t, p, in)
		if err != nil {
			var told *agui.RunError
			if !errors.As(err, &told) {
				t.Fatal(err)
			}
			return
		}
		list := gjson.GetBytes(out.Body, "messages").Array()
		if len(list) < 2 || gjson.GetBytes(out.Body, "resume").Exists() {
			t.Fatalf("%s", out.Body)
		}
		request, answer := list[len(list)-2], gjson.Parse(list[len(list)-1].Get("content").Str)
		if request.Get("toolCalls.0.function.arguments").Str != argsA || answer.Get("approval_id").Str != "ficc_a" {
			t.Fatalf("%s", out.Body)
		}
		if answer.Get("approved").Bool() && !strings.Contains(body, "true") && !strings.Contains(body, `\u`) {
			t.Fatalf("a yes out of nothing: %s", body)
		}
	})
}

// FuzzRename checks that rename, which changes an event in a single pass, has the same result as
// changing its members one after another.
func FuzzRename(f *testing.F) {
	for _, s := range append(trio("a", argsA),
		`{ "type" : "TOOL_CALL_CHUNK", "toolCallName":null , "delta":null,"x":null }`, `{}`, ` { } `, `{"rawEvent":{"rawEvent":null},"a":[ 1 ]}`,
		`{"delta":"a","delta":"b","toolCallName":"x","toolCallName":null,"n\u0075ll":null,"rawEvent":1}`, `{"d\u0065lta":"x","toolCallN\u0061me":"y","rawEv\u0065nt":1}`,
	) {
		f.Add(s, "delete_report", `{"path":"<x>"}`, true, true)
		f.Add(s, "delete_report", "", true, false)
		f.Add(s, "", `{}`, false, true)
		f.Add(s, "", "", false, false)
	}
	f.Fuzz(func(t *testing.T, event, name, args string, named, argued bool) {
		if m := agui.MembersIn(event); !m.Next() && !m.IsComplete() || !agui.ValidText(event) {
			return
		}
		want := []byte(event)
		var newName, newArgs *string
		if named {
			want, newName = agui.SetString(want, "toolCallName", name), &name
		}
		if argued {
			want, newArgs = agui.SetString(want, "delta", args), &args
		}
		want = kit.WithoutMembers(agui.View(want), "rawEvent")
		if got := appendRenamed([]byte("x"), []byte(event), newName, newArgs); string(got) != "x"+string(want) {
			t.Fatalf("%s\nwant %s", got[1:], want)
		}
		for _, kind := range []agui.Type{agui.CallStart, agui.CallArgs, agui.CallEnd, agui.CallChunk} {
			if kind == agui.CallStart && argued || kind == agui.CallArgs && named || kind == agui.CallEnd && (argued || named) {
				continue // these combinations do not occur
			}
			ev := agui.Event{Type: kind, JSON: []byte(event)}
			if got := newFrame(nil, ev, read(ev)).appendRenamed([]byte("x"), newName, newArgs); string(got) != "x"+string(want) {
				t.Fatalf("%s: %s\nwant %s", kind, got[1:], want)
			}
		}
	})
}
