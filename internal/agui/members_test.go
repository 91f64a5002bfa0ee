package agui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// TestIDText: a number is the same id as its text. A message and a copy of a call have the same id.
func TestIDText(t *testing.T) {
	for raw, want := range map[string]string{
		`"c1"`: "c1", `"\u0063"`: "c", `7`: "7", `-7`: "-7", `7.0`: "7", `9007199254740993`: "9007199254740993",
		`null`: "", `true`: "", `{"a":1}`: "", `["c1"]`: "", `""`: "",
	} {
		if got := IDText(gjson.Parse(raw)); got != want {
			t.Errorf("%s: %q", raw, got)
		}
		m := ParseMessage([]byte(`{"role":"tool","toolCallId":` + raw + `}`))
		if m.ToolCallID != want {
			t.Errorf("a message with %s: %q", raw, m.ToolCallID)
		}
		copies := CallCopies(`{"id":`+raw+`,"function":{}}`, func(id string) bool { return id == want })
		if want != "" && len(copies) != 1 {
			t.Errorf("a call with %s: %v", raw, copies)
		}
	}
	if id := IDText(gjson.Result{}); id != "" {
		t.Errorf("a value that is missing: %q", id)
	}
}

// FuzzMembers: Members must accept the same texts as gjson and encoding/json, and find the same
// members as gjson.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, `{"a":1}`, "\t{ \"a\" : -1.5e+3 , \"b\"\n:\r[ 1,{},[ ],\"x\" ] }\n", `{"type":"CUSTOM","value":null,"t\u0079pe":true,"":false}`,
		`{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{"a":1}}`, `{"a":1`, `{`, `{"a":1 "b":2}`, `[1,]`, `[`, `[1 2]`, `[]`, `[[]`, `{]`, `[}`, ``, ` `,
		`"long enough for eight bytes\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00 and more \ud800 half a pair"`, "\"a control character at\x1f\"", `"\x"`, `"\u12"`, `"\u12g4"`, `"\`, `"`,
		`0`, `-0`, `01`, `-`, `1.`, `.5`, `1e`, `1E-`, `1e5`, `1.5E+10`, `+1`, `NaN`, `nul`, `true`, `tru`, `false`, `"` + "\xff" + `"`, `"1234567` + "\x80" + `"`,
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth), strings.Repeat(`{"a":`, MaxDepth+1) + "1" + strings.Repeat("}", MaxDepth+1),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		valid := !TooDeep([]byte(text)) && gjson.Valid(text)
		if ValidText(text) != valid || ValidJSON([]byte(text)) != valid || valid && !json.Valid([]byte(text)) {
			t.Fatalf("valid: %v, not %v", ValidText(text), valid)
		}
		root := gjson.Parse(text)
		m := MembersIn(text)
		if !valid {
			for checked := CheckedMembers([]byte(text)); checked.Next(); { // ends, and does not panic
			}
			for m.Next() {
			}
			if m.IsComplete() {
				t.Fatal("whole, but not valid")
			}
			return
		}
		if got := AppendText([]byte("x"), strings.TrimSpace(text)); string(got) != "x"+root.Str {
			t.Fatalf("text %q, not %q", got[1:], root.Str)
		}
		checked := CheckedMembers([]byte(text))
		root.ForEach(func(k, v gjson.Result) bool {
			if root.IsObject() && (!checked.Next() || checked.Key != k.Raw || checked.Value != v.Raw || checked.Name() != k.Str) {
				t.Fatalf("%s: %s, not %s: %s", checked.Key, checked.Value, k.Raw, v.Raw)
			}
			if root.IsObject() && (!m.Next() || m.Key != k.Raw || m.Value != v.Raw || m.Name() != k.Str || Text(m.Value) != v.Str || string(AppendText(nil, m.Value)) != v.Str) {
				t.Fatalf("%s: %s, not %s: %s", m.Key, m.Value, k.Raw, v.Raw)
			}
			return true
		})
		for range 2 {
			if m.Next() || m.IsComplete() != root.IsObject() {
				t.Fatalf("more, or not whole: %s", m.Key)
			}
			if checked.Next() || checked.IsComplete() != root.IsObject() || checked.End() != m.End() {
				t.Fatalf("more, or not whole: %s", checked.Key)
			}
		}
	})
}

func TestMembersCostNoAllocation(t *testing.T) {
	event := []byte(`{"type":"TOOL_CALL_ARGS","toolCallId":"call-1","delta":"{\"query\":","rawEvent":{"a":[1,2.5,null]}}`)
	if n := testing.AllocsPerRun(100, func() {
		if !NewEvent(event).Valid() {
			t.Error("not valid")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkValid(b *testing.B) {
	for name, event := range map[string]string{
		"call":   `{"type":"TOOL_CALL_START","toolCallId":"call-1","toolCallName":"search","parentMessageId":"m1"}`,
		"args":   `{"type":"TOOL_CALL_ARGS","toolCallId":"call-1","delta":"{\"request\":{\"approval_id\":\"call-1\",\"function_name\":\"delete_report\",\"function_arguments\":{\"path\":\"/reports/1\",\"recursive\":true},\"message\":\"Approve?\"}}"}`,
		"text":   `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"` + strings.Repeat("x", 135) + `"}`,
		"nested": `{"type":"RAW","event":{"event":"on_chain_stream","data":{"chunk":{"messages":[{"type":"ai","content":"` + strings.Repeat("x", 800) + `","n":[1,2.5,true,null]}]}}},"source":"langgraph"}`,
	} {
		b.Run(name, func(b *testing.B) {
			ev := NewEvent([]byte(event))
			b.ReportAllocs()
			for b.Loop() {
				ev.Valid()
			}
		})
	}
}
