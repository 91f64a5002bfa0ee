package tell

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

var update = flag.Bool("update", false, "rewrite the table of codes in docs/errors.md")

// TestEveryCodeHasWords: a person is told more than the general text for each code of Holdpoint's.
func TestEveryCodeHasWords(t *testing.T) {
	src, err := os.ReadFile("../../../internal/agui/error.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`Code += "([A-Z_]+)"`).FindAllSubmatch(src, -1)
	if len(codes) < 20 {
		t.Fatal("where are the codes?")
	}
	seen := map[string]agui.Code{}
	for _, m := range codes {
		code := agui.Code(m[1])
		text := textFor(code, HandedOn)
		if text == textFor("OWN", HandedOn) {
			t.Errorf("%s has no words", code)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s have the same", code, other)
		}
		seen[text] = code
	}
}

// TestErrorsTable compares the codes of runs in docs/errors.md with codeTexts. With -update it
// writes the table.
func TestErrorsTable(t *testing.T) {
	const file, marker = "../../../docs/errors.md", "<!-- codes of runs -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), marker)
	if len(parts) != 3 {
		t.Fatalf("%s: want two markers %s", file, marker)
	}
	var b strings.Builder
	b.WriteString("\n| code | what the person reads | what happened | what to do |\n|---|---|---|---|\n")
	for _, c := range codeTexts {
		says := c.says
		if !c.whole {
			says += " …"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.code, cell(says), cell(c.happened), cell(c.remedy))
		if c.happened == "" || c.remedy == "" {
			t.Errorf("%s does not say what happened, or what to do", c.code)
		}
	}
	if parts[1] == b.String() {
		return
	}
	if !*update {
		t.Fatalf("%s: the table differs (go test ./proxy/internal/tell -run TestErrorsTable -update); want\n%s", file, b.String())
	}
	parts[1] = b.String()
	if err := os.WriteFile(file, []byte(strings.Join(parts, marker)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cell returns a text as a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
