package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdpoint/internal/agui"
	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

// TestEveryAnswerHasTheTime: each response must have the current time, even a response that reports
// a problem. As soon as the desk knows the clock of the store, this time must be from the store's
// clock.
func TestEveryAnswerHasTheTime(t *testing.T) {
	c, ahead := newClock(), newClock()
	ahead.advance(time.Hour)
	r := newRig(t, memory.New(memory.Options{Now: ahead.now}), c)
	if got := r.ask(200, "GET", "/v1/approvals").Get("now").Str; got != "2026-11-24T10:00:00Z" {
		t.Errorf("before the store was asked it is %s", got)
	}
	r.open(1, pause(1, "refund", `{}`))
	for path, status := range map[string]int{
		"/v1/approvals/" + id(1): 200, "/v1/approvals": 200, "/v1/approvals/" + id(2): 404, "/v1/approvals?state=x": 400, "/": 404,
	} {
		r.ask(200, "GET", "/v1/approvals/"+id(1))
		if got := r.ask(status, "GET", path).Get("now").Str; got != "2026-11-24T11:00:00Z" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := r.ask(401, "GET", "/v1/approvals", "Authorization", "").Get("now").Str; got != "2026-11-24T11:00:00Z" {
		t.Errorf("without a token: %s", got)
	}
}

// TestKindsOfQuestions: the calls and the schema of a question determine in which form it is
// answered.
func TestKindsOfQuestions(t *testing.T) {
	for n, test := range []struct {
		object, kind, choices string
		yes                   bool
	}{
		{`{"id":"q"}`, "text", ``, false},
		{`{"id":"q"}`, "tool", ``, true},
		{`{"id":"q","responseSchema":{"type":"string","description":"a path"}}`, "text", ``, false},
		{`{"id":"q","responseSchema":{"type":"string","pattern":"x"}}`, "form", ``, false},
		{`{"id":"q","responseSchema":{"enum":["a",1.10,null]}}`, "choice", `[{"value":"a","text":"a"},{"value":1.10,"text":"1.10"},{"value":null,"text":"null"}]`, false},
		{`{"id":"q","responseSchema":{"oneOf":[{"const":1,"title":"One"},{"const":2}]}}`, "choice", `[{"value":1,"text":"One"},{"value":2,"text":"2"}]`, false},
		{`{"id":"q","responseSchema":{"oneOf":[{"const":1},{"type":"string"}]}}`, "form", ``, false},
		{`{"id":"q","responseSchema":{"enum":[{"a":1}]}}`, "form", ``, false},
		{`{"id":"q","responseSchema":{"type":"boolean"}}`, "choice", `[{"value":true,"text":"true"},{"value":false,"text":"false"}]`, false},
		{`{"id":"q","responseSchema":{"type":"object"}}`, "form", ``, false},
		{`{"id":"q","responseSchema":{"enum":[1` + strings.Repeat(",1", 50) + `]}}`, "form", ``, false},
	} {
		r := inMemory(t)
		p := pause(n, "", "")
		p.Interrupts[0] = agui.Interrupt{ID: "q", Object: json.RawMessage(test.object)}
		if test.yes {
			p.Interrupts[0].Yes = json.RawMessage("true")
		}
		r.open(n, p)
		q := r.ask(200, "GET", "/v1/approvals/"+id(n)).Get("questions.0")
		if q.Get("kind").Str != test.kind || q.Get("choices").Raw != test.choices {
			t.Errorf("%s is %s with %s", test.object, q.Get("kind"), q.Get("choices"))
		}
	}
}

// TestFieldsOfArguments: each field of the arguments must have the same text as in the JSON. The
// response for a single approval has all fields, and a list has one line of them.
func TestFieldsOfArguments(t *testing.T) {
	r := inMemory(t)
	r.open(1, pause(1, "refund", `{"amount":1.10,"to":"a","to":"b","note":"`+strings.Repeat("x ", 500)+`"}`))
	c := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0.calls.0")
	for path, want := range map[string]string{
		"fields.#": "4", "fields.0.text": "1.10", "fields.0.salient": "true", "fields.1.twice": "true", "fields.2.text": "b",
		"fields.3.kind": "prose", "fields.3.size": "1000", "rest": "", "size": "1043",
	} {
		if got := c.Get(path).String(); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	c = r.ask(200, "GET", "/v1/approvals").Get("approvals.0.questions.0.calls.0")
	if c.Get("fields.#").Int() != 4 || !c.Get("fields.3.truncated").Bool() || !c.Get("rest").Bool() {
		t.Errorf("in the list: %s", c)
	}
}

// TestFieldsOfManyCalls: the size of an approval's fields must be limited, however many calls the
// approval has.
func TestFieldsOfManyCalls(t *testing.T) {
	r := inMemory(t)
	p := pause(1, "refund", `{}`)
	for range 2000 {
		p.Interrupts[0].Calls = append(p.Interrupts[0].Calls, agui.AskedCall{Name: "x", Args: `{"a":"` + strings.Repeat("y", 1000) + `"}`})
	}
	r.open(1, p)
	for path, most := range map[string]int{"/v1/approvals": 400 << 10, "/v1/approvals/" + id(1): 5 << 20} {
		if got := len(r.ask(200, "GET", path).Raw); got > most {
			t.Errorf("%s has %d bytes, want %d at most", path, got, most)
		}
	}
}

// TestArgumentsAsAFile: the arguments of a call can be loaded as a file. The file must contain the
// complete arguments, and a browser must run nothing in it.
func TestArgumentsAsAFile(t *testing.T) {
	r := inMemory(t)
	args := `{"a":"<script>` + strings.Repeat("x", 300<<10) + "\u202e\"}"
	r.open(1, pause(1, "refund", args))
	path := "/v1/approvals/" + id(1) + "/raw/i1/0"
	res := r.send("GET", path)
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != args {
		t.Errorf("%d bytes, want %d: %v", len(body), len(args), err)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "Content-Disposition": `attachment; filename="arguments.txt"`,
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if f := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0.calls.0.fields.0"); !f.Get("truncated").Bool() || len(f.Get("text").Str) != 100<<10 {
		t.Errorf("the field has %d bytes", len(f.Get("text").Str))
	}
	// The file still exists after the approval has ended.
	r.must(storetest.Do(r.Context(), r.store, keyOf(1), store.Close{PauseID: pauseOf(1), Result: store.Result{EndKind: store.Withdrawn}}))
	if res := r.send("GET", path); res.StatusCode != http.StatusOK {
		t.Errorf("ended: %d", res.StatusCode)
	}
	for _, wrong := range []string{"/raw/i1/1", "/raw/i1/-1", "/raw/i1/x", "/raw/i2/0"} {
		r.ask(404, "GET", "/v1/approvals/"+id(1)+wrong)
	}
	r.ask(404, "GET", fmt.Sprintf("/v1/approvals/%s/raw/i1/0", id(2)))
	r.ask(401, "GET", path, "Authorization", "")
}

// TestMarks: a question contains invisible text. The text must be marked in whatever part of the
// question it is, and the question must be grave.
func TestMarks(t *testing.T) {
	const rlo = "\u202e"
	for name, test := range map[string]struct {
		tool, args, object string
		path, want         string
		grave              bool
	}{
		"nothing":    {"refund", `{"a":"Возврат 😀"}`, `{}`, "calls.0.fields.0.marks", "", false},
		"a field":    {"refund", `{"a":"x` + rlo + `"}`, `{}`, "calls.0.fields.0.marks.0.name", "U+202E RLO", true},
		"an escape":  {"refund", `{"a":"x\u202e"}`, `{}`, "calls.0.fields.0.marks.0.at", "1", true},
		"a key":      {"refund", `{"` + "\u0430" + `mount":1}`, `{}`, "calls.0.fields.0.keyMarks.0.decoded", "a", true},
		"a tool":     {"re" + rlo + "fund", `{}`, `{}`, "calls.0.nameMarks.0.at", "2", true},
		"a message":  {"refund", `{}`, `{"message":"Sure?` + rlo + `"}`, "messageMarks.0.kind", "bidi", true},
		"a choice":   {"", "", `{"responseSchema":{"enum":["a` + rlo + `"]}}`, "choices.0.marks.0.class", "A", true},
		"far behind": {"refund", `{"a":"` + strings.Repeat("x", 200<<10) + rlo + `"}`, `{}`, "calls.0.fields.0.marks.0.kind", "more", true},
		"not shown":  {"refund", `{"a":[` + strings.Repeat("1,", 1000) + `"` + rlo + `"]}`, `{}`, "calls.0.rest", "true", true},
		"a space":    {"refund", `{"a":"1` + "\u00a0" + `000"}`, `{}`, "calls.0.fields.0.marks.0.class", "B", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := inMemory(t)
			p := pause(1, test.tool, test.args)
			p.Interrupts[0].Object = json.RawMessage(test.object)
			if test.tool == "" {
				p.Interrupts[0].Calls, p.Interrupts[0].Yes = nil, nil
			}
			r.open(1, p)
			q := r.ask(200, "GET", "/v1/approvals/"+id(1)).Get("questions.0")
			if got := q.Get(test.path).String(); got != test.want || q.Get("grave").Bool() != test.grave {
				t.Errorf("%s is %q, want %q; grave: %s", test.path, got, test.want, q.Get("grave"))
			}
			if l := r.ask(200, "GET", "/v1/approvals").Get("approvals.0.questions.0"); l.Get("grave").Bool() != test.grave && name != "a choice" {
				t.Errorf("in the list it is grave: %s", l.Get("grave"))
			}
		})
	}
}
