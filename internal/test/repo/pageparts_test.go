package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// markerLiteral matches a marker in a document, such as the comments before and after a generated
// table.
var markerLiteral = regexp.MustCompile(`^<!-- [\w ]+ -->\n?$`)

// TestPagesHaveWhatTestsLookFor checks that each part of a page that a test looks for exists: the
// markers, and the words by which the tests of deploy find a block. The tests of deploy need a
// cluster or tools for releases, so the short run of the tests leaves them out. Without this test,
// nobody would notice that a rewrite has removed such a part.
func TestPagesHaveWhatTestsLookFor(t *testing.T) {
	var all strings.Builder
	for _, document := range documents(t) {
		all.WriteString(read(t, document))
	}
	found := 0
	look := func(s source, literal ast.Expr, in func(string) bool) {
		lit, ok := literal.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		part, err := strconv.Unquote(lit.Value)
		if err != nil || !in(part) {
			return
		}
		if found++; !strings.Contains(all.String(), part) {
			t.Errorf("%s looks for %q, and no document has it", s.path, part)
		}
	}
	anything := func(part string) bool { return part != "" }
	for _, s := range sources(t, parser.SkipObjectResolution) {
		if !strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				look(s, n, markerLiteral.MatchString)
			case *ast.KeyValueExpr: // documented{block: "..."} of deploy/kube
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "block" && strings.HasPrefix(s.path, "deploy/") {
					look(s, n.Value, anything)
				}
			case *ast.CallExpr: // pageBlock(t, "...")
				if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "pageBlock" && len(n.Args) == 2 {
					look(s, n.Args[1], anything)
				}
			case *ast.CompositeLit: // []later{{"...", check}}
				if array, ok := n.Type.(*ast.ArrayType); ok {
					if of, ok := array.Elt.(*ast.Ident); ok && of.Name == "later" {
						for _, e := range n.Elts {
							if e, ok := e.(*ast.CompositeLit); ok && len(e.Elts) > 0 {
								look(s, e.Elts[0], anything)
							}
						}
					}
				}
			}
			return true
		})
	}
	if found < 25 {
		t.Errorf("only %d parts found", found)
	}
}
