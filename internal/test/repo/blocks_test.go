package repo

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/format"
	"os/exec"
	"path"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"holdpoint/internal/test/pages"
)

// languages describes blocks by their language, which is the word after the fence of a block. If a
// language has neither by nor judges, each of its blocks needs a comment above it: <!-- runs:
// folder: Test -->, or <!-- not run: reason -->.
var languages = map[string]struct {
	by     string                  // the test that runs all blocks of this language
	judges func(text string) error // checks a block as well as possible without running it
	tool   string                  // the program that judges needs
}{
	"env":    {by: "cmd/holdpoint: TestSettingsOfPages"},
	"json":   {by: "internal/test/repo: TestBlocksRun", judges: isJSON},
	"yaml":   {judges: func(text string) error { return yaml.Unmarshal([]byte(text), new(any)) }},
	"go":     {judges: func(text string) error { _, err := format.Source([]byte(text)); return err }},
	"sh":     {judges: asked("bash", "-n"), tool: "bash"},
	"python": {judges: asked("python3", "-c", "import ast,sys,textwrap; ast.parse(textwrap.dedent(sys.stdin.read()))"), tool: "python3"},
	"jsx":    {},
	"tsx":    {},
	"csharp": {},
	"sql":    {},
	"text":   {},
}

func isJSON(text string) error { return json.Unmarshal([]byte(text), new(any)) }

// asked returns a function that runs the program with a text as its input. The function returns an
// error if the program fails.
func asked(program string, args ...string) func(string) error {
	return func(text string) error {
		cmd := exec.Command(program, args...)
		cmd.Stdin = strings.NewReader(text)
		var says bytes.Buffer
		cmd.Stderr = &says
		if err := cmd.Run(); err != nil {
			return errors.New(strings.TrimSpace(says.String()))
		}
		return nil
	}
}

// TestBlocksRun checks each block of a document: a test must run the block, or a comment must say
// why no test does. The changelog is not checked, because its blocks are about earlier versions.
func TestBlocksRun(t *testing.T) {
	all, found, reasons := suites(t), 0, 0
	for _, document := range documents(t) {
		if document == "CHANGELOG.md" {
			continue
		}
		for _, b := range pages.Blocks(read(t, document)) {
			found++
			kind, known := languages[b.Language]
			if !known {
				t.Errorf("%s:%d: a block of %q: name its language, and text if it has none", document, b.Line, b.Language)
				continue
			}
			switch {
			case b.Runs != "" && b.Reason != "":
				t.Errorf("%s:%d: the block runs, and does not", document, b.Line)
			case b.Reason != "":
				reasons++
			case b.Runs != "":
				if complaint := runsNothing(t, all, document, b.Runs); complaint != "" {
					t.Errorf("%s:%d: %s: %s", document, b.Line, b.Runs, complaint)
				}
			case kind.by == "":
				t.Errorf("%s:%d: nothing says what runs the block, or why nothing does: <!-- runs: folder: Test --> or <!-- not run: reason --> above it", document, b.Line)
			}
			if _, err := exec.LookPath(kind.tool); kind.judges == nil || kind.tool != "" && err != nil {
				continue // only make test has all tools
			}
			if err := kind.judges(b.Text); err != nil {
				t.Errorf("%s:%d: the block is no %s: %v", document, b.Line, b.Language, err)
			}
		}
	}
	if found < 90 {
		t.Errorf("%d blocks found: has their form changed?", found)
	}
	if reasons > 40 {
		t.Errorf("%d of %d blocks do not run", reasons, found)
	}
}

// runsNothing returns "" if the named test runs a block of the document, and otherwise the reason
// why it does not. The test must exist in its folder. The tests of this folder select blocks by the
// name of the document or of the test, so they must contain one of these names.
func runsNothing(t *testing.T, all map[string]suite, document, name string) string {
	m := placed.FindStringSubmatch(name)
	if m == nil {
		return "want folder: Test"
	}
	if complaint := missing(all, "", m[1], m[2], strings.TrimPrefix(m[3], "/")); complaint != "" {
		return complaint
	}
	for _, file := range files(t, func(p string) bool { return path.Dir(p) == m[1] && strings.HasSuffix(p, "_test.go") }) {
		if text := read(t, file); strings.Contains(text, path.Base(document)) || strings.Contains(text, `"`+name+`"`) {
			return ""
		}
	}
	return "no test file of the folder names the document"
}
