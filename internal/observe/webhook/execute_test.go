package webhook

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"text/template"
	"time"

	"holdpoint/internal/event"
)

// TestExecutesAsGoDoes executes templates with this package and with text/template, with the same
// data. Either both must fail, or both must return the same text.
func TestExecutesAsGoDoes(t *testing.T) {
	templates := []string{
		`{{.Kind}} {{.More}}`, `{{$.Kind}}`, `{{with .Interrupts}}{{len .}}{{else}}-{{end}}`, `{{with $q := index .Interrupts 1}}{{$q.Says}}{{.Edited}}{{end}}`,
		`{{range .Interrupts}}{{.Status}},{{end}}`, `{{range $q := .Interrupts}}{{$q.Status}}{{$.Kind}}{{end}}`, `{{range $n, $q := .Interrupts}}{{if $n}}, {{end}}{{$n}}{{$q.Says}}{{end}}`,
		`{{range .Interrupts}}{{if eq .Status "resolved"}}{{break}}{{end}}x{{end}}`, `{{range .Interrupts}}{{if eq .Status "resolved"}}{{continue}}{{end}}x{{end}}`,
		`{{range (index .Interrupts 1).Tools}}x{{else}}none{{end}}`, `{{if .Agent}}a{{else if .Tenant}}b{{else}}c{{end}}`, `{{if not .Tenant}}1{{end}}`,
		`{{$a := 1}}{{if true}}{{$a = 2}}{{$b := 3}}{{$b}}{{end}}{{$a}}`, `{{$a := 1}}{{range .Interrupts}}{{$a = len .Status}}{{end}}{{$a}}`, `{{$a := 1}}{{with .Kind}}{{$a := 2}}{{$a}}{{end}}{{$a}}`,
		`{{and 1 .More}} {{or 0 .Kind}} {{and "" .Kind}} {{or .More 1}} {{or "" 0}}`, `{{and}}`, `{{or (eq .More 9) (eq .More 2)}}`, `{{.More | and true}}`,
		`{{eq .More 1 2 3}} {{ne .Kind "x"}} {{lt 1 2}} {{le 2 2}} {{gt "a" "b"}} {{ge 1 2}} {{eq true false}}`, `{{eq .Kind 1}}`, `{{lt .Interrupts 1}}`, `{{eq 1}}`, `{{ne 1}}`, `{{not}}`,
		`{{len .Kind}} {{len .Interrupts}}`, `{{len .More}}`, `{{index .Interrupts 9}}`, `{{(index (index .Interrupts 0).Tools 0) | json}}`, `{{(index .Interrupts 0).Says}}`,
		`{{print 1 .More "a" .Kind}} {{println "x"}} {{printf "%s-%03d-%v" .Kind .More true}}`, `{{.Kind | printf "%q"}}`, `{{.Kind 1}}`, `{{1 | .Kind}}`, `{{"a" | json | in}}`,
		`{{.Nothing}}`, `{{.Kind.Nothing}}`, `{{$x := .More}}{{$x.Nothing}}`, `{{range .Kind}}x{{end}}`, `{{nil}}`, `{{nothing .Kind}}`,
		`{{define "a"}}<{{.}}{{$}}>{{end}}{{template "a" .Kind}}{{range .Interrupts}}{{template "a" .Status}}{{end}}`, `{{template "b"}}`, `{{block "c" .Kind}}{{.}}{{end}}`,
		`{{/* nothing */}}a {{- 1 -}} b`, `{{short 3 .Thread | in}} {{is .Agent "b"}} {{is "b" .Agent}} {{short .Agent 3}} {{json 1}} {{json}}`, `{{short 3 .Thread | in}} {{is .Agent "b"}}`,
		"{{`raw`}} {{'a'}} {{0x10}} {{-3}}",
	}
	recipes, err := filepath.Glob("../../../deploy/webhook/*.tmpl")
	if err != nil || len(recipes) < 3 {
		t.Fatalf("recipes: %v %v", recipes, err)
	}
	for _, path := range recipes {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, string(text))
	}
	functions := template.FuncMap{}
	for name, f := range escapeFunctions {
		functions[name] = func(args ...any) (any, error) { return f(args) }
	}
	bodies := []Body{
		{Type: event.Retired},
		{Type: event.Raised, Timestamp: time.Unix(1e9, 0), Data: Data{Agent: "b", Thread: "thread <1>\u202e", Link: "https://desk.example/a", More: 2, Interrupts: []Question{
			{ID: "1", Reason: "tool_call", Tools: []string{"a", "b"}, Message: "Say \"yes\" & go?", Status: "open", Says: "approved", By: "ann"},
			{ID: "2", Status: "resolved", Says: "denied", Edited: true}, {ID: "3", Status: "open"}, {ID: "4"}, {ID: "5"}, {ID: "6"},
		}}},
	}
	for _, text := range templates {
		theirs, theirsErr := template.New("webhook").Funcs(functions).Option("missingkey=error").Parse(text)
		for i, b := range bodies {
			var want bytes.Buffer
			wantErr := theirsErr
			if wantErr == nil {
				wantErr = theirs.Execute(&want, viewOf("evt_1", &b))
			}
			got, gotErr := outputOf(text, &b)
			if (gotErr == nil) != (wantErr == nil) {
				t.Errorf("%s of body %d: error %v, text/template's is %v", text, i, gotErr, wantErr)
			} else if gotErr == nil && got != want.String() {
				t.Errorf("%s of body %d:\n got %s\nwant %s", text, i, got, want.String())
			}
		}
	}
}

func outputOf(text string, b *Body) (string, error) {
	trees, err := treesOf(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = execute(&out, trees, viewOf("evt_1", b))
	return out.String(), err
}

// TestNothingEndless: ParseTemplate must refuse a template that calls itself, a template that has
// only definitions, and an empty template.
func TestNothingEndless(t *testing.T) {
	for _, text := range []string{`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, `{{define "a"}}1{{end}}`, ""} {
		if _, err := ParseTemplate(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
