package langgraph

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate"
	"holdpoint/translate/dialecttest"
	"holdpoint/translate/kit"
)

// TestResumeCommand checks the value of command.resume that is sent for each answer (LangGraph
// reference, sections 6.2 and 6.5). "RAN" means that the case was run against the real version.
func TestResumeCommand(t *testing.T) {
	d := newDialect(t, Options{})
	one := pausedBy(t, d, started, custom(idA, approval), finished)
	two := pausedBy(t, d, started, custom(idA, `{"action":"A"}`), custom(idB, `{"action":"B"}`), finished)
	same := pausedBy(t, d, started, custom(idA, `"x"`), custom(idA, `"x"`), finished)
	bare := pausedBy(t, d, started, custom("", approval), finished)
	old := pausedBy(t, d, started, `{"type":"CUSTOM","name":"on_interrupt","value":"x","rawEvent":{"value":"x","ns":["a:b"]}}`, finished)
	mixed := pausedBy(t, d, started, custom("", `"x"`), custom(idB, `"y"`), finished)
	kit := pausedBy(t, d, started, custom(idA, kitText), finished)
	A, B := idA+"~r1", idB+"~r2"
	wrapped := func(v string) string { return `{"` + idA + `":` + v + `}` }

	for name, c := range map[string]struct {
		pause agui.Pause
		more  string
		want  string
		code  agui.Code
	}{
		// These are the rows of section 6.2. The answer is sent in a map from the question's id to
		// the value, so each value keeps its type.
		"object":  {one, dialecttest.ResumeArray(dialecttest.Entry(A, `{"approved":true}`)), wrapped(`{"approved":true}`), ""},
		"array":   {one, dialecttest.ResumeArray(dialecttest.Entry(A, `[1, 2]`)), wrapped(`[1, 2]`), ""},
		"number":  {one, dialecttest.ResumeArray(dialecttest.Entry(A, `12345678901234567890`)), wrapped(`12345678901234567890`), ""},
		"boolean": {one, dialecttest.ResumeArray(dialecttest.Entry(A, `true`)), wrapped(`true`), ""},
		"string":  {one, dialecttest.ResumeArray(dialecttest.Entry(A, `"yes"`)), wrapped(`"yes"`), ""},
		"string that looks like a number stays a string": {one, dialecttest.ResumeArray(dialecttest.Entry(A, `"42"`)), wrapped(`"42"`), ""},
		"false":                               {one, dialecttest.ResumeArray(dialecttest.Entry(A, `false`)), wrapped(`false`), ""},
		"zero":                                {one, dialecttest.ResumeArray(dialecttest.Entry(A, `0`)), wrapped(`0`), ""},
		"empty string":                        {one, dialecttest.ResumeArray(dialecttest.Entry(A, `""`)), wrapped(`""`), ""},
		"no payload is null":                  {one, dialecttest.ResumeArray(`{"interruptId":"` + A + `","status":"resolved"}`), wrapped(`null`), ""},
		"{}":                                  {one, dialecttest.ResumeArray(dialecttest.Entry(A, `{}`)), wrapped(`{}`), ""},
		"a payload whose keys look like ids":  {one, dialecttest.ResumeArray(dialecttest.Entry(A, `{"`+idB+`":1}`)), wrapped(`{"` + idB + `":1}`), ""},
		"all that is open":                    {two, dialecttest.ResumeArray(dialecttest.Entry(B, `2`), dialecttest.Entry(A, ``)), `{"` + idA + `":false,"` + idB + `":2}`, ""},
		"one id twice, equal answers (#6626)": {same, dialecttest.ResumeArray(dialecttest.Entry(A, `1`), dialecttest.Entry(idA+"~r2", `1`)), wrapped(`1`), ""},
		"one id twice, different answers (#6626)": {same, dialecttest.ResumeArray(dialecttest.Entry(A, `1`), dialecttest.Entry(idA+"~r2", `2`)), "", agui.InvalidPayload},
		"CopilotKit: a string (7.5)":              {kit, dialecttest.ResumeArray(dialecttest.Entry(A, `"Ann"`)), wrapped(`"Ann"`), ""},
		"CopilotKit: an object (7.5)":             {kit, dialecttest.ResumeArray(dialecttest.Entry(A, `{"x":1}`)), wrapped(`{"x":1}`), ""},

		// If a single question has no native id, the value itself is sent instead of a map (section
		// 4, row 3).
		"no id: object": {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `{"approved":true}`)), `{"approved":true}`, ""},
		"no id: string": {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `"yes"`)), `"yes"`, ""},
		"no id: string that is JSON is encoded once more": {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `"42"`)), `"\"42\""`, ""},
		"no id: NaN is JSON to Python":                    {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `"NaN"`)), `"\"NaN\""`, ""},
		"no id, no rawEvent: false goes (RAN 0.0.43)":     {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `false`)), `false`, ""},
		"no id, no rawEvent: empty string goes":           {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `""`)), `""`, ""},
		"no id, no rawEvent: cancelled":                   {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", ``)), `false`, ""},
		"no id: {} is an empty map to Python":             {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `{}`)), "", agui.InvalidPayload},
		"no id: keys that look like ids":                  {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `{"`+idB+`":1}`)), "", agui.InvalidPayload},
		"no id: no payload":                               {bare, dialecttest.ResumeArray(dialecttest.Entry("~r1", `null`)), "", agui.InvalidPayload},
		"no id, older backend: false is no answer":        {old, dialecttest.ResumeArray(dialecttest.Entry("~r1", `false`)), "", agui.InvalidPayload},
		"no id, older backend: 0.0 is none either":        {old, dialecttest.ResumeArray(dialecttest.Entry("~r1", `0.0`)), "", agui.InvalidPayload},
		"no id, older backend: nor is []":                 {old, dialecttest.ResumeArray(dialecttest.Entry("~r1", `[]`)), "", agui.InvalidPayload},
		"no id, older backend: cancelled":                 {old, dialecttest.ResumeArray(dialecttest.Entry("~r1", ``)), "", agui.InvalidPayload},
		"no id, older backend: true":                      {old, dialecttest.ResumeArray(dialecttest.Entry("~r1", `true`)), `true`, ""},
		"one without id beside another":                   {mixed, dialecttest.ResumeArray(dialecttest.Entry("~r1", `1`), dialecttest.Entry(B, `2`)), "", agui.InvalidPayload},

		// The client itself sends command.resume (section 6.5, rule 5).
		"command: an object goes into the map":               {one, dialecttest.Command(`{"approved":true}`), wrapped(`{"approved":true}`), ""},
		"command: false goes into the map (fact 3)":          {one, dialecttest.Command(`false`), wrapped(`false`), ""},
		"command: 0 goes into the map":                       {one, dialecttest.Command(`0`), wrapped(`0`), ""},
		"command: empty text goes into the map":              {one, dialecttest.Command(`""`), wrapped(`""`), ""},
		"command: {} goes into the map":                      {one, dialecttest.Command(`{}`), wrapped(`{}`), ""},
		"command: a text goes into the map":                  {one, dialecttest.Command(`"yes"`), wrapped(`"yes"`), ""},
		"command: JSON text goes into the map":               {one, dialecttest.Command(`"{\"approved\": true}"`), wrapped(`{"approved": true}`), ""},
		"command: 42 as text is the number that it becomes":  {one, dialecttest.Command(`"42"`), wrapped(`42`), ""},
		"command: false as text is no yes to an old adapter": {one, dialecttest.Command(`"false"`), wrapped(`false`), ""},
		"command: null as text":                              {one, dialecttest.Command(`"null"`), wrapped(`null`), ""},
		"command: a native id map stays":                     {two, dialecttest.Command(`{"` + idB + `": 2, "` + idA + `": 1}`), `{"` + idB + `": 2, "` + idA + `": 1}`, ""},
		"command: a published id map is mapped":              {two, dialecttest.Command(`{"` + B + `":2,"` + A + `":1}`), `{"` + idA + `":1,"` + idB + `":2}`, ""},
		"command: an id map of one of two":                   {two, dialecttest.Command(`{"` + idB + `":2}`), "", agui.PartialResume},
		"command: a scalar for two (fact 4)":                 {two, dialecttest.Command(`"yes"`), "", agui.PartialResume},
		"command: another question's id map":                 {one, dialecttest.Command(`{"` + idB + `":2}`), "", agui.UnknownInterruptID},
		"command: no id, the value as sent":                  {bare, dialecttest.Command(`"{\"a\":1}"`), `"{\"a\":1}"`, ""},
		"both forms, the same":                               {one, dialecttest.ResumeArray(dialecttest.Entry(A, `{"a":1}`)) + "," + dialecttest.Command(`"{\"a\":1}"`), wrapped(`{"a":1}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, d, c.pause, input(t, c.more))
			if dialecttest.Code(err) != c.code {
				t.Fatalf("error %v, want %s", err, c.code)
			}
			if c.code == "" && (!out.Resumes || sent(out) != c.want) {
				t.Errorf("command.resume %s, want %s", sent(out), c.want)
			}
			if gjson.GetBytes(out.Body, "resume").Exists() {
				t.Errorf("resume went on: %s", out.Body)
			}
		})
	}
}

// TestResumeKeepsTheRestOfTheBody checks that all keys of the body except the answer keep their
// bytes (section 6.5 of the LangGraph reference, rule 2).
func TestResumeKeepsTheRestOfTheBody(t *testing.T) {
	d := newDialect(t, Options{})
	p := pausedBy(t, d, started, custom(idA, approval), finished)
	A := idA + "~r1"
	for name, c := range map[string]struct{ body, want string }{
		"no forwardedProps": {
			`{"threadId":"t", "runId":"r","messages":[],"resume":[` + dialecttest.Entry(A, "1") + `]}`,
			`{"threadId":"t", "runId":"r","messages":[],"forwardedProps":{"command":{"resume":{"` + idA + `":1}}}}`,
		},
		"null": {
			`{"threadId":"t","runId":"r","messages":[],"forwardedProps":null,"resume":[` + dialecttest.Entry(A, "1") + `]}`,
			`{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"command":{"resume":{"` + idA + `":1}}}}`,
		},
		"other keys": {
			`{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[],"forwardedProps":{"nodeName" : "x","command":{"goto":[1e3],"resume":null}, "n":1.0},"resume":[` + dialecttest.Entry(A, "1") + `],"x":12345678901234567890}`,
			`{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"nodeName" : "x","command":{"goto":[1e3],"resume":{"` + idA + `":1}}, "n":1.0},"x":12345678901234567890}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, d, p, dialecttest.Input(t, c.body))
			if err != nil || string(out.Body) != c.want {
				t.Errorf("body\n%s (%v), want\n%s", out.Body, err, c.want)
			}
		})
	}
	for _, props := range []string{`"x"`, `[1]`, `{"command":"go"}`, `{"command":[1]}`} {
		in := dialecttest.Input(t, `{"threadId":"t","runId":"r","messages":[],"forwardedProps":`+props+`,"resume":[`+dialecttest.Entry(A, "1")+`]}`)
		if _, _, err := resumeWith(t, d, p, in); dialecttest.Code(err) != agui.InvalidPayload {
			t.Errorf("forwardedProps %s: %v", props, err)
		}
	}
}

// TestCancelled checks the value that is sent for a cancelled answer to a question without defined
// decisions. A review must get its own reject (section 7.6 of the LangGraph reference).
func TestCancelled(t *testing.T) {
	withSchema := `{"message":"How many?","responseSchema":{"type":"object"}}`
	expiring := `{"message":"How many?","responseSchema":{"type":"object"},"expiresAt":"2020-01-01T00:00:00Z"}`
	withApproved := `{"message":"May I?","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"}}}}`
	only := func(fits string) func(schema, payload json.RawMessage) error {
		return func(_, payload json.RawMessage) error {
			if string(payload) != fits {
				return errors.New("does not fit")
			}
			return nil
		}
	}
	never := only("nothing")
	for name, c := range map[string]struct {
		value, cancel string
		valid         func(schema, payload json.RawMessage) error
		want          string
		code          agui.Code
	}{
		"false by default":                   {approval, ``, nil, `false`, ""},
		"null":                               {approval, `null`, nil, `null`, ""},
		"JSON of the operator's":             {approval, `{"approved":false}`, nil, `{"approved":false}`, ""},
		"the adapter's sentinel gets its id": {approval, `{"__agui_cancelled__":true}`, nil, `{"__agui_cancelled__":true,"interrupt_id":"` + idA + `"}`, ""},
		"CopilotKit":                         {kitText, `"no"`, nil, `"no"`, ""},
		"a schema that it does not fit":      {withSchema, ``, never, "", agui.InvalidPayload},
		"a schema that it fits":              {withSchema, `{"no":true}`, func(_, p json.RawMessage) error { return nil }, `{"no":true}`, ""},
		"a no that the schema has":           {withApproved, ``, only(`{"approved":false}`), `{"approved":false}`, ""},
		"null where the schema takes it":     {withSchema, ``, only(`null`), `null`, ""},
		"an interrupt that expires, no more": {expiring, ``, never, "", agui.InvalidPayload},
		"HITL has a decision of its own":     {jsHITL, `null`, never, `{"decisions":[{"type":"reject","message":"Cancelled by user"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{Cancel: kit.JSON(c.cancel)})
			p := pausedBy(t, d, started, custom(idA, c.value), finished)
			out, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", ""))), func(r *translate.Request) { r.Valid = c.valid })
			if want := `{"` + idA + `":` + c.want + `}`; dialecttest.Code(err) != c.code || c.code == "" && sent(out) != want {
				t.Errorf("command.resume %s (%v), want %s (%s)", sent(out), err, want, c.code)
			}
		})
	}
	t.Run("no payload where null does not fit", func(t *testing.T) {
		d := newDialect(t, Options{})
		p := pausedBy(t, d, started, custom(idA, withSchema), finished)
		_, _, err := resumeWith(t, d, p, input(t, dialecttest.ResumeArray(dialecttest.Entry(idA+"~r1", "null"))), func(r *translate.Request) {
			r.Valid = func(_, p json.RawMessage) error { return map[bool]error{true: errors.New("null")}[p == nil] }
		})
		if dialecttest.Code(err) != agui.InvalidPayload {
			t.Error(err)
		}
	})
	t.Run("what an edit in the backend's form must fit", func(t *testing.T) {
		d := newDialect(t, Options{})
		p := pausedBy(t, d, started, custom(idA, `{"action_requests":[{"name":"f","args":{}}],"review_configs":[{"action_name":"f","allowed_decisions":["edit"],"args_schema":{"required":["x"]}}]}`), finished)
		_, _, err := resumeWith(t, d, p, input(t, dialecttest.Command(`{"decisions":[{"type":"edit","edited_action":{"name":"f","args":{}}}]}`)), func(r *translate.Request) {
			r.Valid = func(schema, _ json.RawMessage) error { return errors.New(string(schema)) }
		})
		if dialecttest.Code(err) != agui.InvalidPayload || !strings.Contains(err.Error(), "required") {
			t.Error(err)
		}
	})
}

// TestResumeOfASubclass: ids of a subclass of the adapter must be sent back in the array. If they
// were the keys of a map, LangGraph would not recognize them as ids, and would use the map itself
// as the answer.
func TestResumeOfASubclass(t *testing.T) {
	d := newDialect(t, Options{})
	given := func(n string) string {
		return `{"id":"` + idA + `:` + n + `","reason":"x","metadata":{"langgraph":{"raw":` + pyHITL + `}}}`
	}
	p := pausedBy(t, d, started, custom(idA, pyHITL), withOutcome(given("0"), given("1")))
	first, second := idA+":0~r1", idA+":1~r2"
	for name, c := range map[string]struct{ more, want string }{
		"by array": {
			dialecttest.ResumeArray(dialecttest.Entry(second, ``), `{"interruptId":"`+first+`","status":"resolved","metadata":{"k":1},"payload":{"approved":true}}`),
			`[{"interruptId":"` + idA + `:1","status":"cancelled"},{"interruptId":"` + idA + `:0","status":"resolved","metadata":{"k":1},"payload":{"approved":true}}]`,
		},
		"by command": {
			dialecttest.Command(`{"` + first + `":{"approved":true},"` + second + `":{"approved":false}}`),
			`[{"interruptId":"` + idA + `:0","status":"resolved","payload":{"approved":true}},{"interruptId":"` + idA + `:1","status":"resolved","payload":{"approved":false}}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := resumeWith(t, d, p, input(t, c.more))
			if got := gjson.GetBytes(out.Body, "resume").Raw; err != nil || got != c.want || sent(out) != "" {
				t.Errorf("body %s (%v), want resume %s", out.Body, err, c.want)
			}
		})
	}
}

// TestMessagesOfAResume checks which messages a request with answers contains (section 6.3 of the
// LangGraph reference, rows 10 and 16).
func TestMessagesOfAResume(t *testing.T) {
	u1, a1, u2 := `{"id":"u1","role":"user","content":"hi"}`, `{"id":"a1","role":"assistant","content":"x"}`, `{"id":"u2","role":"user","content":"and"}`
	system := `{"id":"s","role":"system","content":"be kind"}`
	fresh := func(list ...string) []agui.Message {
		var out []agui.Message
		for _, m := range list {
			out = append(out, agui.ParseMessage([]byte(m)))
		}
		return out
	}
	for name, c := range map[string]struct {
		client, kept string
		fresh        []agui.Message
		want         string
	}{
		"the client has all":                       {u1 + "," + a1, u1 + "," + a1, nil, u1 + "," + a1},
		"the client has fewer: the record's":       {u1, u1 + "," + a1, nil, u1 + "," + a1},
		"the client has none":                      {``, u1 + "," + a1, nil, u1 + "," + a1},
		"system messages do not count":             {system + "," + u1, u1 + "," + a1, nil, u1 + "," + a1},
		"the client has more":                      {u1 + "," + a1 + "," + a1, u1 + "," + a1, nil, u1 + "," + a1 + "," + a1},
		"nothing was kept":                         {u1, ``, nil, u1},
		"the new one goes later":                   {u1 + "," + a1 + "," + u2, u1 + "," + a1, fresh(u2), u1 + "," + a1},
		"the new one goes later, the client lacks": {u1 + "," + u2, u1 + "," + a1, fresh(u2), u1 + "," + a1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialect(t, Options{})
			p := pausedBy(t, d, started, custom(idA, approval), finished)
			if c.kept != "" {
				p.Messages = json.RawMessage("[" + c.kept + "]")
			}
			in := dialecttest.Input(t, `{"threadId":"t","runId":"r","messages":[`+c.client+`],"resume":[`+dialecttest.Entry(idA+"~r1", "1")+`]}`)
			out, _, err := resumeWith(t, d, p, in, func(r *translate.Request) { r.NewMessages = c.fresh })
			if got := gjson.GetBytes(out.Body, "messages").Raw; err != nil || got != "["+c.want+"]" {
				t.Errorf("messages %s (%v), want [%s]", got, err, c.want)
			}
			if out.TakesNew {
				t.Error("the answers cannot carry new messages")
			}
		})
	}
}

// TestPlainRun checks that a run without answers is sent unchanged, except that the members
// protocolVersion and an empty resume are removed, because an old adapter may fail at them.
func TestPlainRun(t *testing.T) {
	d := newDialect(t, Options{})
	for body, want := range map[string]string{
		`{"threadId":"t","runId":"r","messages":[]}`:                                   "",
		`{"threadId":"t", "runId":"r","protocolVersion":"1.0","messages":[]}`:          `{"threadId":"t", "runId":"r","messages":[]}`,
		`{"threadId":"t","runId":"r","messages":[],"resume":[]}`:                       `{"threadId":"t","runId":"r","messages":[]}`,
		`{"threadId":"t","runId":"r","messages":[],"forwardedProps":{"nodeName":"x"}}`: "",
	} {
		out, run, err := d.Begin(&translate.Request{Input: dialecttest.Input(t, body), Transcript: &dialecttest.Log{}})
		if err != nil || run == nil || string(out.Body) != want || out.Resumes {
			t.Errorf("%s became %s (%v), want %s", body, out.Body, err, want)
		}
	}
}
