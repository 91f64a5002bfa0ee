package strands

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdpoint/translate/internal/strandsapi"
)

func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.json")
	read := func(text string) (Server, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var s Server
		err := s.UnmarshalText([]byte(file))
		return s, err
	}
	for text, want := range map[string]Server{
		`{"text":true}`:      {Text: true},
		`{"reasoning":true}`: {Reasoning: true}, `{"reasoning":false}`: {},
		`{"body":{"p":"$prompt"},"headers":{},"paths":["/a/"]}`: {Body: `{"p":"$prompt"}`, Headers: Headers{}, Paths: Paths{"/a"}},
		`{"questions":"pending","headers":{"x-s":"$session"}}`:  {Rules: strandsapi.Rules{Questions: "pending"}, Headers: Headers{{"X-S", "$session"}}},
	} {
		got, err := read(text)
		if got.String() != file+" (0 rules)" {
			t.Errorf("%s is shown as %q", text, got)
		}
		if got.file = ""; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`{}`: "line 1: it is empty", `{"bodi":{}}`: `line 1: "bodi" is not known, want body, headers, paths, reasoning, text, questions or interrupts`,
		"{\n\"body\": {\"prompt\": \"hi\"}}":      "line 2: body: want a JSON object",
		"{\n\"body\": \"$prompt\"}":               "line 2: body: want a JSON object",
		"{\n\n\"headers\": \"X-S=$session\"}":     "line 3: headers: want an object",
		`{"paths":"/a"}`:                          "line 1: paths: want a list of paths",
		`{"paths":["a"]}`:                         `line 1: paths: "a" is not a path`,
		`{"text":"true"}`:                         "line 1: text: want true or false",
		`{"reasoning":1}`:                         "line 1: reasoning: want true or false",
		"{\"text\":true,\n\"text\":false}":        `line 2: "text" is in line 1 already`,
		`{"interrupts":[{"name":"a","yes":"b"}]}`: "line 1: ",
	} {
		if got, err := read(text); err == nil || !strings.HasPrefix(err.Error(), want) || !reflect.DeepEqual(got, Server{}) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestDenialsOfTheFile: Denials must also return the values for a denial and a cancel in the file,
// so that they are checked like the other options.
func TestDenialsOfTheFile(t *testing.T) {
	s := Server{Rules: rules(t, `{"name":"*","answers":"docs-string","no":"nein","cancel":"stop"}`)}
	var got []string
	for _, v := range s.Denials() {
		got = append(got, string(v))
	}
	if strings.Join(got, " ") != `"nein" "stop"` {
		t.Errorf("%q", got)
	}
}

// TestDocumentedFile checks that the example in docs/strands-reference.md is valid and has the
// effect that the page describes.
func TestDocumentedFile(t *testing.T) {
	text, err := os.ReadFile("../../docs/strands-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "<!-- file -->\n")
	if len(parts) != 3 {
		t.Fatalf("want two markers around the example, got %d", len(parts)-1)
	}
	s, err := parseServer([]byte(strings.TrimSuffix(strings.TrimPrefix(parts[1], "```json\n"), "```\n")))
	if err != nil {
		t.Fatal(err)
	}
	got := string(s.Body.with(input(t, ""), []byte(`"hi"`), "S"))
	rule, _ := s.Rules.Answer("deploy-prod")
	if got != `{"input":{"prompt":"hi"},"session":"S"}` || len(s.Headers) != 0 || s.Headers == nil || rule.Profile != strandsapi.Bool {
		t.Errorf("%s %v %+v", got, s.Headers, rule)
	}
	d := newDialect(t, s)
	for path, want := range map[string]bool{"/invocations": true, "/agents/a": true, "/jobs": false} {
		if _, ok := d.Route(path); ok != want {
			t.Errorf("%s: %v", path, ok)
		}
	}
}
