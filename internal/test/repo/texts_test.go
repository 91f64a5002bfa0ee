package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each room (a package) has its texts for people as constants in its texts.go. The name of a log
// line that an operator acts on begins with "log". So all texts of a room are in one place, and can
// be read together.

const (
	textsFile = "texts.go"
	logPrefix = "log"
)

// inlineTexts has the number of texts that are not yet in a texts.go, by kind. A number may only
// fall.
var inlineTexts = map[string]int{logPrefix: 0, "refusal": 0}

// A logLine is a constant in a texts.go. levels has the levels at which its package logs this text.
type logLine struct {
	name, text, meaning string
	levels              []string
}

// textCall returns the kind of a call and the argument with its text. The kind is "log" for Warn or
// Error of a logger, "refusal" for agui.Errorf, and "" for any other call.
func textCall(call *ast.CallExpr) (kind string, text ast.Expr) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return "", nil
	}
	of, _ := f.X.(*ast.Ident)
	switch name := f.Sel.Name; {
	case name == "Errorf" && of != nil && of.Name == "agui" && len(call.Args) > 1:
		return "refusal", call.Args[1]
	case name == "Warn", name == "Error":
		return logPrefix, call.Args[0]
	}
	return "", nil
}

// hasLiteral reports whether an expression contains a string literal other than "%s".
func hasLiteral(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		found = found || ok && literal.Kind == token.STRING && literal.Value != `"%s"`
		return true
	})
	return found
}

// isProgram reports whether a source is part of a program or package that users run.
func (s source) isProgram() bool {
	top, _, _ := strings.Cut(s.path, "/")
	return !s.test && slices.Contains([]string{"proxy", "translate", "store", "internal", "cmd"}, top) &&
		!strings.HasPrefix(s.path, "internal/test/") && s.dir != "translate/dialecttest" && s.dir != "store/storetest"
}

// TestTextsAreListed checks that the texts of refusals, and of log lines at the levels WARN and
// ERROR, are constants in texts.go.
func TestTextsAreListed(t *testing.T) {
	logLines(t) // checks that each log line has a comment for the operator
	inline := map[string][]string{}
	for _, s := range sources(t, parser.SkipObjectResolution) {
		if !s.isProgram() || path.Base(s.path) == textsFile {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if kind, text := textCall(call); kind != "" && hasLiteral(text) {
					inline[kind] = append(inline[kind], fmt.Sprintf("%s:%d", s.path, s.places.Position(call.Pos()).Line))
				}
			}
			return true
		})
	}
	for kind, allowed := range inlineTexts {
		if got := inline[kind]; len(got) > allowed {
			t.Errorf("%d texts of kind %s stand in the code, and there were %d; make each a constant of the package's %s:\n%s",
				len(got), kind, allowed, textsFile, strings.Join(got, "\n"))
		}
	}
}

// logLines returns the log lines by folder, in the order of the folder's texts.go.
func logLines(t *testing.T) map[string][]*logLine {
	t.Helper()
	lines, levels := map[string][]*logLine{}, map[string]map[string]bool{}
	for _, s := range sources(t, parser.ParseComments|parser.SkipObjectResolution) {
		if !s.isProgram() {
			continue
		}
		if path.Base(s.path) == textsFile {
			lines[s.dir] = append(lines[s.dir], logConstants(t, s)...)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if kind, text := textCall(call); kind == logPrefix {
				if name, ok := text.(*ast.Ident); ok {
					key := s.dir + " " + name.Name
					if levels[key] == nil {
						levels[key] = map[string]bool{}
					}
					levels[key][strings.ToUpper(call.Fun.(*ast.SelectorExpr).Sel.Name)] = true
				}
			}
			return true
		})
	}
	for dir, list := range lines {
		for _, l := range list {
			l.levels = slices.Sorted(maps.Keys(levels[dir+" "+l.name]))
			if l.levels == nil { // a dialect passes the constant to a translate.Warn
				l.levels = []string{"WARN"}
			}
		}
	}
	return lines
}

// logConstants returns those constants of a texts.go whose names begin with "log".
func logConstants(t *testing.T, s source) (list []*logLine) {
	t.Helper()
	for _, d := range s.file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			one := spec.(*ast.ValueSpec)
			name := one.Names[0].Name
			if !strings.HasPrefix(name, logPrefix) || len(one.Values) == 0 {
				continue
			}
			literal, ok := one.Values[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: %s is not one literal", s.path, name)
				continue
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			doc := one.Doc
			if doc == nil && len(group.Specs) == 1 {
				doc = group.Doc
			}
			l := &logLine{name: name, text: text, meaning: strings.Join(strings.Fields(doc.Text()), " ")}
			if l.meaning == "" {
				t.Errorf("%s: %s: its comment must say what it means, and what the operator does", s.path, name)
			}
			if strings.Contains(l.meaning, name) {
				t.Errorf("%s: the comment of %s is for an operator, who does not know that name", s.path, name)
			}
			list = append(list, l)
		}
	}
	return list
}

const warningPage = "docs/warnings.md"

// operatorRooms has the headings of docs/warnings.md, in order. Below each heading are the log
// lines of the folders that match its patterns. A folder that matches no pattern belongs to the
// first heading.
var operatorRooms = []struct {
	heading  string
	patterns []string
}{
	{"Runs", []string{"proxy", "proxy/internal/*", "translate", "translate/*", "translate/internal/*"}},
	{"The store", []string{"store", "store/*"}},
	{"The desk", []string{"internal/desk", "internal/desk/*"}},
	{"The audit, the webhook and traces", []string{"internal/observe/*"}},
	{"Who asks", []string{"internal/principal"}},
	{"Listeners", []string{"internal/edge/*"}},
	{"Start, reload and stop", []string{"cmd/holdpoint"}},
	{"The injector", []string{"internal/inject", "cmd/holdpoint/internal/injector"}},
}

// TestWarningsPage compares the tables of docs/warnings.md with the log lines in all texts.go
// files. With -update it writes the tables.
func TestWarningsPage(t *testing.T) {
	const marker = "<!-- log lines -->"
	sections := make([]strings.Builder, len(operatorRooms))
	all := logLines(t)
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		at := max(0, slices.IndexFunc(operatorRooms, func(r struct {
			heading  string
			patterns []string
		}) bool {
			return matches(r.patterns, dir)
		}))
		for _, l := range all[dir] {
			fmt.Fprintf(&sections[at], "| `%s` | %s | %s |\n", strings.ReplaceAll(l.text, "|", `\|`), strings.Join(l.levels, ", "), strings.ReplaceAll(l.meaning, "|", `\|`))
		}
	}
	var want strings.Builder
	for i := range sections {
		if sections[i].Len() > 0 {
			fmt.Fprintf(&want, "\n## %s\n\n| log line | level | what it means, and what to do |\n|---|---|---|\n%s", operatorRooms[i].heading, sections[i].String())
		}
	}
	want.WriteString("\n")
	before, section, after := between(t, warningPage, marker)
	if section == want.String() {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the log lines of the program: run with -update", warningPage)
	}
	if err := os.WriteFile(filepath.Join(root, warningPage), []byte(before+marker+"\n"+want.String()+marker+"\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
