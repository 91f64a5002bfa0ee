package strandsapi

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

func TestAnswer(t *testing.T) {
	const refused = "refused"
	payloads := []string{
		`"y"`, `"t"`, `""`, `true`, `false`, `{"approved":true}`, `{"approved":false}`, `{"approved":false,"why":"x"}`, `{"approved":true,"editedArgs":{}}`,
		`{"approved":"yes"}`, `{"approved":false,"approved":true}`, `{"env":"prod"}`, `[1]`, `7`, ``, "cancelled", `{"approved":true,"approved":false}`,
	}
	for rule, want := range map[string][]string{
		`{"name":"*","answers":"docs-string"}`: {
			`"y"`, `"t"`, `""`, `"y"`, `"n"`, `"y"`, `"n"`, `"n"`, refused,
			`{"approved":"yes"}`, `"n"`, `{"env":"prod"}`, `[1]`, `7`, refused, `"n"`, `"n"`,
		},
		`{"name":"*","answers":"bool"}`: {
			`"y"`, `"t"`, `""`, `true`, `false`, `true`, `false`, `false`, refused,
			`{"approved":"yes"}`, `false`, `{"env":"prod"}`, `[1]`, `7`, refused, `false`, `false`,
		},
		`{"name":"*","answers":"raw"}`: {
			`"y"`, `"t"`, `""`, `true`, `false`, `{"approved":true}`, `{"approved":false}`, `{"approved":false,"why":"x"}`, `{"approved":true,"editedArgs":{}}`,
			`{"approved":"yes"}`, `{"approved":false,"approved":true}`, `{"env":"prod"}`, `[1]`, `7`, refused, `{"status":"cancelled"}`, `{"approved":true,"approved":false}`,
		},
		`{"name":"*","answers":"envelope"}`: {
			`{"response":"y"}`, `{"response":"t"}`, `{"response":""}`, `{"response":true}`, `{"response":false}`, `{"response":{"approved":true}}`,
			`{"response":{"approved":false}}`, `{"response":{"approved":false,"why":"x"}}`, `{"response":{"approved":true,"editedArgs":{}}}`,
			`{"response":{"approved":"yes"}}`, `{"response":{"approved":false,"approved":true}}`, `{"response":{"env":"prod"}}`, `{"response":[1]}`, `{"response":7}`,
			`{"response":null}`, `{"cancelled":true}`, `{"response":{"approved":true,"approved":false}}`,
		},
		`{"name":"*","answers":"docs-string","yes":"A","no":"D","cancel":{"off":1}}`: {
			`"y"`, `"t"`, `""`, `"A"`, `"D"`, `"A"`, `"D"`, `"D"`, refused,
			`{"approved":"yes"}`, `"D"`, `{"env":"prod"}`, `[1]`, `7`, refused, `{"off":1}`, `"D"`,
		},
		`{"name":"*","answers":"raw","path":"env"}`: {
			refused, refused, refused, refused, `{"status":"cancelled"}`, refused, `{"status":"cancelled"}`, `{"status":"cancelled"}`, refused,
			refused, `{"status":"cancelled"}`, `"prod"`, refused, refused, refused, `{"status":"cancelled"}`, `{"status":"cancelled"}`,
		},
		`{"name":"*","answers":"bool","path":"approved"}`: {
			refused, refused, refused, refused, `false`, `true`, `false`, `false`, refused,
			`"yes"`, `false`, refused, refused, refused, refused, `false`, `false`,
		},
	} {
		r, ok := parsed(t, rule).Answer("x")
		if !ok {
			t.Errorf("%s: no rule", rule)
		}
		for n, payload := range payloads {
			a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: json.RawMessage(payload)}
			if payload == "cancelled" {
				a = agui.Answer{ID: "i", Status: agui.Cancelled, Payload: json.RawMessage(`{"approved":true}`)}
			} else if payload == "" {
				a.Payload = nil
			}
			if got := said(t, r, a, false); got != want[n] {
				t.Errorf("%s: %s became %s, want %s", rule, payload, got, want[n])
			}
		}
	}
}

// parsed returns the rules of a file whose list of interrupts has the given content.
func parsed(t testing.TB, list string) Rules {
	t.Helper()
	rules, err := ParseRules([]byte(`{"interrupts":[` + list + `]}`))
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return rules
}

func said(t testing.TB, r Rule, a agui.Answer, words bool) string {
	t.Helper()
	v, err := r.ValueFor(a, words)
	var refused *agui.RunError
	switch {
	case errors.As(err, &refused) && refused.Code == agui.InvalidPayload:
		return "refused"
	case err != nil || !json.Valid(v):
		t.Fatalf("%s %v", v, err)
	}
	return string(v)
}

// TestAnswerToAHook: a hook compares the answer with a text. It must get a text, never an object:
// an object would make the hook fail, and such a run cannot be resumed. Unclear payloads must be
// refused.
func TestAnswerToAHook(t *testing.T) {
	for payload, want := range map[string]string{
		`"t"`: `"t"`, `true`: `"y"`, `{"approved":true}`: `"y"`, `{"approved":false,"why":"x"}`: `"n"`,
		`{"approved":"yes"}`: "refused", `{"Approved":true}`: "refused", `{"Approved":false}`: `"n"`, `{"approved":true,"approved":true}`: "refused", `{"env":"prod"}`: "refused", `[1]`: "refused", `7`: "refused", `{}`: "refused",
		`""`: "refused", `" "`: "refused",
	} {
		a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: json.RawMessage(payload)}
		if got := said(t, Rule{}, a, true); got != want {
			t.Errorf("%s became %s, want %s", payload, got, want)
		}
		if got := said(t, Rule{Profile: Raw}, a, true); got != payload {
			t.Errorf("raw: %s became %s", payload, got)
		}
	}
}

// TestAnswerByOwnWords: a hook has its own text for no. It may not know the text "n", and would
// then read it as a yes. So each no must be sent as the hook's own text, and an empty answer must
// be refused.
func TestAnswerByOwnWords(t *testing.T) {
	rules := parsed(t, `{"name":"own","answers":"docs-string","yes":"A","no":"D"},{"name":"wrapped","answers":"envelope"}`)
	own, _ := rules.Answer("own")
	wrapped, _ := rules.Answer("wrapped")
	for payload, want := range map[string]string{`"n"`: `"D"`, `" No"`: `"D"`, `"D"`: `"D"`, `"d"`: `"D"`, `"A"`: `"A"`, `"a"`: `"a"`, `"t"`: `"t"`, `"yes"`: `"yes"`} {
		a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: json.RawMessage(payload)}
		if got := said(t, own, a, true); got != want {
			t.Errorf("%s became %s, want %s", payload, got, want)
		}
		if got := said(t, own, a, false); got != payload {
			t.Errorf("of a tool: %s became %s", payload, got)
		}
	}
	silent := agui.Answer{ID: "i", Status: agui.Resolved}
	if got := said(t, wrapped, silent, true); got != "refused" {
		t.Errorf("silence became %s", got)
	}
	if got := said(t, wrapped, silent, false); got != `{"response":null}` {
		t.Errorf("of a tool: silence became %s", got)
	}
}

// TestAnswerOfNoAsText: a hook that expects true or false reads any text as true. So a no in a text
// must be sent as false, and an unclear text must be refused.
func TestAnswerOfNoAsText(t *testing.T) {
	for payload, want := range map[string]string{`"no"`: "false", `" N "`: "false", `"false"`: "false", `"t"`: `"t"`, `"y"`: `"y"`, `"nope"`: "refused", `"do not"`: "refused"} {
		a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: json.RawMessage(payload)}
		if got := said(t, Rule{Profile: Bool}, a, true); got != want {
			t.Errorf("%s became %s, want %s", payload, got, want)
		}
		if got := said(t, Rule{}, a, true); got != payload {
			t.Errorf("as words: %s became %s", payload, got)
		}
		if got := said(t, Rule{Profile: Bool}, a, false); want == "refused" && got != payload {
			t.Errorf("to a tool: %s became %s", payload, got)
		}
	}
}

// TestDenialWithAPath: the payload denies, but the value at the rule's path is a yes. The dialect
// must send the denial.
func TestDenialWithAPath(t *testing.T) {
	for profile, want := range map[Profile]string{Words: `"n"`, Bool: "false", Raw: `{"status":"cancelled"}`, Envelope: `{"cancelled":true}`} {
		a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: json.RawMessage(`{"approved":false,"answer":"y"}`)}
		if got := said(t, Rule{Profile: profile, Path: "answer"}, a, true); got != want {
			t.Errorf("%s: %s, want %s", profile, got, want)
		}
		if (Rule{Profile: profile}).Decides() != (profile == Words || profile == Bool) {
			t.Errorf("%s decides", profile)
		}
	}
}

func TestMessage(t *testing.T) {
	for _, c := range []struct{ reason, tool, name, want string }{
		{`"Which env?"`, "ask", "n", "Which env?"},
		{`{"message":"M","prompt":"P"}`, "t", "n", "M"},
		{`{"question":"Q"}`, "", "n", "Q"},
		{`{"prompt":"P","message":7}`, "", "n", "P"},
		{`{"paths":["a"]}`, "delete_files", "n", "Approve call to delete_files?"},
		{`{"paths":["a"]}`, "", "myapp-batch", `The agent waits for an answer to "myapp-batch".`},
		{`""`, "", "", "The agent waits for an answer."},
		{``, "t", "", "Approve call to t?"},
	} {
		if got := Message(gjson.Parse(c.reason), c.tool, c.name); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for _, c := range []struct {
		id         ID
		name, call string
		want       string
	}{
		{ID{Kind: BeforeCall}, "n", "c", "tool_call"}, {ID{Kind: BeforeCall}, "n", "", "strands:n"},
		{ID{Kind: BeforeCall, Nested: true}, "n", "c", "strands:n"}, {ID{Kind: FromTool}, "n", "c", "strands:n"},
		{ID{Kind: BeforeCalls}, "", "", "strands:interrupt"}, {ID{Kind: FromTool}, "strands:handoff-to-user", "c", "strands:handoff-to-user"},
	} {
		if got := Reason(c.id, c.name, c.call); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestRead checks that the texts of a rule are read as yes and no, and also the texts of the known
// hooks.
func TestRead(t *testing.T) {
	for text, want := range map[string]map[string]agui.Meaning{
		`{"name":"*","answers":"docs-string"}`:                        {`"y"`: agui.Approves, `"t"`: agui.Approves, `"N "`: agui.Denies, `"x"`: agui.Unclear, `{"a":1}`: agui.Unclear},
		`{"name":"*","answers":"docs-string","yes":"oui","no":"non"}`: {`"OUI"`: agui.Approves, `"non"`: agui.Denies, `"a"`: agui.Approves, `"d"`: agui.Denies},
		`{"name":"*","answers":"bool"}`:                               {`true`: agui.Approves, `false`: agui.Denies},
		`{"name":"*","answers":"raw"}`:                                {`"1"`: agui.Approves, `"0"`: agui.Denies, `"?"`: agui.Unclear},
	} {
		rule, _ := parsed(t, text).Answer("any")
		for payload, says := range want {
			if got := rule.Read(agui.Answer{Status: agui.Resolved, Payload: []byte(payload)}, agui.Reading{}); got.Meaning != says {
				t.Errorf("%s: %s is read as %v, want %v", text, payload, got.Meaning, says)
			}
		}
	}
	known := agui.Reading{Meaning: agui.Denies}
	if got := (Rule{}).Read(agui.Answer{Status: agui.Resolved, Payload: []byte(`"y"`)}, known); got != known {
		t.Errorf("what is known already is read as %+v", got)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`true`, `{"approved":false}`, `{"approved":true,"a":1}`, `{"approved":false,"approved":true}`, `"n"`, `[]`, `{"Approved":true}`} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, payload string, words bool) {
		if !agui.ValidJSON([]byte(payload)) {
			return
		}
		v := gjson.Parse(payload)
		denies := v.Type == gjson.False || v.IsObject() && v.Get("approved").Type == gjson.False
		for _, p := range []Profile{Words, Bool, Raw, Envelope} {
			r := Rule{Profile: p}
			a := agui.Answer{ID: "i", Status: agui.Resolved, Payload: kit.Payload(v)}
			got := said(t, r, a, words)
			if denies && (got == string(r.yes()) || p == Bool && got != "false" || p == Words && got != `"n"`) {
				t.Fatalf("%s: %s became %s", p, payload, got)
			}
			a.Status = agui.Cancelled
			if got = said(t, r, a, words); got != string(r.Cancelled()) || kit.JSON(got).DeniesOnly() != nil {
				t.Fatalf("%s: cancelled %s became %s", p, payload, got)
			}
		}
	})
}
