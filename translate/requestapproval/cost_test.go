package requestapproval

import (
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
)

// exchanged returns the events of a request_approval call that gets its result in the same run.
func exchanged() []agui.Event {
	var events []agui.Event
	for _, s := range []string{
		`{"type":"TOOL_CALL_START","toolCallId":"call-1","toolCallName":"request_approval","parentMessageId":"m1"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"call-1","delta":` + dialecttest.Quoted(`{"request":{"approval_id":"call-1","function_name":"delete_report","function_arguments":{"path":"/reports/1","recursive":true},"message":"Approve?"}}`) + `}`,
		`{"type":"TOOL_CALL_END","toolCallId":"call-1"}`,
		`{"type":"TOOL_CALL_RESULT","messageId":"result-1","toolCallId":"call-1","content":"deleted","role":"tool"}`,
	} {
		frame := []byte("data: " + s + "\n\n")
		json := frame[len("data: ") : len(frame)-len("\n\n")]
		events = append(events, agui.Event{Type: agui.PeekType(json), JSON: json, Frame: frame})
	}
	return events
}

// TestRequestAllocatesLittle checks a request_approval call from its start to its result. The only
// allocation must be the id under which the call is stored.
func TestRequestAllocatesLittle(t *testing.T) {
	events := exchanged()
	_, run, err := new(Dialect).Begin(&translate.Request{Input: input(t, "")})
	if err != nil {
		t.Fatal(err)
	}
	emit := func(agui.Event) {}
	if n := testing.AllocsPerRun(100, func() {
		for _, ev := range events {
			if err := run.Event(ev, emit); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 2 { // one allocation, and another with the race detector
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkRequest measures a request_approval call from its START to its RESULT.
func BenchmarkRequest(b *testing.B) {
	events := exchanged()
	_, run, err := new(Dialect).Begin(&translate.Request{Input: input(b, "")})
	if err != nil {
		b.Fatal(err)
	}
	shown := 0
	emit := func(agui.Event) { shown++ }
	b.ReportAllocs()
	for b.Loop() {
		shown = 0
		for _, ev := range events {
			if err := run.Event(ev, emit); err != nil {
				b.Fatal(err)
			}
		}
		if shown != len(events) {
			b.Fatalf("%d events", shown)
		}
	}
}
