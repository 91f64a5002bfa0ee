package strandsapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/agui"
	"holdpoint/translate/kit"
)

// TestRules checks the properties of a name to which several rules apply. Each property must come
// from the first matching rule that has it.
func TestRules(t *testing.T) {
	rules := parsed(t, `
		{"name": "myapp-*", "reason": "confirmation"},
		{"name": "strands:*", "answers": "bool"},
		{"name": "myapp-pay", "answers": "docs-string", "yes": "ok", "no": false, "schema": {"type": "string"}, "reason": "not asked"},
		{"name": "a/*", "answers": "raw", "cancel": {"why": "x; y"}},
		{"name": "*", "answers": "docs-string", "cancel": "nobody said it"}`)
	for name, want := range map[string]struct{ profile, reason, schema, cancelled string }{
		"strands:human-in-the-loop": {"bool", "", "", "false"},
		"myapp-pay":                 {"docs-string", "confirmation", `{"type": "string"}`, "false"},
		"myapp-x":                   {"docs-string", "confirmation", "", `"nobody said it"`},
		"a/b/c":                     {"raw", "", "", `{"why": "x; y"}`},
		"any/name:x":                {"docs-string", "", "", `"nobody said it"`},
		"":                          {"docs-string", "", "", `"nobody said it"`},
	} {
		r, ok := rules.Answer(name)
		if !ok || string(r.Profile) != want.profile || string(r.Cancelled()) != want.cancelled {
			t.Errorf("%q: %+v", name, r)
		}
		if reason, schema := rules.Reason(name), string(rules.Schema(name)); reason != want.reason || schema != want.schema {
			t.Errorf("%q: %q %s", name, reason, schema)
		}
	}
	if _, ok := (Rules{}).Answer("x"); ok {
		t.Error("no rules, and one was found")
	}
}

// TestRulesThatAreWrong checks the error for each wrong file. Each must begin with the number of
// the wrong line.
func TestRulesThatAreWrong(t *testing.T) {
	for list, want := range map[string]string{
		`7`: "want an object with name, answers", `{}`: "a rule has no name", `{"name":""}`: "is not a text", `{"name":7}`: "is not a text",
		`{"name":"a"}`: "is empty", `{"name":"["}`: "not a pattern", `{"name":"[","answers":"bool"}`: "not a pattern",
		`{"name":"a","answers":"y"}`: `"y" is not a profile, want docs-string, bool, envelope or raw`, `{"name":"a","answers":true}`: "true is not a profile",
		`{"name":"a","yes":"y"}`: "require the member answers", `{"name":"a","path":"x","reason":"y"}`: "require the member answers",
		`{"name":"a","answers":"bool","off":1}`:                   `"off" is not known, want name, answers, yes, no, cancel, path, schema or reason`,
		`{"name":"a","Answers":"bool"}`:                           `"Answers" is not known`,
		`{"name":"a","answers":"bool","answers":"raw"}`:           `"answers" is in line 5 already`,
		`{"name":"a","answers":"bool"},{"name":"a","reason":"x"}`: `a rule for "a" is in line 5 already`,
		`{"name":"a","answers":"bool","path":7}`:                  "is not a text", `{"name":"a","reason":""}`: "is not a text",
		`{"name":"a","schema":"string"}`: "want a JSON Schema that is an object", `{"name":"a","schema":[]}`: "want a JSON Schema that is an object",
		`{"name":"a","answers":"bool","no":true}`: "approval", `{"name":"a","answers":"docs-string","no":"yes"}`: "approval",
		`{"name":"a","answers":"bool","cancel":null}`: "is empty", `{"name":"a","answers":"raw","cancel":{"approved":true}}`: "approval",
		`{"name":"a","answers":"docs-string","no":"y"}`: "approval", `{"name":"a","answers":"docs-string","yes":"n"}`: "word for no",
		`{"name":"a","answers":"docs-string","yes":"A","cancel":"A"}`: "word for yes",
		`{"name":"a","answers":"docs-string","yes":"go","no":"GO"}`:   "word for yes", `{"name":"a","answers":"docs-string","no":"Trust"}`: "approval",
		`{"name":"a","answers":"docs-string","no":"t"}`: "word for yes", `{"name":"a","answers":"docs-string","yes":null}`: "is empty",
		`{"name":"a","answers":"docs-string","yes":""}`: "is empty", `{"name":"a","answers":"docs-string","yes":false}`: "word for no",
		`{"name":"a","answers":"docs-string","yes":{}}`: "is empty", `{"name":"a","answers":"bool","no":"n"}`: "any other value as true",
		`{"name":"a","answers":"bool","cancel":{"a":1}}`: "any other value as true", `{"name":"a","answers":"raw","yes":"y"}`: "have no effect with raw",
		`{"name":"a","answers":"envelope","no":"n"}`: "have no effect with envelope", `{"name":"a","answers":"envelope","cancel":{"ok":{"a":1}}}`: "approval",
	} {
		_, err := ParseRules([]byte("{\n\"interrupts\": [\n{\"name\":\"before\",\"answers\":\"raw\"},\n\n" + list + "\n]}"))
		if err == nil || !strings.HasPrefix(err.Error(), "line 5: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", list, err)
		}
	}
	for text, want := range map[string]string{
		``: "line 1: want JSON: ", "{\n\"interrupts\": [\n}": "line 3: want JSON: ", `[]`: "line 1: want an object with questions or interrupts",
		`{}`: "line 1: it is empty", `{"interrupts":[]}`: "line 1: it is empty", "{\n\"interrupts\":{}}": "line 2: interrupts: want a list of rules",
		`{"rules":[]}`: `line 1: "rules" is not known, want questions or interrupts`, "{\"questions\":\"a\",\n\"questions\":\"b\"}": `line 2: "questions" is in line 1 already`,
		`{"questions":7}`: "line 1: questions: 7 is not a text", "{}\n{}": "line 2: want JSON: ",
	} {
		if _, err := ParseRules([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRulesFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(file, []byte("\xef\xbb\xbf"+`{"questions":"pending","interrupts":[{"name":"*","answers":"bool"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var rules Rules
	if err := rules.UnmarshalText([]byte(file)); err != nil || rules.String() != file+" (1 rule)" || rules.Questions != "pending" {
		t.Errorf("%v %v", rules, err)
	}
	if got := (Rules{}).String(); got != "" {
		t.Errorf("no file is %q", got)
	}
	for value, want := range map[string]string{file + "x": "no such file", "deploy-*=bool": "want the name of a file", `{"interrupts":[]}`: "want the name of a file"} {
		if err := rules.UnmarshalText([]byte(value)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
	}
}

// FuzzRules checks any text as a file of rules. ParseRules must not panic, and no rule that it
// accepts may send a yes for a denied or cancelled answer.
func FuzzRules(f *testing.F) {
	f.Add(`{"questions":"a","interrupts":[{"name":"*","answers":"docs-string","yes":"A","no":"D","cancel":{"off":1},"path":"x","schema":{},"reason":"r"}]}`)
	f.Add(`{"interrupts":[{"name":"*","answers":"raw"},{"name":"a","schema":{"a":1}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules([]byte(text))
		if err != nil {
			return
		}
		for _, v := range rules.Denials() {
			if err := kit.JSON(v).DeniesOnly(); err != nil {
				t.Errorf("%s: %s: %v", text, v, err)
			}
		}
	})
}

// TestDocumentedRules checks that the example in docs/strands-reference.md is valid, and that its
// rules have the effects that the page states.
func TestDocumentedRules(t *testing.T) {
	text, err := os.ReadFile("../../../docs/strands-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "<!-- rules -->\n")
	if len(parts) != 3 {
		t.Fatalf("want two markers around the example, got %d", len(parts)-1)
	}
	rules, err := ParseRules([]byte(strings.TrimSuffix(strings.TrimPrefix(parts[1], "```json\n"), "```\n")))
	if err != nil {
		t.Fatal(err)
	}
	yes := agui.Answer{ID: "i", Status: agui.Resolved, Payload: []byte(`{"approved":true}`)}
	no := agui.Answer{ID: "i", Status: agui.Resolved, Payload: []byte(`{"approved":false}`)}
	for name, want := range map[string][3]string{
		"deploy-prod": {"true", "false", "false"}, "review": {`"APPROVE"`, `"REJECT"`, `"STOP"`}, "other": {`"y"`, `"n"`, `"n"`},
	} {
		r, _ := rules.Answer(name)
		if got := [3]string{said(t, r, yes, true), said(t, r, no, true), said(t, r, agui.Answer{ID: "i", Status: agui.Cancelled}, true)}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if rules.Reason(name) != "confirmation" || rules.Schema(name) != nil {
			t.Errorf("%s: %q %s", name, rules.Reason(name), rules.Schema(name))
		}
	}
	form, _ := rules.Answer("form")
	filled := agui.Answer{ID: "i", Status: agui.Resolved, Payload: []byte(`{"value":{"env":"prod"}}`)}
	if got := said(t, form, filled, false); got != `{"env":"prod"}` || string(rules.Schema("form")) != `{"type": "object"}` {
		t.Errorf("form: %s, %s", got, rules.Schema("form"))
	}
}
