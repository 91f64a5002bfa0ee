package tell

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/agui"
)

var update = flag.Bool("update", false, "rewrite the table of codes in docs/errors.md")

// TestEveryCodeHasWords: each code of Holdpoint and of its dialects must have its own text for the
// person, instead of the general text.
func TestEveryCodeHasWords(t *testing.T) {
	var codes []agui.Code
	declared := regexp.MustCompile(`Code += "([A-Z_]+)"`)
	for _, root := range []string{"../../../internal/agui", "../../../translate"} {
		before := len(codes)
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			src, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(src, -1) {
				codes = append(codes, agui.Code(m[1]))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(codes)-before < 5 {
			t.Fatalf("%s declares %d codes: has their form changed?", root, len(codes)-before)
		}
	}
	seen := map[string]agui.Code{}
	for _, code := range codes {
		text := textFor(code, AnswersDelivered)
		if text == textFor("OWN", AnswersDelivered) {
			t.Errorf("%s has no words", code)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s have the same", code, other)
		}
		seen[text] = code
	}
}

// documentedGroups are the tables of docs/errors.md. The codes are grouped by what the client does
// about them, and the last group has the remaining codes.
var documentedGroups = []struct {
	heading string
	codes   []agui.Code
}{
	{"Send it again", []agui.Code{
		agui.ResumeInProgress, agui.ThreadBusy, agui.StoreUnavailable, agui.UpstreamUnreachable, agui.UpstreamEOF, agui.UpstreamIdle,
		agui.ClientLeft, agui.ProxyDraining,
	}},
	{"Ask the person", []agui.Code{
		agui.PendingInterrupts, agui.PartialResume, agui.UnknownInterruptID, agui.ResumeConflict, agui.ResumeInDoubt, agui.InvalidPayload,
		agui.ApprovalUncertain, agui.ApprovalAmbiguous, agui.InterruptExpired, agui.BackendLostInterrupt, agui.ThreadForbidden, agui.MessagesNotTaken,
	}},
	{"Tell the operator", nil},
}

// TestErrorsTable compares the codes of runs in docs/errors.md with codeTexts and dialectTexts.
// With -update, it rewrites the table in docs/errors.md.
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
	rest := slices.Concat(codeTexts, dialectTexts)
	for _, g := range documentedGroups {
		fmt.Fprintf(&b, "\n### %s\n\n| code | what the person reads | what happened | what to do |\n|---|---|---|---|\n", g.heading)
		rest = slices.DeleteFunc(rest, func(c codeText) bool {
			if g.codes != nil && !slices.Contains(g.codes, c.code) {
				return false
			}
			says := c.says
			if !c.whole {
				says += " …"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.code, cell(says), cell(c.happened), cell(c.remedy))
			if c.happened == "" || c.remedy == "" {
				t.Errorf("%s does not say what happened, or what to do", c.code)
			}
			return true
		})
	}
	b.WriteString("\n")
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

// cell returns text as the content of a cell in a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
