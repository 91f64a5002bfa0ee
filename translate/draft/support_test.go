package draft

import (
	"errors"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	errored  = `{"type":"RUN_ERROR","message":"m","code":"X"}`
	approval = `{"functionName":"get_weather","functionArguments":{"location":"Seattle"}}`
)

// ended returns a RUN_FINISHED with the additional members.
func ended(more string) string {
	return `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1",` + more + `}`
}

// v1 returns a RUN_FINISHED with outcome "interrupt" and one interrupt, as draft v1 has it.
func v1(interrupt string) string { return ended(`"outcome":"interrupt","interrupt":` + interrupt) }

// call returns the events of a tool call.
func call(id, name, args string) []string {
	return []string{
		`{"type":"TOOL_CALL_START","toolCallId":"` + id + `","toolCallName":"` + name + `","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"` + id + `","delta":` + string(agui.MustMarshal(args)) + `}`,
		`{"type":"TOOL_CALL_END","toolCallId":"` + id + `"}`,
	}
}

func result(id string) string {
	return `{"type":"TOOL_CALL_RESULT","messageId":"r-` + id + `","toolCallId":"` + id + `","content":"done"}`
}

// play plays a stream to a run and returns its result. The last event may be the terminal event.
// The test fails if any other event was changed.
func play(t testing.TB, run translate.Run, l *dialecttest.Log, stream ...string) translate.Result {
	t.Helper()
	p := dialecttest.Play(run, l, stream...)
	if err := errors.Join(p.Err, p.ChangedEvent()); err != nil {
		t.Fatal(err)
	}
	return p.Result
}

func newDialect(t testing.TB, o Options) *Dialect {
	t.Helper()
	d, err := New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plain plays a stream to a run without answers. The client gets questions in the outcome.
func plain(t testing.TB, stream ...string) translate.Result {
	t.Helper()
	return plainFor(t, &translate.Request{Input: input(t, "")}, stream...)
}

func plainFor(t testing.TB, r *translate.Request, stream ...string) translate.Result {
	t.Helper()
	l := dialecttest.NewLog(r.Input.Messages)
	r.Transcript = l
	_, run, err := newDialect(t, Options{}).Begin(r)
	if err != nil {
		t.Fatal(err)
	}
	return play(t, run, l, stream...)
}

// pausedBy returns the pause at the end of a stream. The ids have the proxy's form: <native>~r1,
// <native>~r2, and so on.
func pausedBy(t testing.TB, stream ...string) agui.Pause {
	t.Helper()
	p := plain(t, stream...).Asked.Pause(Name)
	if len(p.Interrupts) == 0 {
		t.Fatalf("no pause: %s", stream)
	}
	return dialecttest.WithIDs(p)
}

const head = `{"threadId":"t1","runId":"r1","protocolVersion":"1.0","messages":[`

// input returns a run without messages and with the additional members.
func input(t testing.TB, more string) agui.RunInput { t.Helper(); return inputWith(t, "", more) }

func inputWith(t testing.TB, messages, more string) agui.RunInput {
	t.Helper()
	body := head + messages + `]`
	if more != "" {
		body += "," + more
	}
	return dialecttest.Input(t, body+"}")
}

// resume answers a pause as the proxy does: Begin is not called with unknown or incomplete answers.
func resume(t testing.TB, d *Dialect, p agui.Pause, in agui.RunInput, edit func(*translate.Request)) (translate.Out, translate.Run, error) {
	t.Helper()
	return dialecttest.Resume(d, p, in, dialecttest.NewLog(in.Messages), func(r *translate.Request) {
		if edit != nil {
			edit(r)
		}
	})
}

func toolMessage(id, callID, content string) string {
	return `{"id":"` + id + `","role":"tool","toolCallId":"` + callID + `","content":` + string(agui.MustMarshal(content)) + `}`
}

func assistant(id string, callIDs ...string) string {
	var calls []string
	for _, c := range callIDs {
		calls = append(calls, `{"id":"`+c+`","type":"function","function":{"name":"pando_permission_request","arguments":"{}"}}`)
	}
	return `{"id":"` + id + `","role":"assistant","toolCalls":[` + strings.Join(calls, ",") + `]}`
}

func user(id string) string { return `{"id":"` + id + `","role":"user","content":"` + id + `"}` }
