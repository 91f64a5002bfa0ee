package strands

import (
	"encoding/json"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

func forms(t testing.TB, text string) Forms {
	t.Helper()
	var f Forms
	if err := f.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return f
}

// What the hooks of the documents and the vended ones make of an answer is in reference/strands.md, RAN by the recordings
// strict-* and hitl-*.
func TestAnswersByProfile(t *testing.T) {
	const refused = "refused"
	for name, c := range map[string]struct {
		form    string
		payload string // "" is cancelled, "none" no payload
		tool    bool   // asked by a tool's body
		want    string
	}{
		"an approval is the documents' word": {"", `{"approved":true}`, false, `"y"`},
		"a denial too":                       {"", `{"approved":false}`, false, `"n"`},
		"a bare approval":                    {"", `true`, false, `"y"`},
		"a bare denial":                      {"", `false`, false, `"n"`},
		"a word is what it is":               {"", `"t"`, false, `"t"`},
		"no payload":                         {"", "none", false, refused},
		"an empty word":                      {"", `" "`, false, refused},
		"cancelled":                          {"", "", false, `"n"`},
		"a denial with a reason":             {"", `{"approved":false,"message":"too many"}`, false, `"n"`},
		"an approval with a condition":       {"", `{"approved":true,"message":"but only a"}`, false, refused},
		"an approval with edits":             {"", `{"approved":true,"editedArgs":{}}`, false, refused},
		"a denial with edits":                {"", `{"approved":false,"editedArgs":{}}`, false, `"n"`},
		"an approval twice":                  {"", `{"approved":false,"approved":true}`, false, refused},
		"an approval that is no boolean":     {"", `{"approved":"true"}`, false, refused},
		"an approval that is 1":              {"", `{"approved":1}`, false, refused},
		"a number for a hook":                {"", `1`, false, refused},
		"a list for a hook":                  {"", `["y"]`, false, refused},
		"an object for a hook":               {"", `{"env":"prod"}`, false, refused},
		"an object for a tool":               {"", `{"env":"prod"}`, true, `{"env":"prod"}`},
		"a list for a tool":                  {"", `[1]`, true, `[1]`},
		"an approval for a tool":             {"", `{"approved":true}`, true, `"y"`},
		"an approval with edits for a tool":  {"", `{"approved":true,"editedArgs":{}}`, true, refused},
		"true and false":                     {"*=bool", `{"approved":true}`, false, `true`},
		"false":                              {"*=bool", `{"approved":false}`, false, `false`},
		"cancelled is false":                 {"*=bool", "", false, `false`},
		"a word for no is false to whom any word is true": {"*=bool", `"No"`, false, `false`},
		"another word":                                       {"*=bool", `"t"`, false, `"t"`},
		"enveloped":                                          {"*=envelope", `{"approved":true}`, false, `{"response":{"approved":true}}`},
		"enveloped edits":                                    {"*=envelope", `{"approved":true,"editedArgs":{}}`, false, `{"response":{"approved":true,"editedArgs":{}}}`},
		"enveloped nothing":                                  {"*=envelope", "none", false, `{"response":null}`},
		"cancelled in the envelope":                          {"*=envelope", "", false, `{"cancelled":true}`},
		"as it is":                                           {"*=raw", `{"approved":true,"editedArgs":{}}`, false, `{"approved":true,"editedArgs":{}}`},
		"nothing as it is":                                   {"*=raw", "none", false, refused},
		"cancelled as it is":                                 {"*=raw", "", false, `{"status":"cancelled"}`},
		"words of the operator":                              {"*=docs-string yes=A no=D", `{"approved":true}`, false, `"A"`},
		"the operator's no":                                  {"*=docs-string yes=A no=D", `{"approved":false}`, false, `"D"`},
		"cancelled is the operator's no":                     {"*=docs-string yes=A no=D", "", false, `"D"`},
		"another word for cancelled":                         {`*=docs-string cancel="nobody answered"`, "", false, `"nobody answered"`},
		"an object for cancelled":                            {`*=raw cancel={"gone":"x; y"}`, "", false, `{"gone":"x; y"}`},
		"the answer at a path":                               {"*=docs-string path=answer.text", `{"answer":{"text":"prod"}}`, true, `"prod"`},
		"nothing at the path":                                {"*=docs-string path=answer.text", `{"answer":"prod"}`, true, refused},
		"null at the path":                                   {"*=raw path=answer", `{"answer":null}`, true, refused},
		"a denial beside the path":                           {"*=docs-string path=answer", `{"approved":false,"answer":"y"}`, false, `"n"`},
		"a denial beside the path as it is":                  {"*=raw path=answer", `{"approved":false,"answer":"y"}`, false, `{"status":"cancelled"}`},
		"a denial beside the path in the envelope":           {"*=envelope path=answer", `{"approved":false,"answer":"y"}`, false, `{"cancelled":true}`},
		"an approval beside the path":                        {"*=docs-string path=answer", `{"approved":true,"answer":"prod"}`, true, `"prod"`},
		"an approval without the path":                       {"*=docs-string path=answer", `{"approved":true}`, true, `"y"`},
		"an object at the path for a hook":                   {"*=docs-string path=answer", `{"answer":{}}`, false, refused},
		"a word where a path is configured":                  {"*=docs-string path=answer", `"prod"`, true, `"prod"`},
		"the first glob counts":                              {"m*=bool;my*=raw", `true`, false, `true`},
		"the default behind all":                             {"other=raw", `true`, false, `"y"`},
		"a path in the envelope":                             {"*=envelope path=answer", `{"answer":7}`, false, `{"response":7}`},
		"a path that is not there in the envelope":           {"*=envelope path=answer", `{}`, false, refused},
		"vended HumanInTheLoop takes y, so it needs nothing": {"", `{"approved":true}`, false, `"y"`},
	} {
		t.Run(name, func(t *testing.T) {
			a := agui.Answer{Status: agui.Resolved, Payload: json.RawMessage(c.payload)}
			switch c.payload {
			case "":
				a = agui.Answer{Status: agui.Cancelled, Payload: json.RawMessage(`"y"`)}
			case "none":
				a.Payload = nil
			}
			k := aHook
			if c.tool {
				k = aTool
			}
			got, err := forms(t, c.form).of("myapp").value(a, k)
			if err != nil {
				got = json.RawMessage(refused)
			}
			if string(got) != c.want {
				t.Errorf("%s became %s (%v), want %s", c.payload, got, err, c.want)
			}
		})
	}
}

func TestFormsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"*":                                "want glob=value",
		"*=":                               `"" is no profile`,
		"=raw":                             "want glob=value",
		"[=raw":                            "want glob=value",
		"*=words":                          `"words" is no profile`,
		"*=raw word":                       "want path=",
		"*=raw path=":                      "want path=",
		"*=raw how=x":                      "want path=",
		"*=raw yes=y":                      "mean nothing to raw",
		"*=envelope no=n":                  "mean nothing to envelope",
		"*=docs-string no=y":               "it is a yes",
		"*=docs-string no=Trust":           "it is a yes",
		"*=docs-string yes=go no=GO":       "it is a yes",
		"*=docs-string yes=A cancel=a":     "it is a yes",
		`*=docs-string no=""`:              "says nothing",
		"*=docs-string no=null":            "says nothing",
		"*=docs-string no=true":            "could be taken for an approval",
		"*=docs-string yes=n":              "it is a no",
		"*=docs-string yes=false":          "it is a no",
		"*=docs-string yes=null":           "it is a no, or nothing",
		`*=docs-string yes=""`:             "it is a no, or nothing",
		"*=docs-string yes={}":             "it is a no, or nothing",
		"*=bool no=n":                      "any other value for true",
		`*=bool cancel={"a":1}`:            "any other value for true",
		`*=raw cancel={"approved":true}`:   "could be taken for an approval",
		`*=envelope cancel={"ok":{"a":1}}`: "could be taken for an approval",
	} {
		var f Forms
		if err := f.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestFormsAsTheyAreWritten(t *testing.T) {
	const text = `a;b=raw` // not taken: no =
	var f Forms
	if err := f.UnmarshalText([]byte(text)); err == nil {
		t.Error("taken")
	}
	const all = `strands:*=bool;ask_*=docs-string path=a.b cancel="x;y";*=raw`
	if got := forms(t, " "+all+" ; "); got.String() != all || len(got) != 3 {
		t.Errorf("%s", got)
	}
	if forms(t, "*=docs-string").Warning() != "" || forms(t, "a=raw").Warning() == "" {
		t.Error("warnings")
	}
}

func TestNames(t *testing.T) {
	var l Names
	if err := l.UnmarshalText([]byte("myapp-*=confirmation;a/b=x")); err != nil || l.of("myapp-1") != "confirmation" || l.of("a/b") != "x" || l.of("b") != "" {
		t.Errorf("%v %v", l, err)
	}
	var s Schemas
	if err := s.UnmarshalText([]byte(`*={"type":"string","enum":["a;b"]}`)); err != nil || s.of("x") != `{"type":"string","enum":["a;b"]}` {
		t.Errorf("%v %v", s, err)
	}
	for _, text := range []string{"*=", "*=string", "*=[]", `*={"a"`, "x"} {
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	if !matches("*", "a/b:c") || !matches("a?b", "a/b") || matches("a", "b") {
		t.Error("a slash is no path's")
	}
}
