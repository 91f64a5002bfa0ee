package repo

import (
	"go/parser"
	"regexp"
	"strings"
	"testing"
)

// wrongWords has phrases that make a reader read a sentence twice, wherever they are. allowed is
// the number of places in comments and documents that still have the phrase. This number may only
// fall. All other words are left to the judgment of readers: a test on a word that is usually right
// would lead to worse sentences.
var wrongWords = []struct {
	phrase  *regexp.Regexp
	better  string
	allowed int
}{
	{regexp.MustCompile(`(?i)\bsays? whether\b`), "reports whether", 0},
	{regexp.MustCompile(`(?i)\bof which\b`), "a sentence of its own", 43},
	{regexp.MustCompile(`(?i)\b(is|are) none\b`), "is missing, does not exist", 23},
	{regexp.MustCompile(`(?i)\bis no [a-z]+\b`), "is not a, is missing", 1},
	{regexp.MustCompile(`(?i), for it\b`), "because it", 0},
}

// plainNo matches uses of "is no" and "is none" that are right.
var plainNo = regexp.MustCompile(`(?i)\b(there (is|are) (no|none)|is no (longer|more|different|better|worse|later|earlier))\b`)

// TestWrongWords counts the phrases of wrongWords outside of code. A phrase may continue on the
// next line.
func TestWrongWords(t *testing.T) {
	places := make(map[int][]string)
	for path, text := range prose(t) {
		text = plainNo.ReplaceAllString(strings.Join(strings.Fields(code.ReplaceAllString(text, "x")), " "), "")
		for i, w := range wrongWords {
			for _, at := range w.phrase.FindAllStringIndex(text, -1) {
				places[i] = append(places[i], path+": "+text[max(0, at[0]-30):min(len(text), at[1]+30)])
			}
		}
	}
	for i, w := range wrongWords {
		if got := places[i]; len(got) > w.allowed {
			t.Errorf("%s: %d places, and there were %d; better: %s\n%s",
				w.phrase, len(got), w.allowed, w.better, strings.Join(got, "\n"))
		}
	}
}

// prose returns the comments of each Go file and the text of each document, by path.
func prose(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, s := range sources(t, parser.ParseComments) {
		if s.path == "internal/test/repo/words_test.go" { // this file contains the phrases itself
			continue
		}
		var b strings.Builder
		for _, c := range s.file.Comments {
			b.WriteString(c.Text() + "\n")
		}
		texts[s.path] = b.String()
	}
	for _, path := range documents(t) {
		if path != printed && path != "CHANGELOG.md" { // the text of a release is not changed later
			texts[path] = read(t, path)
		}
	}
	return texts
}
