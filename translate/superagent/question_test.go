package superagent

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

func TestInterrupt(t *testing.T) {
	const approval = `"responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}`
	fields := confirmField + `,{"name":"city","type":"text","label":"City","required":true},{"name":"note","type":"text"},{"name":"size","type":"select","required":true,"options":["S","M","S"]},{"name":"n","type":"number"},{"name":"city","type":"confirm"},{"type":"text"},{"name":"any","type":"select","options":[]}`
	for name, c := range map[string]struct{ frame, native, want string }{
		"a lone confirm": {
			"\x00INTERRUPT:" + state, "approver_t1_1788256800000000000",
			`{"reason":"confirmation","message":"` + reason + `",` + approval + `,"metadata":{"superagent":` + state + `}}`,
		},
		"the real A2UI event is the same": {
			a2ui("interrupt", wrapped(state)), "approver_t1_1788256800000000000",
			`{"reason":"confirmation","message":"` + reason + `",` + approval + `,"metadata":{"superagent":` + state + `}}`,
		},
		"the documented A2UI event": {
			a2ui("interrupt", `{"reason":"Sure?","fields":[`+confirmField+`]}`), "",
			`{"reason":"confirmation","message":"Sure?",` + approval + `,"metadata":{"superagent":{"reason":"Sure?","fields":[` + confirmField + `]}}}`,
		},
		"a reason that is JSON, but no state": {
			a2ui("interrupt", `{"reason":"{\"reason\":\"x\"}","fields":[`+confirmField+`]}`), "",
			`{"reason":"confirmation","message":"{\"reason\":\"x\"}",` + approval + `,"metadata":{"superagent":{"reason":"{\"reason\":\"x\"}","fields":[` + confirmField + `]}}}`,
		},
		"several fields": {
			"\x00INTERRUPT:" + `{"session_id":"t1","reason":"r","fields":[` + fields + `],"timestamp":0,"checkpoint_id":"c"}`, "c",
			`{"reason":"input_required","message":"r","responseSchema":{"type":"object","properties":{"confirm":{"type":"boolean","title":"Confirm action"},"city":{"type":"string","minLength":1,"title":"City"},"note":{"type":"string"},"size":{"type":"string","enum":["S","M"]},"n":{},"any":{"type":"string"}},"required":["confirm","city","size"]},"metadata":{"superagent":{"session_id":"t1","reason":"r","fields":[` + fields + `],"timestamp":0,"checkpoint_id":"c"}}}`,
		},
		"no fields, no checkpoint": {
			"\x00INTERRUPT:" + `{"session_id":"t1","reason":"Agent requested confirmation before proceeding.","timestamp":1788256800,"checkpoint_id":""}`, "",
			`{"reason":"input_required","message":"Agent requested confirmation before proceeding.","responseSchema":{"type":"object","minProperties":1},"metadata":{"superagent":{"session_id":"t1","reason":"Agent requested confirmation before proceeding.","timestamp":1788256800,"checkpoint_id":""}}}`,
		},
		"nothing but an object": {
			"\x00INTERRUPT:" + `{"fields":7,"timestamp":"x","reason":null}`, "",
			`{"reason":"input_required","responseSchema":{"type":"object","minProperties":1},"metadata":{"superagent":{"fields":7,"timestamp":"x","reason":null}}}`,
		},
		"a time that is none": {
			"\x00INTERRUPT:" + `{"reason":"r","timestamp":1e300}`, "",
			`{"reason":"input_required","message":"r","responseSchema":{"type":"object","minProperties":1},"metadata":{"superagent":{"reason":"r","timestamp":1e300}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := playPlain(t, c.frame).Result.Asked.Interrupts
			if len(asked) != 1 {
				t.Fatalf("asks %+v", asked)
			}
			i := asked[0]
			if got := string(i.Object); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if c.native != "" && i.Native != c.native || i.Native == "" {
				t.Errorf("native id %q, want %q", i.Native, c.native)
			}
		})
	}
}

// TestNativeIDWithoutACheckpoint: two questions have no checkpoint_id. Their native ids must differ
// if their texts differ.
func TestNativeIDWithoutACheckpoint(t *testing.T) {
	ask := func(reason string) string {
		return pausedBy(t, a2ui("interrupt", `{"reason":"`+reason+`"}`)).Interrupts[0].Native
	}
	if a := ask("a"); a == ask("b") || a != ask("a") {
		t.Errorf("native ids %q, %q, %q", a, ask("b"), ask("a"))
	}
}

func TestLongQuestion(t *testing.T) {
	long := strings.Repeat("ü", 100<<10)
	p := playPlain(t, "\x00INTERRUPT:"+string(agui.SetString([]byte(state), "reason", long)))
	o := gjson.ParseBytes(p.Result.Asked.Interrupts[0].Object)
	if m := o.Get("message").Str; len(m) > maxMessage+len("…") || !strings.HasSuffix(m, "ü…") {
		t.Errorf("a message of %d bytes ends in %q", len(m), m[len(m)-8:])
	}
	if o.Get("metadata.superagent.reason").Exists() || !o.Get("metadata.superagent.session_id").Exists() {
		t.Errorf("metadata of %d bytes", len(o.Get("metadata").Raw))
	}
	if !strings.Contains(p.story(), long) {
		t.Error("the conversation has not all of it")
	}
}
