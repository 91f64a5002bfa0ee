package repo

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is how long a line of a document or a comment may be.
const columns = 100

// longLines is the file with the lines that were longer when the rule came: a row for each document
// and each folder of Go files, with a count that may only fall.
const longLines = "internal/repo/testdata/longlines.txt"

// TestLinesAreShort: a line of a document or a comment has at most 100 columns. Tables, code, and
// lines that nobody could break are excepted, and for a while what longLines counts.
// With -update the test lowers the counts. It never raises one.
func TestLinesAreShort(t *testing.T) {
	found, where := map[string]int{}, map[string][]string{}
	note := func(key, path string, line int) {
		found[key]++
		where[key] = append(where[key], fmt.Sprintf("%s:%d", path, line))
	}
	for _, path := range documents(t) {
		for _, n := range longInDocument(read(t, path)) {
			note(path, path, n)
		}
	}
	for _, file := range files(t, func(path string) bool { return strings.HasSuffix(path, ".go") }) {
		for _, n := range longComments(read(t, file)) {
			note(path.Dir(file), file, n)
		}
	}
	allowed := map[string]int{}
	for line := range strings.Lines(read(t, longLines)) {
		key, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatalf("%s: want a path and a count, got %q", longLines, line)
		}
		allowed[key] = n
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if found[key] > allowed[key] {
			t.Errorf("%s has %d lines of more than %d columns, at most %d are allowed: break the new one.\n%s",
				key, found[key], columns, allowed[key], strings.Join(where[key], "\n"))
		}
	}
	if !*update {
		return
	}
	var rows strings.Builder
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if n := min(found[key], allowed[key]); n > 0 {
			fmt.Fprintf(&rows, "%s %d\n", key, n)
		}
	}
	if err := os.WriteFile(filepath.Join(root, longLines), []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// longInDocument are the numbers of a document's lines that are too long.
func longInDocument(text string) []int {
	var list []int
	fenced := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced && !strings.HasPrefix(line, "|") && tooLong(line) {
			list = append(list, i+1)
		}
	}
	return list
}

// longComments are the numbers of the lines in a Go file that hold nothing but a comment and are
// too long. The output of an example is what the example prints, so it is not counted.
func longComments(text string) []int {
	var list []int
	output := false
	for i, line := range strings.Split(text, "\n") {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		output = ok && (output || comment == " Output:")
		if ok && !output && strings.HasPrefix(comment, " ") && tooLong(line) {
			list = append(list, i+1)
		}
	}
	return list
}

// mark is what stands before the first word of a line: a comment's slashes, a list's bullet.
var mark = regexp.MustCompile(`^\s*(//)?\s*([-*·>]|\d+\.)?\s*`)

// tooLong says whether a line is over the limit and somebody could break it. Nobody breaks a span
// of code.
func tooLong(line string) bool {
	if utf8.RuneCountInString(line) <= columns {
		return false
	}
	words := code.ReplaceAllString(mark.ReplaceAllString(line, ""), "x")
	return strings.Contains(words, " ")
}

func TestTooLong(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for _, tt := range []struct {
		name, text string
		document   bool
		want       []int
	}{
		{"a short line", "words\n", true, nil},
		{"a long one", "words\n\n" + long, true, []int{3}},
		{"of a table", "| " + long + " |", true, nil},
		{"of code", "```\n" + long + "\n```\n" + long, true, []int{4}},
		{"one word", "- https://" + strings.Repeat("x", 100), true, nil},
		{"one span of code", "- `" + long + "`", true, nil},
		{"a comment", "// " + long, false, []int{1}},
		{"an indented comment", "\t\t// " + long, false, []int{1}},
		{"code", "x := \"" + long + "\"", false, nil},
		{"a directive", "//nolint:gosec // " + long, false, nil},
		{"the output of an example", "// Output:\n// " + long + "\n}\n// " + long, false, []int{4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := longComments(tt.text)
			if tt.document {
				got = longInDocument(tt.text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
