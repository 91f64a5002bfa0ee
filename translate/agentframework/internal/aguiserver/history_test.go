package aguiserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/hostile"
	"holdpoint/translate"
)

// TestWhatTheHostCanRead: in a resume and after it, the host must get no message with a role at
// which it fails. In the resume it must get no made-up result of a call in question. Each result
// must follow its call.
func TestWhatTheHostCanRead(t *testing.T) {
	const (
		thought  = `{"id":"r1","role":"reasoning","content":"Hm."}`
		activity = `{"id":"v1","role":"activity","activityType":"x","content":{}}`
		words    = `{"id":"u2","role":"user","content":"Quickly."}`
		made     = `{"id":"x1","role":"tool","toolCallId":"call_1","content":"Approved"}`
		old      = `{"id":"a0","role":"assistant","toolCalls":[{"id":"call_1","type":"function","function":{"name":"rm","arguments":"{}"}}]}`
		oldIs    = `{"id":"t0","role":"tool","toolCallId":"call_1","content":"gone"}`
		two      = `{"id":"a5","role":"assistant","toolCalls":[{"id":"p","type":"function","function":{"name":"look","arguments":"{}"}},{"id":"q","type":"function","function":{"name":"look","arguments":"{}"}}]}`
		three    = `{"id":"a6","role":"assistant","toolCalls":[{"id":"s","type":"function","function":{"name":"look","arguments":"{}"}}]}`
		pIs      = `{"id":"tp","role":"tool","toolCallId":"p","content":"1"}`
		qIs      = `{"id":"tq","role":"tool","toolCallId":"q","content":"2"}`
		sIs      = `{"id":"ts","role":"tool","toolCallId":"s","content":"3"}`
		stray    = `{"id":"ty","role":"tool","toolCallId":"y","content":"4"}`
	)
	for name, c := range map[string]struct {
		messages []string
		want     string // ids of the messages in a resume
		plain    string // ids in a later run; "" if they are the same
	}{
		"reasoning and an activity":       {[]string{userMessage, thought, activity, words}, "u1 u2", ""},
		"a made-up result":                {[]string{userMessage, gatedCall, made}, "u1", "u1 call_1 x1"},
		"a made-up exchange":              {[]string{userMessage, old, made}, "u1", "u1 a0 x1"},
		"an exchange of an equal id":      {[]string{userMessage, old, oldIs, words, gatedCall, made}, "u1 u2", "u1 a0 t0 u2 call_1 x1"},
		"a made-up result by itself":      {[]string{userMessage, made}, "u1", "u1 x1"},
		"words between a call and result": {[]string{userMessage, two, words, pIs, qIs}, "u1 a5 tp tq u2", ""},
		"one result late":                 {[]string{userMessage, two, pIs, words, qIs}, "u1 a5 tp tq u2", ""},
		"calls in two messages":           {[]string{userMessage, two, three, pIs, words, qIs, sIs}, "u1 a5 a6 tp tq ts u2", ""},
		"in order":                        {[]string{userMessage, two, qIs, pIs, three, sIs, words}, "u1 a5 tq tp a6 ts u2", ""},
		"a result without its call":       {[]string{userMessage, stray, words}, "u1 ty u2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := asksTwo(t)
			in := inputOf(t, `"messages":[`+strings.Join(c.messages, ",")+`]`)
			out, _, err := Resume(&translate.Request{Input: in, Pause: p, Answers: answersFor(p, says(`{"approved":true}`), says(`{}`))})
			if err != nil {
				t.Fatal(err)
			}
			if got := idsIn(out.Body); got != c.want {
				t.Errorf("beside the answer %q, want %q", got, c.want)
			}
			want := c.plain
			if want == "" {
				want = c.want
			}
			sent := PlainRequest(&translate.Request{Input: in, EndedPauses: []translate.EndedPause{{Pause: p}}}, false).Body
			if sent == nil {
				sent = in.Raw
			}
			if got := idsIn(sent); got != want {
				t.Errorf("later %q, want %q", got, want)
			}
		})
	}
}

// TestHistoryInLinearTime: the cost of a history must grow linearly with its size, even with many
// consecutive messages with calls.
func TestHistoryInLinearTime(t *testing.T) {
	const many = 10_000
	var calls, results []string
	for n := range many {
		calls = append(calls, fmt.Sprintf(`{"id":"a%d","role":"assistant","toolCalls":[{"id":"c%d","type":"function","function":{"name":"look","arguments":"{}"}}]}`, n, n))
		results = append(results, fmt.Sprintf(`{"id":"t%d","role":"tool","toolCallId":"c%d","content":"1"}`, n, n))
	}
	words := `{"id":"u2","role":"user","content":"Quickly."}`
	for name, messages := range map[string][]string{
		"results in order": append(append([]string{userMessage}, calls...), results...),
		"results late":     append(append(append([]string{userMessage}, calls...), words), results...),
	} {
		in := inputOf(t, `"messages":[`+strings.Join(messages, ",")+`]`)
		before := hostile.ProcessorTime(t)
		out := readableHistory(in, in.Messages, nil)
		// takes some 50 ms, or a minute if it is quadratic
		if took := hostile.ProcessorTime(t) - before; took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if got := out.Messages[many+1].ID; got != "t0" {
			t.Errorf("%s: %q follows the calls, want t0", name, got)
		}
	}
}

func idsIn(body []byte) string {
	var ids []string
	for _, m := range gjson.GetBytes(body, "messages").Array() {
		ids = append(ids, m.Get("id").Str)
	}
	return strings.Join(ids, " ")
}

// TestApprovedCallWithoutAResult: the host sends a result of each call that it runs. If a run ends
// without a result of the approved call, the approval must be in doubt.
func TestApprovedCallWithoutAResult(t *testing.T) {
	const result = `{"type":"TOOL_CALL_RESULT","messageId":"call_1","toolCallId":"call_1","content":"ok"}`
	for name, c := range map[string]struct {
		payload string
		stream  []string
		fate    translate.Fate
	}{
		"approved, with its result":     {`{"approved":true}`, []string{result, endWith(success)}, translate.Finished},
		"approved, without one":         {`{"approved":true}`, []string{endWith(success)}, translate.InDoubt},
		"approved, another's result":    {`{"approved":true}`, []string{strings.ReplaceAll(result, "call_1", "call_2"), endWith(success)}, translate.InDoubt},
		"denied, without one":           {`{"approved":false}`, []string{endWith(success)}, translate.Finished},
		"approved, and asked once more": {`{"approved":true}`, append(asksFor("call_5", "rm", filesArgs), interrupting(interruptFor("call_5", "rm"))), translate.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			p := asksTwo(t)
			_, run, err := Resume(&translate.Request{Input: inputOf(t, ""), Pause: p, Answers: answersFor(p, says(c.payload), says(`{}`))})
			if err != nil {
				t.Fatal(err)
			}
			var end translate.End
			for _, line := range c.stream {
				ev := agui.NewEvent([]byte(line))
				if ev.Type.Terminal() {
					end.Event = ev
				} else if err := run.Event(ev, func(agui.Event) {}); err != nil {
					t.Fatal(err)
				}
			}
			if res, err := run.End(end); err != nil || res.Fate != c.fate {
				t.Errorf("%v, %v, want %v", res.Fate, err, c.fate)
			}
		})
	}
}
