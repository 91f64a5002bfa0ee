package proxy

import (
	"bytes"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/contract"
	"holdpoint/proxy/internal/history"
	"holdpoint/store"
	"holdpoint/translate"
	"holdpoint/translate/kit"
)

const (
	person  = `{"id":"u1","role":"user","content":"Go."}`
	asksPay = `{\"request\":{\"approval_id\":\"ficc_c\",\"function_name\":\"pay\",\"function_arguments\":{}}}`
	confirm = `{\"function_name\":\"rm\",\"function_call_id\":\"real\",\"function_arguments\":{},\"steps\":[]}`
)

func call(name, args string) string {
	return `{"id":"a1","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}}]}`
}

func toolSays(content string) string {
	return `{"id":"t1","role":"tool","toolCallId":"c","content":"` + content + `"}`
}

func bodyWith(more string, messages ...string) string {
	return `{"threadId":"t","runId":"r","messages":[` + strings.Join(messages, ",") + `]` + more + `}`
}

// withoutStrays returns the input of an ordinary run as the backend gets it, if the record of the
// thread is empty.
func withoutStrays(in agui.RunInput) agui.RunInput {
	v := &history.View{Input: &in, Record: &store.Record{}, Dialect: history.AbilitiesOf(&fakeDialect{}), Show: translate.ShowNative}
	list, _ := history.Clean(v, history.ReadReplies(v), nil)
	return in.Rewritten(agui.Rewrite{Messages: list, Replaced: history.Changed(list, in.Messages)})
}

func TestWithoutApprovals(t *testing.T) {
	answer := toolSays(`{\"approval_id\":\"ficc_c\",\"approved\":true}`)
	says := strings.Replace(call("request_approval", asksPay), `"toolCalls"`, `"content":"Let me pay.","toolCalls"`, 1)
	other := strings.Replace(call("request_approval", asksPay), `"toolCalls":[`, `"toolCalls":[{"id":"d","type":"function","function":{"name":"look","arguments":"{ }"}},`, 1)
	for name, c := range map[string]struct {
		messages, want []string
	}{
		"a pair":                     {[]string{person, call("request_approval", asksPay), answer, person}, []string{person, person}},
		"beside words":               {[]string{says, answer}, []string{`{"id":"a1","role":"assistant","content":"Let me pay."}`}},
		"beside another call":        {[]string{other, answer}, []string{`{"id":"a1","role":"assistant","toolCalls":[{"id":"d","type":"function","function":{"name":"look","arguments":"{ }"}}]}`}},
		"with the result of the run": {[]string{call("request_approval", asksPay), answer, toolSays("paid")}, nil},
		"function_approvals":         {[]string{person, `{"id":"u2","role":"user","content":"","function_approvals":[{"id":"x"}]}`}, []string{person}},
		"function_approvals with words": {
			[]string{`{"id":"u2","role":"user","function_approvals":[{"id":"x"}],"content":"And b?"}`},
			[]string{`{"id":"u2","role":"user","content":"And b?"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, _, err := agui.ParseInput([]byte(bodyWith(`,"odd":1.0`, c.messages...)))
			if err != nil {
				t.Fatal(err)
			}
			out := withoutStrays(in)
			var got []string
			for _, m := range out.Messages {
				got = append(got, string(m.JSON))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("left\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if want := bodyWith(`,"odd":1.0`, c.want...); string(out.Raw) != want {
				t.Errorf("body %s, want %s", out.Raw, want)
			}
		})
	}
	in, _, _ := agui.ParseInput([]byte(`{"threadId":"t", "runId":"r", "messages": [ ` + person + ` ]}`))
	if out := withoutStrays(in); string(out.Raw) != string(in.Raw) {
		t.Errorf("touched: %s", out.Raw)
	}
}

// TestBodyIsWrittenOnce: however many parts Holdpoint removes from a request, it must copy the body
// only once.
func TestBodyIsWrittenOnce(t *testing.T) {
	long := `{"id":"u0","role":"user","content":"` + strings.Repeat("x", 4<<20) + `"}`
	leftover := strings.NewReplacer(`"c"`, `"d"`, `"t1"`, `"t3"`).Replace(toolSays(`{\"status\":\"resolved\"}`))
	result := strings.NewReplacer(`"c"`, `"d"`, `"t1"`, `"t4"`).Replace(toolSays(`done`))
	body := bodyWith(`,"resume":[],"forwardedProps":{"command":{"resume":true},"x":1}`, long,
		call("request_approval", asksPay), toolSays(`{\"approval_id\":\"ficc_c\",\"approved\":true}`),
		leftover, result, `{"id":"u2","role":"user","content":"And b?","function_approvals":[{"id":"x"}]}`, person)
	in, _, err := agui.ParseInput([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r := loneRun(t.Context(), newRig(t, nil).h, "/", &in)
	v := r.judge.view()
	r.judge.replies = history.ReadReplies(&v)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.judge.cleanPass(contract.OmitArray | contract.OmitCommand)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(len(body))*5/4 {
		t.Errorf("%d bytes for a body of %d", took, len(body))
	}
	want := `{"threadId":"t","runId":"r","messages":[` + strings.Join([]string{long, result, `{"id":"u2","role":"user","content":"And b?"}`, person}, ",") + `],"forwardedProps":{"x":1}}`
	if string(r.judge.in.Raw) != want {
		t.Errorf("left %s", strings.ReplaceAll(string(r.judge.in.Raw), strings.Repeat("x", 4<<20), "…"))
	}
}

// FuzzStrays: if Holdpoint finds decisions in the history that answer no question, it must remove
// them from the messages that it forwards.
func FuzzStrays(f *testing.F) {
	f.Add(bodyWith("", person, call("request_approval", asksPay), toolSays(`{\"approval_id\":\"x\",\"approved\":true}`)))
	f.Add(bodyWith("", `{"id":"u2","role":"user","content":"x","function_approvals":[{"id":"x","call_id":"y"}]}`, call("confirm_changes", confirm), toolSays("no")))
	f.Fuzz(func(t *testing.T, s string) {
		if !agui.ValidJSON([]byte(s)) {
			return
		}
		in, ok, err := agui.ParseInput([]byte(s))
		if !ok || err != nil {
			return
		}
		found := len(approvalsIn(in)) > 0
		out := withoutStrays(in)
		if !agui.ValidJSON(out.Raw) {
			t.Fatalf("no JSON: %s", out.Raw)
		}
		if !found && !bytes.Equal(out.Raw, in.Raw) {
			t.Fatalf("touched: %s", out.Raw)
		}
		if left := approvalsIn(kit.ReadObject(out.Raw)); found && len(left) > 0 {
			t.Fatalf("%d left in %s", len(left), out.Raw)
		}
	})
}

// TestARepeatInTheQuestionsOwnWords: a client adds its answer to the history, as the result of the
// call in question. The backend sends the real result of this call. The client's message must not
// reach the backend, whatever member the question's schema requires.
func TestARepeatInTheQuestionsOwnWords(t *testing.T) {
	const (
		asked  = `{"id":"n1","reason":"tool_call","toolCallId":"c","responseSchema":{"type":"object","properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}}`
		repeat = `{"id":"t0","role":"tool","toolCallId":"c","content":"{\"confirmed\":true,\"note\":\"please\"}"}`
		result = `{"id":"t1","role":"tool","toolCallId":"c","content":"sent"}`
	)
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		sendStream(w, streamOf([][]string{{started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[` + asked + `]}}`}, {started, finished}, {started, finished}}[n-1]...))
	})
	g.do(withMessages(person))
	g.do(strings.TrimSuffix(withMessages(person), "}") + resumeWith(`{"interruptId":"n1~id1","status":"resolved","payload":{"confirmed":true}}`) + "}")
	g.do(withMessages(person, call("send", "{}"), repeat, result, newUser))
	if g.called() != 3 {
		t.Fatal(g.logs)
	}
	if sent := gjson.GetBytes(g.calls[2], "messages").Raw; strings.Contains(sent, "confirmed") || !strings.Contains(sent, "sent") {
		t.Errorf("sent %s", sent)
	}
}
