package agui

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPeekType(t *testing.T) {
	for in, want := range map[string]Type{
		`{"type":"RUN_STARTED","threadId":"t"}`:  RunStarted,
		`{"type": "RUN_STARTED"}`:                RunStarted,
		`{"threadId":"t","type":"RUN_FINISHED"}`: RunFinished,
		` { "type" : "CUSTOM" }`:                 Custom,
		`{"type":"RUN\u005fFINISHED"}`:           RunFinished,
		`{"type":"NOBODY_KN\u004fWS"}`:           Unknown,
		`{"type":"\u0052\u0055\u004e\u005f\u0046\u0049\u004e\u0049\u0053\u0048\u0045\u0044"}`: RunFinished,
		`{"type":"NOBODY_KNOWS"}`:                     Unknown,
		`{"type":"RUN_STARTED_AND_MORE"}`:             Unknown,
		`{"nested":{"type":"CUSTOM"}}`:                Unknown,
		`{"type":7}`:                                  Unknown,
		`{"type":"` + strings.Repeat("x", 100) + `"}`: Unknown,
		`{"type":"`:                                   Unknown,
		``:                                            Unknown,
		`[DONE]`:                                      Unknown,
	} {
		if got := PeekType([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestPeekTypeCostsNoAllocation(t *testing.T) {
	event := []byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`)
	// PeekType must not allocate, even if type is the last member, as AGUI.Server of .NET writes
	// it.
	for _, event := range [][]byte{event, []byte(`{"messageId":"m","delta":"x","type":"TEXT_MESSAGE_CONTENT"}`)} {
		if n := testing.AllocsPerRun(100, func() { PeekType(event) }); n > 0 {
			t.Errorf("%v allocations: %s", n, event)
		}
	}
}

func TestValidEvent(t *testing.T) {
	for in, want := range map[string]bool{
		`{"type":"CUSTOM"}`:                       true,
		`{"type":"CUSTOM","value":{"type":"x"}}`:  true,
		`{"type":"CUSTOM","type":"RUN_FINISHED"}`: false,
		`{"type":"CUSTOM"`:                        false,
		`{"value":1}`:                             false,
		`["type"]`:                                false,
		`{"type":"x","v":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}`: false,
	} {
		if got := NewEvent([]byte(in)).Valid(); got != want {
			t.Errorf("%.60s: %v", in, got)
		}
	}
}

func TestTooDeep(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for in, want := range map[string]bool{
		nest(MaxDepth):     false,
		nest(MaxDepth + 1): true,
		`"` + strings.Repeat("[", 2*MaxDepth) + `"`:   false,
		`"\"` + strings.Repeat("[", 2*MaxDepth) + `"`: false,
		strings.Repeat("[]", 2*MaxDepth):              false,
		`"\`:                                          false,
		`"`:                                           false,
	} {
		if got := TooDeep([]byte(in)); got != want {
			t.Errorf("%.40s (%d bytes): %v", in, len(in), got)
		}
	}
}

func TestMarshalKeepsBytes(t *testing.T) {
	raw := json.RawMessage(`{"n":12345678901234567890,"f":1.0,"s":"<&>","b":1,"a":2}`)
	if got := string(MustMarshal(map[string]any{"x": raw})); got != `{"x":`+string(raw)+`}` {
		t.Error(got)
	}
}

func TestRunErrorEvent(t *testing.T) {
	got := string(Errorf(PartialResume, "answered %d of %d", 1, 2).Event().JSON)
	if got != `{"type":"RUN_ERROR","message":"answered 1 of 2","code":"PARTIAL_RESUME"}` {
		t.Error(got)
	}
}

func BenchmarkPeekType(b *testing.B) {
	rest := `"messageId":"m1","delta":"` + strings.Repeat("x", 135) + `"`
	for name, event := range map[string]string{
		"first key":       `{"type":"TEXT_MESSAGE_CONTENT",` + rest + `}`,
		"behind a space":  `{"type": "TEXT_MESSAGE_CONTENT",` + rest + `}`,
		"last key":        `{` + rest + `,"type":"TEXT_MESSAGE_CONTENT"}`,
		"nobody knows it": `{"type":"ACTIVITY_SNAPSHOT",` + rest + `}`,
	} {
		b.Run(name, func(b *testing.B) {
			data := []byte(event)
			b.ReportAllocs()
			for b.Loop() {
				PeekType(data)
			}
		})
	}
}
