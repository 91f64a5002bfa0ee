package agui

import "testing"

func TestSpellingsOfAKey(t *testing.T) {
	for other, want := range map[string]bool{
		"threadId": true, "thread_id": true, "THREADID": true, "_ThreadId_": true, "threadid": true,
		"threadIdx": false, "thread": false, "": false, "_": false, "thread-id": false, "threadI\xff": false,
	} {
		if got := SameKey(other, "threadId"); got != want {
			t.Errorf("%q: %v", other, got)
		}
	}
	if !SameKey("re\u017fume", "resume") || !SameKey("to\u212aen", "token") || SameKey("re\u017fume", "rexume") {
		t.Error("case is not that of encoding/json")
	}
	if n := testing.AllocsPerRun(100, func() { SameKey("protocol_Version", "protocolVersion") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
