package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tidwall/gjson"
)

const whole = `{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[{"id":"u1","role":"user","content":"hi"}],` +
	`"state":{"n":1},"tools":[{"name":"f"}],"resume":[{"interruptId":"x","status":"resolved","payload":{"a":1},"metadata":{}}],` +
	`"forwardedProps":{"command":{"resume":{"id":true},"interruptEvent":"{\"id\":\"y~1\"}"}}}`

func TestParseInput(t *testing.T) {
	in, ok, err := ParseInput([]byte(whole))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if in.ThreadID != "t" || in.RunID != "r" || in.ProtocolVersion != "1.0" || len(in.Messages) != 1 || string(in.State) != `{"n":1}` || !in.Declares("f") || in.Declares("g") {
		t.Errorf("%+v", in)
	}
	if !in.HasResume || len(in.Resume) != 1 || in.Resume[0].InterruptID != "x" || in.Resume[0].Status != Resolved || string(in.Resume[0].Payload) != `{"a":1}` {
		t.Errorf("%+v", in.Resume)
	}
	if v, ok := in.CommandResume(); !ok || string(v) != `{"id":true}` {
		t.Errorf("%s", v)
	}
	if ids := in.NamedIDs(); !slices.Equal(ids, []string{"x", "id", "y~1"}) {
		t.Errorf("%q", ids)
	}
}

// TestInputLiesInItsBody: parsing an input must not copy its messages.
func TestInputLiesInItsBody(t *testing.T) {
	body := []byte(`{"threadId":"t","runId":"r","state":{"n":1},"messages":[` + strings.Repeat(`{"id":"m","role":"user","content":"`+strings.Repeat("text ", 200)+`"},`, 99) + `{"id":"m"}]}`)
	var in RunInput
	n := testing.AllocsPerRun(100, func() { in, _, _ = ParseInput(body) })
	// some allocations are for the list of messages as it grows
	if len(in.Messages) != 100 || n > 10 {
		t.Errorf("%d messages, %v allocations", len(in.Messages), n)
	}
	whole := string(body)
	for _, m := range in.Messages {
		_ = append(m.JSON, "scribbled"...)
	}
	_ = append(in.State, "scribbled"...)
	if string(body) != whole {
		t.Error("an append to a part of it writes into the body")
	}
}

func TestNullIsAbsent(t *testing.T) {
	in, ok, err := ParseInput([]byte(`{"threadId":"t","runId":"r","protocolVersion":null,"messages":null,"state":null,"resume":null,"forwardedProps":{"command":{"resume":null}}}`))
	if _, answered := in.CommandResume(); err != nil || !ok || in.HasResume || in.State != nil || answered {
		t.Errorf("%+v %v", in, err)
	}
	in, _, _ = ParseInput([]byte(`{"threadId":"t","runId":"r","resume":[{"interruptId":"x","status":"resolved","payload":null}]}`))
	if in.Resume[0].Payload != nil {
		t.Errorf("%s", in.Resume[0].Payload)
	}
}

// TestResumeObject: if resume is an object, ParseInput leaves it to the dialects. AG-UI's draft and
// agent-framework before 1.0.0rc8 send such a resume.
func TestResumeObject(t *testing.T) {
	for object, ids := range map[string][]string{
		`{"interruptId":"x~1","payload":{"approved":true}}`: {"x~1"},
		`{"payload":1}`: nil,
		`{"interrupts":[{"id":"a","value":1},{"id":7},{"id":"b"}]}`: {"a", "b"},
	} {
		in, ok, err := ParseInput([]byte(`{"threadId":"t","runId":"r","resume":` + object + `}`))
		if !ok || err != nil || in.HasResume || string(in.ResumeObject) != object {
			t.Fatalf("%s: %+v %v", object, in, err)
		}
		if got := in.NamedIDs(); !slices.Equal(got, ids) {
			t.Errorf("%s names %q", object, got)
		}
		if left := in.WithoutResume(); left.ResumeObject != nil || string(left.Raw) != `{"threadId":"t","runId":"r"}` {
			t.Errorf("left %s", left.Raw)
		}
	}
	for _, object := range []string{`{"interrupt_id":"x"}`, `{"interruptId":"x","interruptId":"y"}`, `{"Payload":1}`, `"x"`, `7`} {
		if _, _, err := ParseInput([]byte(`{"threadId":"t","runId":"r","resume":` + object + `}`)); err == nil {
			t.Errorf("%s is taken", object)
		}
	}
}

func TestWhatIsARun(t *testing.T) {
	for in, want := range map[string]bool{
		`{"threadId":"t","runId":"r"}`:           true,
		`{"thread_id":"t","run_id":"r"}`:         true,
		`{"THREADID":"t","RunId":"r"}`:           true,
		`{"messages":[],"resume":[]}`:            true,
		`{"messages":[],"forwarded_props":{}}`:   true,
		`{"threadId":"t","resume":[]}`:           true,
		`{"threadId":"t","messages":[]}`:         true,
		`{"run_id":"r","messages":[]}`:           true,
		`{"protocolVersion":"1","messages":[]}`:  true,
		`{"runId":"r","resume":"x"}`:             true,
		`{"threadId":"t","forwardedProps":{}}`:   true,
		`{"resume":{},"forwardedProps":{}}`:      true,
		`{"resume":[1,{"Interrupt_Id":"x"}]}`:    true,
		`{"resume":[[],{}, {"interruptId":1}]}`:  true,
		`{"Resume":{"interrupts":[]}}`:           true,
		`{"forwarded_props":{"Command":{}}}`:     true,
		`{"forwardedProps":{"resume":[]}}`:       true,
		`{"resume":"my life"}`:                   false,
		`{"resume":{"id":1,"jobs":["cook"]}}`:    false,
		`{"resume":[{"from":1990},{}]}`:          false,
		`{"resume":[]}`:                          false,
		`{"forwardedProps":{"config":{}}}`:       false,
		`{"forwardedProps":7}`:                   false,
		`{"protocolVersion":1,"runId":"r"}`:      false,
		`{"messages":[],"model":"m"}`:            false,
		`{"threadId":"t"}`:                       false,
		`{"input":{"threadId":"t","runId":"r"}}`: false,
		`[{"threadId":"t","runId":"r"}]`:         false,
		`"threadId runId"`:                       false,
	} {
		if _, got, _ := ParseInput([]byte(in)); got != want {
			t.Errorf("%s: %v", in, got)
		}
	}
}

// TestEditsKeepEveryOtherByte: an edit changes only its own member of the body.
func TestEditsKeepEveryOtherByte(t *testing.T) {
	body := `{ "threadId":"t", "big":12345678901234567890, "runId":"r", "resume":[{"interruptId":"x","status":"cancelled"}], "messages":[], "odd":1.0, "forwardedProps":{"a":1.50,"command":{"resume":1,"keep":2}} }`
	in, _, err := ParseInput([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	got := string(in.WithoutResume().WithoutCommand().Raw)
	for _, kept := range []string{`"big":12345678901234567890`, `"odd":1.0`, `"a":1.50`, `"keep":2`} {
		if !bytes.Contains([]byte(got), []byte(kept)) {
			t.Errorf("%s is gone: %s", kept, got)
		}
	}
	for _, gone := range []string{"interruptId", `"resume"`} {
		if bytes.Contains([]byte(got), []byte(gone)) {
			t.Errorf("%s is there: %s", gone, got)
		}
	}
	if all := string(in.WithoutResume().WithMessages([]Message{ParseMessage([]byte(`{"id":"m"}`))}).Raw); !json.Valid([]byte(all)) || !bytes.Contains([]byte(all), []byte(`"messages":[{"id":"m"}]`)) {
		t.Error(all)
	}
}

func TestObjectElsewhere(t *testing.T) {
	encode := func(s string, little bool, width int) []byte {
		var out []byte
		for _, c := range utf16.Encode([]rune(s)) {
			unit := make([]byte, width)
			if little {
				unit[0], unit[1] = byte(c), byte(c>>8)
			} else {
				unit[width-1], unit[width-2] = byte(c), byte(c>>8)
			}
			out = append(out, unit...)
		}
		return out
	}
	for name, tt := range map[string]struct {
		body []byte
		want Beginning
	}{
		"UTF-8":                        {[]byte(`{"a":1}`), PlainEncoding},
		"UTF-8 with a mark":            {[]byte("\xef\xbb\xbf {"), OtherEncoding},
		"UTF-16 LE":                    {encode(` {"a":1}`, true, 2), OtherEncoding},
		"UTF-16 BE":                    {encode(`{"a":1}`, false, 2), OtherEncoding},
		"UTF-16 LE with a mark":        {append([]byte{0xff, 0xfe}, encode(`{`, true, 2)...), OtherEncoding},
		"UTF-32 LE":                    {encode(`{"`, true, 4), OtherEncoding},
		"UTF-32 BE":                    {encode("\n{", false, 4), OtherEncoding},
		"UTF-32 with a mark":           {append([]byte{0, 0, 0xfe, 0xff}, encode(`{`, false, 4)...), OtherEncoding},
		"an array":                     {encode(`[{}]`, true, 2), PlainEncoding},
		"white space, and nothing yet": {encode(`    `, true, 2), UndecidedEncoding},
		"a PNG":                        {[]byte("\x89PNG\r\n\x1a\n"), PlainEncoding},
		"an MP4":                       {[]byte("\x00\x00\x00\x20ftypisom"), PlainEncoding},
		"nothing":                      {nil, PlainEncoding},
	} {
		if got := ObjectElsewhere(tt.body); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// FuzzParseInput: ParseInput must not panic. In an accepted input, each key that Holdpoint reads
// occurs once and in one spelling. So encoding/json must read the same values, although it uses the
// last of two equal keys and ignores letter case.
func FuzzParseInput(f *testing.F) {
	for _, s := range []string{whole, `{"threadId":"t","thread_id":"u","runId":"r"}`, `{"threadId":"t","runId":"r","resume":[{}]}`, `{"messages":[],"Resume":1}`, "{\"threadId\":\"\\ud800\",\"runId\":\"r\"}",
		"\x01{\"threadId\":\"t\",\"runId\":\"r\"}", ` {"threadId":"t","runId":"r","messages":[ {"\u0069d":"a","id":"b","role":1} , {} ],"state":null,"tools":[{"name":"x"}]} `, `[{"threadId":"t"}]`, `{"threadId":"t","runId":"","resume":{}}`, `{"threadId":"t","runId":"r","messages":[{"id":"a"} {}]}`, `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, ok, err := ParseInput(body)
		if valid := ValidJSON(body); valid == errors.Is(err, ErrNoJSON) {
			t.Fatalf("valid %v, and %v", valid, err)
		} else if !valid {
			return
		}
		var refused *InputError
		if err != nil {
			if !errors.As(err, &refused) || !ok {
				t.Fatalf("%v %v", ok, err)
			}
			return
		}
		if !ok {
			return
		}
		var other struct {
			ThreadID string            `json:"threadId"`
			RunID    string            `json:"runId"`
			Messages []json.RawMessage `json:"messages"`
			Resume   json.RawMessage   `json:"resume"`
		}
		var entries []struct {
			InterruptID string `json:"interruptId"`
			Status      string `json:"status"`
		}
		if err := json.Unmarshal(body, &other); err != nil {
			t.Fatalf("taken, and encoding/json does not: %v", err)
		}
		if in.ResumeObject == nil && other.Resume != nil {
			if err := json.Unmarshal(other.Resume, &entries); err != nil {
				t.Fatalf("taken, and encoding/json does not: %v", err)
			}
		}
		if other.ThreadID != in.ThreadID || other.RunID != in.RunID || len(other.Messages) != len(in.Messages) || len(entries) != len(in.Resume) || in.ResumeObject != nil && !bytes.Equal(in.ResumeObject, other.Resume) {
			t.Fatalf("read %+v, encoding/json reads %+v", in, other)
		}
		for i, m := range in.Messages {
			search := gjson.ParseBytes(other.Messages[i])
			if !bytes.Equal(m.JSON, other.Messages[i]) || m.ID != search.Get("id").Str || m.Role != search.Get("role").Str || m.ToolCallID != search.Get("toolCallId").Str {
				t.Fatalf("message %d: %+v of %s", i, m, other.Messages[i])
			}
		}
		for i, e := range in.Resume {
			if entries[i].InterruptID != e.InterruptID || entries[i].Status != string(e.Status) {
				t.Fatalf("entry %d: %+v and %+v", i, e, entries[i])
			}
		}
		for _, edited := range []RunInput{in.WithoutResume(), in.WithoutCommand(), in.WithMessages(nil)} {
			if !json.Valid(edited.Raw) {
				t.Fatalf("an edit made %s", edited.Raw)
			}
		}
	})
}

// FuzzWhatIsARun: whether a body is a run must not depend on the order of its keys. Invalid JSON is
// never a run.
func FuzzWhatIsARun(f *testing.F) {
	for _, s := range []string{`"threadId":"t","messages":[]`, `"resume":[{"interruptId":1}]`, `"forwardedProps":{"command":1}`, `"resume":[[[]],{`, `"a":1`} {
		f.Add(s, `"b":2`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		_, one, err := ParseInput([]byte("{" + a + "," + b + "}"))
		_, other, otherErr := ParseInput([]byte("{" + b + "," + a + "}"))
		if errors.Is(err, ErrNoJSON) || errors.Is(otherErr, ErrNoJSON) || !json.Valid([]byte("{"+a+"}")) || !json.Valid([]byte("{"+b+"}")) {
			return
		}
		if one != other {
			t.Errorf("%s, %s: %v and %v", a, b, one, other)
		}
	})
}

// TestMoreMessagesThanAConversationHas: the number of messages is limited, because a message needs
// many times the memory of its smallest JSON.
func TestMoreMessagesThanAConversationHas(t *testing.T) {
	for n, want := range map[int]bool{MaxMessages: true, MaxMessages + 1: false} {
		body := `{"threadId":"t","runId":"r","messages":[` + strings.Repeat("{},", n-1) + `{}]}`
		in, isRun, err := ParseInput([]byte(body))
		if (err == nil) != want || !isRun || want && len(in.Messages) != n {
			t.Errorf("%d messages: %d, a run: %v, %v", n, len(in.Messages), isRun, err)
		}
	}
}

// TestListsAreBounded: the number of elements of tools and of resume is limited, because a very
// small element needs far more memory than its JSON.
func TestListsAreBounded(t *testing.T) {
	list := func(n int, one string) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	entries := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"interruptId":"%d","status":"cancelled"}`, i)
		}
		return "[" + b.String()[1:] + "]"
	}
	body := func(messages, more string) []byte {
		return []byte(`{"threadId":"t","runId":"r","messages":` + messages + more + `}`)
	}
	for name, tt := range map[string]struct {
		body func(n int) []byte
	}{
		"tools":  {func(n int) []byte { return body("[]", `,"tools":`+list(n, "{}")) }},
		"resume": {func(n int) []byte { return body("[]", `,"resume":`+entries(n)) }},
	} {
		if _, ok, err := ParseInput(tt.body(MaxListed)); !ok || err != nil {
			t.Errorf("%d %s: %v", MaxListed, name, err)
		}
		want := fmt.Sprintf("run input: %s has more than %d elements", name, MaxListed)
		if _, ok, err := ParseInput(tt.body(MaxListed + 1)); !ok || err == nil || err.Error() != want {
			t.Errorf("one %s more: %v", name, err)
		}
	}
}

func TestDeclares(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"name":"f%d"}`, i))
		}
		in, _, err := ParseInput([]byte(`{"threadId":"t","runId":"r","tools":[` + strings.Join(list, ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if in.Declares("f") || in.Declares(fmt.Sprintf("f%d", n)) || n > 0 && !in.Declares(fmt.Sprintf("f%d", n-1)) {
			t.Errorf("of %d tools", n)
		}
	}
}
