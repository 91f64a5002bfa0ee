package repo

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdpoint/internal/scenario"
	"holdpoint/internal/test/pages"
)

var update = flag.Bool("update", false, "rewrite the examples of documents: go test ./internal/test/repo -update")

// between returns the text between the two lines that contain marker, and the texts before and
// after these lines.
func between(t *testing.T, path, marker string) (before, section, after string) {
	t.Helper()
	parts := strings.Split(read(t, path), marker+"\n")
	if len(parts) != 3 {
		t.Fatalf("%s: want two lines %s, found %d", path, marker, len(parts)-1)
	}
	return parts[0], parts[1], parts[2]
}

// TestStartPageShowsTheExample: the start page shows the streams and bodies of two runs. This text
// must be the output of an example in proxy, which go test compares with the real output of the
// handler.
func TestStartPageShowsTheExample(t *testing.T) {
	const path, marker = "docs/README.md", "<!-- example -->"
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "proxy/example_test.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	output := ""
	for _, c := range f.Comments {
		if text, ok := strings.CutPrefix(c.Text(), "Output:\n"); ok {
			output = text
		}
	}
	if output == "" {
		t.Fatal("proxy/example_test.go has no output")
	}
	want := "```text\n" + strings.TrimSpace(output) + "\n```\n"
	before, section, after := between(t, path, marker)
	if section == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the output of proxy's ExampleHandler: run with -update", path)
	}
	text := before + marker + "\n" + want + marker + "\n" + after
	if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// guideWords is the maximum number of words of docs/new-dialect.md.
const guideWords = 1000

// TestGuideShowsTheExample: docs/new-dialect.md must show the code of a package that is compiled
// and tested. It leaves out the imports of this code. The page must have at most guideWords words.
func TestGuideShowsTheExample(t *testing.T) {
	const path, marker = "docs/new-dialect.md", "<!-- example -->"
	_, code, found := strings.Cut(read(t, "translate/dialecttest/ask/ask.go"), "\n)\n\n")
	if !found {
		t.Fatal("translate/dialecttest/ask/ask.go has no imports")
	}
	if n := len(strings.Fields(read(t, path))); n > guideWords {
		t.Errorf("%s has %d words, want at most %d: put the rest into docs/dialect-rules.md", path, n, guideWords)
	}
	want := "```go\n" + code + "```\n"
	before, section, after := between(t, path, marker)
	if section == want {
		return
	}
	if !*update {
		t.Fatalf("%s differs from translate/dialecttest/ask/ask.go: run with -update", path)
	}
	text := before + marker + "\n" + want + marker + "\n" + after
	if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A suite has the functions in the test files of a folder, and all strings there that could be the
// name of a test case.
type suite struct{ funcs, cases map[string]bool }

func suites(t *testing.T) map[string]suite {
	t.Helper()
	all := map[string]suite{}
	for _, s := range sources(t, parser.SkipObjectResolution) {
		if !s.test {
			continue
		}
		in, ok := all[s.dir]
		if !ok {
			in = suite{map[string]bool{}, map[string]bool{}}
			all[s.dir] = in
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil {
					in.funcs[n.Name.Name] = true
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
					// Package testing also replaces the spaces in the names of subtests.
					in.cases[strings.ReplaceAll(text, " ", "_")] = true
				}
			}
			return true
		})
	}
	return all
}

var (
	code      = regexp.MustCompile("`[^`\n]+`")
	placed    = regexp.MustCompile(`^([a-z0-9/]+): ((?:Test|Fuzz|Example|Benchmark)\w*)(/.+)?$`)
	unplaced  = regexp.MustCompile(`^(?:Test|Fuzz|Example|Benchmark)[A-Z]\w*$`)
	generalOf = []string{"Test/case"} // the notation itself, where a document explains it
)

// TestNamedTestsExist: each test that a document names as `folder: Test/case` exists in that
// folder. A test that is named without a folder exists in some folder.
func TestNamedTestsExist(t *testing.T) {
	all, failing := suites(t), "\n"+read(t, "testdata/known-failing.txt")
	named := 0
	for _, path := range documents(t) {
		for n, line := range strings.Split(read(t, path), "\n") {
			for _, span := range code.FindAllString(line, -1) {
				text := strings.Trim(span, "`")
				m := placed.FindStringSubmatch(text)
				switch {
				case slices.ContainsFunc(generalOf, func(g string) bool { return strings.HasSuffix(text, g) }):
				case m != nil:
					named++
					if complaint := missing(all, failing, m[1], m[2], strings.TrimPrefix(m[3], "/")); complaint != "" {
						t.Errorf("%s:%d: %s: %s", path, n+1, text, complaint)
					}
				case unplaced.MatchString(text):
					if !slices.ContainsFunc(slices.Collect(maps.Values(all)), func(s suite) bool { return s.funcs[text] }) {
						t.Errorf("%s:%d: %s: no such test in any folder", path, n+1, text)
					}
				}
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d tests are named: the notation has changed, or promises lost their tests", named)
	}
}

// missing returns "" if a named test is valid as evidence, and otherwise the reason why it is not.
func missing(all map[string]suite, failing, dir, name, sub string) string {
	in, ok := all[dir]
	switch {
	case !ok:
		return "no such folder with tests"
	case !in.funcs[name]:
		return "no such test"
	case sub == "" || in.cases[sub]:
		return ""
	}
	if _, err := os.Stat(filepath.Join(root, "testdata", filepath.FromSlash(sub)+scenario.Ext)); err == nil {
		if strings.Contains(failing, "\n"+sub+":") {
			return "it is in testdata/known-failing.txt, so it shows nothing"
		}
		return ""
	}
	for part := range strings.SplitSeq(sub, "/") {
		if !in.cases[part] {
			return "no such case: " + part
		}
	}
	return ""
}

// TestSupportedIsShown: docs/support.md lists supported backends. For each of them, the table of
// evidence or the backend's section must name a test.
func TestSupportedIsShown(t *testing.T) {
	_, text, after := between(t, "docs/support.md", "<!-- supported -->")
	_, evidence, _ := strings.Cut(after, "\n## Evidence\n")
	sections := strings.Split("\n"+text, "\n### ")[1:]
	for _, section := range sections {
		heading, body, _ := strings.Cut(section, "\n")
		body, _, _ = strings.Cut(body, "\nWhat does not work:\n")
		if !strings.Contains(evidence, "](#"+pages.Anchor(heading)+") |") && !slices.ContainsFunc(code.FindAllString(body, -1), func(span string) bool {
			return placed.MatchString(strings.Trim(span, "`"))
		}) {
			t.Errorf("docs/support.md: no test shows what works with %s: add a row [%s](#%s) to its Evidence", heading, heading, pages.Anchor(heading))
		}
	}
	if len(sections) < 3 {
		t.Errorf("docs/support.md has %d backends", len(sections))
	}
}

// TestReadmeIsShort bounds the size of README.md, because every newcomer reads it. Details belong
// into docs.
func TestReadmeIsShort(t *testing.T) {
	if n := len(read(t, "README.md")); n > 8<<10 {
		t.Errorf("README.md has %d bytes, want at most %d: move what only some readers need to docs", n, 8<<10)
	}
}

// isCode reports whether a type is agui.Code, in its own package or another.
func isCode(t ast.Expr) bool {
	if selected, ok := t.(*ast.SelectorExpr); ok {
		t = selected.Sel
	}
	name, ok := t.(*ast.Ident)
	return ok && name.Name == "Code"
}

// TestCodesAreDocumented: docs/errors.md has a row for every code of a RUN_ERROR and of the desk's
// API, and no row for other codes.
func TestCodesAreDocumented(t *testing.T) {
	exists := map[string]bool{}
	name := regexp.MustCompile(`^[A-Z]+(_[A-Z]+)+$`)
	for _, file := range sources(t, 0) {
		if file.test {
			continue
		}
		ast.Inspect(file.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || !isCode(spec.Type) && (file.path != "internal/desk/api/problem.go" || !strings.HasPrefix(spec.Names[0].Name, "code")) {
				return true
			}
			for _, value := range spec.Values {
				if literal, ok := value.(*ast.BasicLit); ok {
					code, _ := strconv.Unquote(literal.Value)
					exists[code] = true
				}
			}
			return true
		})
	}
	if len(exists) < 50 {
		t.Fatalf("%d codes found", len(exists))
	}
	rows := map[string]bool{}
	page, _, _ := strings.Cut(read(t, "docs/errors.md"), "\n## Evidence")
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|.*\\|.*\\|$").FindAllStringSubmatch(page, -1) {
		rows[m[1]] = true
		if !exists[m[1]] {
			t.Errorf("docs/errors.md: %s is no code", m[1])
		}
	}
	for code := range exists {
		if name.MatchString(code) && !rows[code] {
			t.Errorf("docs/errors.md has no row for %s: what happened, and what to do (proxy/internal/tell/texts.go, internal/desk/api/texts.go)", code)
		}
	}
}

// injected matches variables that Kubernetes sets for a Service called holdpoint. Documents mention
// them, but they are not Holdpoint's.
var injected = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT|_PORT$|_PORT_`)

// TestVariablesExist: each HOLDPOINT_ name in a document, a comment or a message is in the table of
// docs/configuration.md, which cmd/holdpoint compares with its struct.
func TestVariablesExist(t *testing.T) {
	_, table, _ := between(t, "docs/configuration.md", "<!-- variables -->")
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(HOLDPOINT_\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		known[m[1]] = true
	}
	if len(known) == 0 {
		t.Fatal("docs/configuration.md has no table of variables")
	}
	_, ofRoutes, _ := between(t, "docs/routes.md", "<!-- route variables -->")
	ofRoute := regexp.MustCompile(`^HOLDPOINT_ROUTES_\d+_`)
	name := regexp.MustCompile(`\bHOLDPOINT_[A-Z0-9_]*[A-Z0-9]\b`)
	for _, path := range files(t, func(path string) bool {
		return strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(path, scenario.Ext) || path == "Dockerfile" || path == "Makefile" ||
			strings.HasPrefix(path, "deploy/") && !strings.HasPrefix(path, "deploy/schemas/")
	}) {
		text := read(t, path)
		if strings.HasSuffix(path, scenario.Ext) { // only its settings are checked; its other parts are recorded streams
			archive, err := scenario.ParseArchive(text)
			if err != nil {
				t.Fatal(err)
			}
			text = archive.Comment
		}
		for n, line := range strings.Split(text, "\n") {
			for _, at := range name.FindAllStringIndex(line, -1) {
				v := line[at[0]:at[1]]
				group := strings.HasPrefix(line[at[1]:], "_*") // a group of variables, such as HOLDPOINT_LANGGRAPH_*
				if group {
					for k := range known {
						group = group && !strings.HasPrefix(k, v+"_")
					}
					if group {
						t.Errorf("%s:%d: there is no %s_*", path, n+1, v)
					}
					continue
				}
				if m := ofRoute.FindString(v); m != "" && (v == m+"PATH" || strings.Contains(ofRoutes, "`"+strings.TrimPrefix(v, m)+"`")) {
					continue
				}
				if !known[v] && !injected.MatchString(v) {
					t.Errorf("%s:%d: there is no %s", path, n+1, v)
				}
			}
		}
	}
}

// TestDependenciesAreDocumented: docs/dependencies.md has a row with module, version, license and
// reason for every direct requirement of go.mod, and no other rows.
func TestDependenciesAreDocumented(t *testing.T) {
	required, direct := map[string]string{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\s*(?:require\s+)?([\w.-]+\.[\w]+/\S+) (v\S+)( // indirect)?$`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		required[m[1]] = m[2]
		direct[m[1]] = m[3] == ""
	}
	for _, s := range sources(t, parser.ImportsOnly) { // go.mod may still mark a direct requirement as indirect
		for _, imported := range s.imports() {
			for module := range required {
				if imported == module || strings.HasPrefix(imported, module+"/") {
					direct[module] = true
				}
			}
		}
	}
	rows := map[string]string{}
	for line := range strings.SplitSeq(read(t, "docs/dependencies.md"), "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) < 4 || !strings.HasPrefix(cells[0], "`") || !strings.Contains(cells[0], ".") || !strings.HasPrefix(cells[1], "v") {
			continue
		}
		module := strings.Trim(cells[0], "`")
		rows[module] = cells[1]
		if slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "" }) {
			t.Errorf("docs/dependencies.md: an empty cell in the row of %s", module)
		}
	}
	for module, version := range required {
		if direct[module] && rows[module] == "" {
			t.Errorf("docs/dependencies.md has no row for %s %s", module, version)
		}
	}
	for module, version := range rows {
		if required[module] != version {
			t.Errorf("docs/dependencies.md has %s %s, go.mod has %q", module, version, required[module])
		}
	}
}

// TestPinsOfTheBenchmarkAreDocumented: docs/dependencies.md has the versions of the npm packages
// that the benchmark compares with.
func TestPinsOfTheBenchmarkAreDocumented(t *testing.T) {
	pins := map[string]string{}
	for _, m := range regexp.MustCompile(`"(@[^"]+)": "([^"]+)"`).FindAllStringSubmatch(read(t, "bench/node/package.json"), -1) {
		pins[m[1]] = m[2]
	}
	_, section, _ := strings.Cut(read(t, "docs/dependencies.md"), "## In the benchmark")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^ ]+) \\|").FindAllStringSubmatch(section, -1) {
		rows[m[1]] = m[2]
	}
	if len(pins) == 0 || !maps.Equal(rows, pins) {
		t.Errorf("docs/dependencies.md has %v, bench/node/package.json pins %v", rows, pins)
	}
}

// TestPinsOfTheEndToEndTestsAreDocumented: docs/dependencies.md must list the same versions of
// Python and npm packages as the end-to-end tests pin.
func TestPinsOfTheEndToEndTestsAreDocumented(t *testing.T) {
	pins := read(t, "e2e/client/package.json") + read(t, "e2e/strands-ts/package.json") + read(t, "e2e/browser/package.json") + read(t, "e2e/copilotkit/package.json") + read(t, "e2e/desk/package.json") +
		read(t, "e2e/mastra/package.json") + read(t, "e2e/tanstack/package.json") + read(t, "e2e/langgraph-server/package.json")
	for _, path := range files(t, func(path string) bool {
		return strings.HasPrefix(path, "e2e/") && strings.Contains(path, "/requirements-") && strings.HasSuffix(path, ".txt")
	}) {
		pins += read(t, path)
	}
	_, section, _ := strings.Cut(read(t, "docs/dependencies.md"), "## In the end-to-end tests")
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([0-9., ]+) \\|").FindAllStringSubmatch(section, -1)
	if len(rows) < 3 {
		t.Fatal("no rows of Python and npm packages found")
	}
	for _, m := range rows {
		for version := range strings.SplitSeq(m[2], ", ") {
			if !strings.Contains(pins, m[1]+"=="+version+"\n") && !strings.Contains(pins, m[1]+"@"+version+`"`) && !strings.Contains(pins, `"`+m[1]+`": "`+version+`"`) {
				t.Errorf("docs/dependencies.md: %s %s is not pinned in e2e", m[1], version)
			}
		}
	}
	for _, m := range regexp.MustCompile(`npm:(@?[^@"]+)@([^"]+)"`).FindAllStringSubmatch(pins, -1) {
		if !regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(m[1]) + "` \\| (.*, )?" + regexp.QuoteMeta(m[2])).MatchString(section) {
			t.Errorf("docs/dependencies.md has no row for %s %s", m[1], m[2])
		}
	}
}

// TestStrandsEntrypointIsTheOneThatRuns: docs/strands.md shows the exact text of
// e2e/strands/entrypoint.py.
func TestStrandsEntrypointIsTheOneThatRuns(t *testing.T) {
	parts := strings.Split(read(t, "docs/strands.md"), "<!-- entrypoint -->")
	if want := "\n```python\n" + read(t, "e2e/strands/entrypoint.py") + "```\n"; len(parts) != 3 || parts[1] != want {
		t.Errorf("between its two markers docs/strands.md must have\n%s", want)
	}
}

// TestLinksWithinTheRepository: each link to a file or a heading of the repository has a target. If
// the text of a link is the name of a page, the link leads to that page.
func TestLinksWithinTheRepository(t *testing.T) {
	link := regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	named := regexp.MustCompile(`^[\w./-]+\.(md|yaml|json)$`)
	names := map[string]bool{} // the names of the pages of docs
	for _, path := range documents(t) {
		if dir, file := filepath.Split(path); dir == "docs/" {
			names[strings.TrimSuffix(file, ".md")] = true
		}
	}
	for _, path := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			target, anchor, _ := strings.Cut(m[2], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := filepath.ToSlash(filepath.Join(filepath.Dir(path), target))
			if target == "" {
				to = path
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: no file %s", path, m[2])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s: no heading for %s", path, m[2])
			}
			name := strings.Trim(m[1], "`")
			// The text of a release is never changed afterwards, so its links are not checked.
			if path == "CHANGELOG.md" || target == "" || !names[name] && !named.MatchString(name) {
				continue
			}
			if got := filepath.Base(to); got != filepath.Base(name) && got != name+".md" {
				t.Errorf("%s: the text of a link is %s, and it leads to %s", path, m[1], m[2])
			}
		}
	}
}

// anchors returns the anchors of a document's headings.
func anchors(text string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		list = append(list, pages.Anchor(m[1]))
	}
	return list
}

// TestEachFrameworkHasItsExample: each section of docs/support.md must have a folder in examples,
// or examples/README.md must list it among those without a folder.
func TestEachFrameworkHasItsExample(t *testing.T) {
	_, text, _ := between(t, "docs/support.md", "<!-- supported -->")
	page := strings.Join(strings.Fields(read(t, "examples/README.md")), " ")
	folders, without, ok := strings.Cut(page, "have no folder:")
	if !ok {
		t.Fatal("examples/README.md does not say what has no folder")
	}
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(text, -1) {
		linked := regexp.MustCompile(`\[` + regexp.QuoteMeta(m[1]) + `( \([^)]*\))?\]\(([a-z0-9-]+)/README\.md\)`).FindStringSubmatch(folders)
		if linked == nil && !strings.Contains(without, m[1]) {
			t.Errorf("examples/README.md has no folder for %s, and does not name it after \"have no folder:\"", m[1])
		}
		if linked != nil {
			read(t, "examples/"+linked[2]+"/run.sh")
		}
	}
}

// TestCardOfCopilotKitIsTheOneThatRuns: docs/copilotkit.md must show the exact text of
// e2e/copilotkit/questions.jsx.
func TestCardOfCopilotKitIsTheOneThatRuns(t *testing.T) {
	parts := strings.Split(read(t, "docs/copilotkit.md"), "<!-- card -->")
	if want := "\n```jsx\n" + read(t, "e2e/copilotkit/questions.jsx") + "```\n"; len(parts) != 3 || parts[1] != want {
		t.Error("docs/copilotkit.md does not show e2e/copilotkit/questions.jsx as it is, between two lines <!-- card -->")
	}
}
