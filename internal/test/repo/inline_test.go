package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The sentences of the program are constants of its texts.go files: refusals, hints, errors, what
// the desk, the probes and the commands print, and what Holdpoint writes into a chat. Log lines of
// the levels DEBUG and INFO stay in the code, and the tags of a variable beside its field.

// sentence matches two neighboring words in lower case, as every text for people has them.
var sentence = regexp.MustCompile(`\b[a-z]{2,}[:.)]* \(?[a-z]{2,}([^a-z=]|$)`)

// listedElsewhere has the folders with sentences outside of a texts.go, each with the reason.
var listedElsewhere = map[string]string{
	"cmd/holdpoint/internal/demo":          "it is a screenplay, read in the order in which it plays",
	"internal/observe/metrics":             "the help of a metric is beside its name",
	"translate/strands/internal/pyliteral": "its errors only report that a text is not Python's: no client and no log gets them",
}

// Some sentences are not texts for people: the program compares them, or uses them as names and
// keys. These lists tell where such sentences are.
var (
	comparingPackages = []string{"strings", "bytes", "regexp", "slices"}
	quietLevels       = []string{"Debug", "Info", "LogAttrs"}
	// dataCalls are functions that compare their arguments, or that use them as keys and labels.
	dataCalls = []string{"Digest", "hasErrorPrefix", "logOnce", "newScript", "noteKey", "panic"}
	// dataFields are fields whose value is compared, or reported under a fixed name.
	dataFields = []string{"Prefix", "Part", "Suffix", "Outcome", "outcome", "ID", "name"}
	// A sentinel is an error that the program compares. Its text begins with the name of its
	// package.
	sentinel = regexp.MustCompile(`^[a-z/]+: `)
)

// TestSentencesAreListed checks that every sentence is a constant of a texts.go. A constant that is
// declared in another file counts as a sentence if a line uses it as a text.
func TestSentencesAreListed(t *testing.T) {
	all := slices.DeleteFunc(sources(t, parser.SkipObjectResolution), func(s source) bool {
		command := s.file.Name.Name == "main" && !strings.HasPrefix(s.path, "cmd/") // it makes a file of the tree
		return !s.isProgram() || command || path.Base(s.path) == textsFile || strings.HasPrefix(s.dir, "translate/dialecttest/")
	})
	constants := constantSentences(all)
	found := map[string]bool{}
	for _, s := range all {
		inline := inlineSentences(s, constants)
		if listedElsewhere[s.dir] != "" {
			found[s.dir] = found[s.dir] || len(inline) > 0
			continue
		}
		for _, one := range inline {
			t.Errorf("%s: make it a constant of the package's %s", one, textsFile)
		}
	}
	for dir := range listedElsewhere {
		if !found[dir] {
			t.Errorf("%s has no sentences outside of a %s any more: take it out of listedElsewhere", dir, textsFile)
		}
	}
}

func isSentence(lit *ast.BasicLit) bool {
	text, err := strconv.Unquote(lit.Value)
	// The label of a digest and a line with an error begin with the program's name. They do not
	// count as sentences.
	label := strings.HasPrefix(text, "holdpoint ") || strings.HasPrefix(text, "holdpoint: ")
	return lit.Kind == token.STRING && err == nil && !label && sentence.MatchString(text)
}

// constantSentences returns the constants that have a sentence, as "folder name".
func constantSentences(list []source) map[string]bool {
	names := map[string]bool{}
	for _, s := range list {
		ast.Inspect(s.file, func(n ast.Node) bool {
			group, ok := n.(*ast.GenDecl)
			if !ok || group.Tok != token.CONST {
				return true
			}
			for _, spec := range group.Specs {
				one := spec.(*ast.ValueSpec)
				for at, value := range one.Values {
					ast.Inspect(value, func(n ast.Node) bool {
						if lit, ok := n.(*ast.BasicLit); ok && isSentence(lit) {
							names[s.dir+" "+one.Names[at].Name] = true
						}
						return true
					})
				}
			}
			return false
		})
	}
	return names
}

// inlineSentences returns the sentences of a file that are texts for people, each with its place.
func inlineSentences(s source, constants map[string]bool) (found []string) {
	var above []ast.Node
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		text := ""
		switch n := n.(type) {
		case *ast.BasicLit:
			if isSentence(n) {
				text = n.Value
			}
		case *ast.Ident:
			if constants[s.dir+" "+n.Name] {
				text = n.Name
			}
		}
		if text != "" && !isData(s.dir, text, n, above) {
			found = append(found, fmt.Sprintf("%s:%d: %s", s.path, s.places.Position(n.Pos()).Line, text))
		}
		above = append(above, n)
		return true
	})
	return found
}

// isData reports whether a sentence is compared, or is a key or a label. above are the nodes around
// it, the outermost first.
func isData(dir, text string, at ast.Node, above []ast.Node) bool {
	for depth, n := range slices.Backward(above) {
		ofPackage := depth == 1
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.Field: // a tag
			return true
		case *ast.ValueSpec: // a constant of its own type is a value of that type
			if n.Type != nil {
				return true
			}
		case *ast.GenDecl:
			// A constant is judged by its uses, and not here. A table of a dialect or a store has
			// texts of other servers.
			table := ofPackage && (strings.HasPrefix(dir, "translate/") || strings.HasPrefix(dir, "store/"))
			isError := callsNew(above[depth:])
			if n.Tok == token.CONST || table && !isError || isError && sentinel.MatchString(strings.Trim(text, `"`)) {
				return true
			}
		case *ast.AssignStmt:
			if _, name := nameOfCall(n.Lhs[0]); slices.Contains(dataFields, name) {
				return true
			}
		case *ast.KeyValueExpr:
			if _, name := nameOfCall(n.Key); slices.Contains(dataFields, name) {
				return true
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				return true
			}
		case *ast.CaseClause:
			if slices.ContainsFunc(n.List, func(e ast.Expr) bool { return e.Pos() <= at.Pos() && at.End() <= e.End() }) {
				return true
			}
		case *ast.CallExpr:
			from, name := nameOfCall(n.Fun)
			_, converts := n.Fun.(*ast.ArrayType) // []byte(...)
			if converts || slices.Contains(comparingPackages, from) || slices.Contains(quietLevels, name) || slices.Contains(dataCalls, name) {
				return true
			}
		}
	}
	return false
}

// callsNew reports whether one of the nodes calls errors.New.
func callsNew(nodes []ast.Node) bool {
	return slices.ContainsFunc(nodes, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return false
		}
		from, name := nameOfCall(call.Fun)
		return from == "errors" && name == "New"
	})
}

// nameOfCall splits the name of a called function. For errors.New it returns "errors" and "New".
func nameOfCall(e ast.Expr) (from, name string) {
	switch e := e.(type) {
	case *ast.Ident:
		return "", e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			from = x.Name
		}
		return from, e.Sel.Name
	}
	return "", ""
}

// TestInlineSentence shows what TestSentencesAreListed finds in a source, and what it leaves.
func TestInlineSentence(t *testing.T) {
	for _, c := range []struct {
		name, dir, code string
		found           int
	}{
		{"a result", "proxy", `func f() string { return "the agent cannot be reached" }`, 1},
		{"a short one", "proxy", `func f(a string) string { return a + " is missing" }`, 1},
		{"an error", "store", `func f() error { return fmt.Errorf("store: the record of %q is damaged", "x") }`, 1},
		{"a field of an event", "translate/x", `func f() any { return event{Message: "The agent asks a question."} }`, 1},
		{"an assignment", "translate/x", `func f() { o.Message = "Approve the proposed changes?" }`, 1},
		{"a hint of a log line", "proxy", `func f() { log.Warn(logX, "hint", "set another address there") }`, 1},
		{"a printed line", "cmd/x", `func f() { fmt.Fprintln(w, "Open that page, and decide.") }`, 1},
		{"a table of reasons", "internal/x", `var why = map[string]string{"A": "it belongs to one connection"}`, 1},
		{"a constant that is used as a text", "proxy", "const c = \"nothing was done\"\nfunc f() string { return c }", 1},
		{"a local constant that is used as a text", "proxy", `func f() string { const c = "nothing was done"; return c }`, 1},
		{"an error without the name of its package", "translate/x", `var errX = errors.New("no such member")`, 1},
		{"a sentinel", "store", `var ErrX = errors.New("store: no such pause")`, 0},
		{"a constant that is compared", "translate/x", "const c = \"no interrupt found\"\nfunc f(s string) bool { return s == c || strings.HasPrefix(s, c) }", 0},
		{"a text of a backend that a table recognizes", "translate/x", `var lost = []string{"no interrupt found"}`, 0},
		{"a case", "proxy", `func f(s string) { switch s { case "in doubt": } }`, 0},
		{"what follows a case", "proxy", `func f(s string) string { switch s { case "x": return "not yet"; }; return "" }`, 1},
		{"a line for developers", "proxy", `func f() { log.Debug("the client is gone") }`, 0},
		{"a tag", "proxy", "type s struct { F int `doc:\"how long a run may last\"` }", 0},
		{"a state", "store", `const InDoubt State = "in doubt"`, 0},
		{"one word", "proxy", `func f() string { return "cancelled" }`, 0},
	} {
		places := token.NewFileSet()
		file, err := parser.ParseFile(places, "x.go", "package x\n"+c.code, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(c.name, err)
		}
		s := source{path: "x.go", dir: c.dir, file: file, places: places}
		if got := inlineSentences(s, constantSentences([]source{s})); len(got) != c.found {
			t.Errorf("%s: found %q, want %d", c.name, got, c.found)
		}
	}
}
