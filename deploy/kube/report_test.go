//go:build kube && linux

package kube

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// report lists the scenes (tests) that have ended.
var report struct {
	sync.Mutex
	ended []string
}

// took prints the line of the scene that has ended: its result and how long it took.
func took(t *testing.T, s *space) {
	report.Lock()
	defer report.Unlock()
	word := "ok"
	switch {
	case t.Failed():
		word = "FAIL"
	case t.Skipped():
		word = "skip"
	}
	if word != "skip" {
		report.ended = append(report.ended, t.Name())
	}
	fmt.Printf("%-4s  %-44s %6.1f s\n", word, strings.TrimPrefix(t.Name(), "Test"), time.Since(s.began).Seconds())
	for _, line := range s.notes {
		fmt.Println("        " + line)
	}
}

// inside runs the tests in the node and returns the exit code. It fails if a test of the package
// did not run, unless tests were selected or skipped by flags.
func inside(m *testing.M) int {
	if err := connect(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Scenes spend most of their time waiting, so several run at once. More than nine would request
	// more CPU than the node has.
	if err := flag.Set("test.parallel", "9"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	table()
	if flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" {
		return code
	}
	want, err := scenes()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, name := range want {
		if !slices.Contains(report.ended, name) {
			fmt.Printf("FAIL  %s did not come to its end\n", name)
			code = max(code, 1)
		}
	}
	fmt.Printf("%d of %d scenes\n", len(report.ended), len(want))
	return code
}

// scenes returns the names of all tests of the package, read from its source.
func scenes() ([]string, error) {
	paths, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names, nil
}

// A measure is the result for one form of installation and one way to end a pod. dark is how long
// the Service did not answer. sent is the number of short runs that were sent, and lost is the
// number of those that failed.
type measure struct {
	form, way  string
	dark       time.Duration
	lost, sent int
	restarts   int
	results    []string // the results of the lost runs
}

var measures struct {
	sync.Mutex
	list []measure
}

// table prints the measures as a table for docs/operations.md, and then how the lost runs ended.
func table() {
	if len(measures.list) == 0 {
		return
	}
	var forms, ways []string
	cells := map[string]string{}
	for _, m := range measures.list {
		if !slices.Contains(forms, m.form) {
			forms = append(forms, m.form)
		}
		if !slices.Contains(ways, m.way) {
			ways = append(ways, m.way)
		}
		cells[m.form+m.way] = fmt.Sprintf("%.1f s, %d", m.dark.Seconds(), m.lost)
	}
	fmt.Printf("\n| seconds dark, and runs lost (five are sent in a second) | %s |\n|---|%s\n", strings.Join(ways, " | "), strings.Repeat("---:|", len(ways)))
	for _, form := range forms {
		fmt.Printf("| %s |", form)
		for _, way := range ways {
			fmt.Printf(" %s |", cells[form+way])
		}
		fmt.Println()
	}
	fmt.Println()
	for _, m := range measures.list {
		fmt.Printf("%s, %s: dark for %.1f s, %d of %d runs lost, %d restarts %s\n", m.form, m.way, m.dark.Seconds(), m.lost, m.sent, m.restarts, strings.Join(m.results, ", "))
	}
	fmt.Println()
}
