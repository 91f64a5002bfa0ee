package api

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of codes in docs/errors.md")

// TestErrorsTable compares the table of the desk's codes in docs/errors.md with codeTexts. With
// -update it writes the table.
func TestErrorsTable(t *testing.T) {
	const file, marker = "../../../docs/errors.md", "<!-- codes of the desk -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), marker)
	if len(parts) != 3 {
		t.Fatalf("%s: want two markers %s", file, marker)
	}
	var b strings.Builder
	b.WriteString("\n| code | HTTP | text | what happened | what to do |\n|---|---|---|---|---|\n")
	for _, c := range codeTexts {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.code, c.statuses, c.text, c.happened, c.remedy)
	}
	if parts[1] == b.String() {
		return
	}
	if !*update {
		t.Fatalf("%s: the table differs (go test ./internal/desk/api -run TestErrorsTable -update); want\n%s", file, b.String())
	}
	parts[1] = b.String()
	if err := os.WriteFile(file, []byte(strings.Join(parts, marker)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestEveryCodeHasTexts: each code of the desk must have a text for what happened and a text for
// what to do.
func TestEveryCodeHasTexts(t *testing.T) {
	var codes []string
	for _, c := range codeTexts {
		if c.code == "" || c.statuses == "" || c.text == "" || c.happened == "" || c.remedy == "" {
			t.Errorf("a text is missing: %+v", c)
		}
		if slices.Contains(codes, c.code) {
			t.Errorf("%s is there twice", c.code)
		}
		codes = append(codes, c.code)
	}
	want := slices.Clone(problemCodes)
	slices.Sort(codes)
	slices.Sort(want)
	if !slices.Equal(codes, want) {
		t.Errorf("texts for %q, want %q", codes, want)
	}
}

// TestNotesHaveCodes: each note must have a code, and no two notes the same code.
func TestNotesHaveCodes(t *testing.T) {
	seen := map[string]string{}
	for _, note := range []string{noteUnknown, noteNoJSON, noteTwice, noteBroken, noteDeep, secretNote} {
		code := noteCodes[note]
		if code == "" || seen[code] != "" {
			t.Errorf("%q has the code %q, which %q has", note, code, seen[code])
		}
		seen[code] = note
	}
}
