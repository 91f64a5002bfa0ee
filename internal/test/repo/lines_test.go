package repo

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is the maximum length of a line in a document or comment.
const columns = 100

// printed is a document that a program writes. Its lines are not checked.
const printed = "bench/results.md"

// TestLinesAreShort: a line of a document or comment must have at most 100 columns. Tables, code
// and lines that cannot be broken are not checked.
func TestLinesAreShort(t *testing.T) {
	complain := func(path string, lines []int) {
		for _, line := range lines {
			t.Errorf("%s:%d has more than %d columns", path, line, columns)
		}
	}
	for _, path := range documents(t) {
		if path != printed {
			complain(path, longInDocument(read(t, path)))
		}
	}
	for _, file := range files(t, func(path string) bool { return strings.HasSuffix(path, ".go") }) {
		complain(file, longComments(read(t, file)))
	}
}

// longInDocument returns the line numbers of the lines of a document that are too long.
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

// longComments returns the numbers of the lines in a Go file that contain only a comment and are
// too long. The output comments of examples are excepted.
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

// mark matches the part of a line before its first word: the slashes of a comment, the bullet of a
// list.
var mark = regexp.MustCompile(`^\s*(//)?\s*([-*·>]|\d+\.)?\s*`)

// tooLong reports whether a line is too long and could be broken, which a span of code cannot.
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
