package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/internal/test/hostile"
)

func copes(t *testing.T, dialect, request, answer string) {
	t.Helper()
	g := realRig(t, dialect, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, answer) })
	before := hostile.ProcessorTime(t)
	got := g.do(request)
	if took := hostile.ProcessorTime(t) - before; took > hostile.Limit {
		t.Errorf("%s: %v", dialect, took)
	}
	end := agui.PeekType([]byte(lastData(got)))
	if !strings.HasPrefix(got, "data: "+`{"type":"RUN_STARTED"`) || !end.Terminal() {
		t.Errorf("%s: the stream ends with %q", dialect, end)
	}
}

var hostileTo = []string{"agent-framework", "auto", "request-approval", "draft"}

func TestHostileRequests(t *testing.T) {
	const n = 2000
	for name, messages := range map[string]string{
		"decisions of nothing": hostile.Many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"m%[1]d","role":"tool","toolCallId":"c%[1]d","content":"{\"approved\":true}"}`, i)
		}),
		"decisions of calls": `{"id":"a","role":"assistant","toolCalls":[` + hostile.Many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"c%d","function":{"name":"pando_permission_request"}}`, i)
		}) + `]},` + hostile.Many(n, func(i int) string {
			return fmt.Sprintf(`{"id":"m%[1]d","role":"tool","toolCallId":"c%[1]d","content":"{\"approved\":true}"}`, i)
		}),
		"approvals without words": hostile.Many(n, hostile.Same(`{"role":"user","content":"","function_approvals":[{"id":"n"}]}`)),
		"approvals in one":        `{"role":"user","content":"","function_approvals":[` + hostile.Many(n, hostile.Same(`{"id":"n"}`)) + `]}`,
		"pairs": hostile.Many(n, func(i int) string {
			return pairCall(fmt.Sprint(i)) + "," + pairSays(fmt.Sprint(i), fmt.Sprint(i), true)
		}),
		"deep arguments": `{"role":"assistant","toolCalls":[{"id":"c","function":{"name":"request_approval","arguments":"` + strings.Repeat("[", 2_000_000) + `"}}]}`,
	} {
		for _, dialect := range hostileTo {
			t.Run(name+"/"+dialect, func(t *testing.T) {
				for _, last := range []string{"", "," + oldUser} {
					copes(t, dialect, withMessages(oldUser, messages+last), streamOf(started, finished))
				}
			})
		}
	}
}

func TestHostileStreams(t *testing.T) {
	begins := func(i int) string {
		return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"request_approval"}`, i)
	}
	others := func(i int) string {
		return fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"f"}`, i)
	}
	ends := func(i int) string { return fmt.Sprintf(`{"type":"TOOL_CALL_END","toolCallId":"c%d"}`, i) }
	events := func(n int, f func(int) string) string {
		return strings.ReplaceAll(hostile.Many(n, func(i int) string { return f(i) + "\n" }), "\n,", "\n\ndata: ")
	}
	history := withMessages(oldUser, hostile.Many(2000, func(i int) string {
		return fmt.Sprintf(`{"id":"h%[1]d","role":"assistant","toolCalls":[{"id":"h%[1]d","function":{"name":"f","arguments":"{}"}}]},{"id":"r%[1]d","role":"tool","toolCallId":"h%[1]d","content":"x"}`, i)
	}), newUser)
	for name, s := range map[string]string{
		"calls that end late":     streamOf(started, events(2000, begins), events(2000, ends), finished),
		"other calls":             streamOf(started, events(5000, others), events(5000, ends), finished),
		"calls and other events":  streamOf(started, events(3000, begins), events(3000, hostile.Same(`{"type":"CUSTOM","name":"x","value":1}`)), finished),
		"calls and a huge end":    streamOf(started, events(1000, begins), `{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":"`+strings.Repeat("x", 1_000_000)+`"}`),
		"white space":             streamOf(started, begins(1), events(5000, hostile.Same(`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"`+strings.Repeat(" ", 120)+`"}`)), finished),
		"braces":                  streamOf(started, `{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"request_approval","delta":"{\"a\":\""}`, events(4000, hostile.Same(`{"type":"TOOL_CALL_CHUNK","delta":"`+strings.Repeat("}", 120)+`"}`)), finished),
		"requests":                streamOf(started, events(2000, func(i int) string { return pairAsked(fmt.Sprint(i)) }), finished),
		"one call over and again": streamOf(started, events(5000, hostile.Same(begins(1))), finished),
	} {
		for _, dialect := range hostileTo {
			t.Run(name+"/"+dialect, func(t *testing.T) { copes(t, dialect, history, s) })
		}
	}
}
