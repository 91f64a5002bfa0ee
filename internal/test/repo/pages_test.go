package repo

import (
	"regexp"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// evidence is the heading of a page's last section: a table of where, what, and the tests.
const evidence = "Evidence"

var (
	evidenceRow = regexp.MustCompile(`^\| \[[^|]*\]\(#([^)]+)\) \| (.+) \| (.+) \|$`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	emphasis    = regexp.MustCompile(`[*|]`)
)

// plainText returns a text without links, emphasis and line ends, as the table of evidence has it.
func plainText(text string) string {
	return strings.Join(strings.Fields(emphasis.ReplaceAllString(linkText.ReplaceAllString(text, "$1"), "")), " ")
}

// TestEvidenceIsOfItsPage: a page's table of evidence is its last section. What a row says to be
// shown is in the section that the row names.
func TestEvidenceIsOfItsPage(t *testing.T) {
	rows := 0
	for _, document := range documents(t) {
		text := read(t, document)
		sections := map[string]pages.Section{}
		for _, s := range pages.Sections(text) {
			sections[s.Anchor] = s
		}
		table, ok := sections[pages.Anchor(evidence)]
		if !ok {
			continue
		}
		if !strings.HasSuffix(text, table.Text) {
			t.Errorf("%s: something follows the evidence", document)
		}
		for line := range strings.Lines(table.Text) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "| [") {
				continue
			}
			rows++
			m := evidenceRow.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("%s: want a link, words and tests: %s", document, line)
				continue
			}
			for span := range strings.SplitSeq(m[3], ", ") {
				if !placed.MatchString(strings.Trim(span, "`")) {
					t.Errorf("%s: %s is not a test: %s", document, span, line)
				}
			}
			section, _, _ := strings.Cut(sections[m[1]].Text, "\n## "+evidence+"\n")
			if words := strings.TrimSuffix(m[2], " …"); words != "the section" && !strings.Contains(plainText(section), plainText(words)) {
				t.Errorf("%s: %q is not in the section %s", document, words, m[1])
			}
		}
	}
	if rows < 400 {
		t.Errorf("%d rows of evidence", rows)
	}
}
