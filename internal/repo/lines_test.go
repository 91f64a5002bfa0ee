package repo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is how long a line of a document may be.
const columns = 100

// longLines is the file with the lines that were longer when the rule came: a row for each
// document, with a count that may only fall.
const longLines = "internal/repo/testdata/longlines.txt"

// TestLinesAreShort: a line of a document has at most 100 columns. Tables, code, and lines that
// nobody could break are excepted, and for a while what longLines counts.
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

// mark is what stands before the first word of a line: such as a list's bullet.
var mark = regexp.MustCompile(`^\s*([-*·>]|\d+\.)?\s*`)

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
		want       []int
	}{
		{"a short line", "words\n", nil},
		{"a long one", "words\n\n" + long, []int{3}},
		{"of a table", "| " + long + " |", nil},
		{"of code", "```\n" + long + "\n```\n" + long, []int{4}},
		{"one word", "- https://" + strings.Repeat("x", 100), nil},
		{"one span of code", "- `" + long + "`", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := longInDocument(tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
