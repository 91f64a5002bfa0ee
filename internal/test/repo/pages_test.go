package repo

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

// evidence is the heading of the last section of a page. It contains a table with section, promise
// and tests.
const evidence = "Evidence"

var (
	evidenceRow = regexp.MustCompile(`^\| \[[^|]*\]\(#([^)]+)\) \| (.+) \| (.+) \|$`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	emphasis    = regexp.MustCompile(`[*|]`)
)

// plainText returns a text without links, emphasis and line breaks. The table of evidence quotes
// texts in this form.
func plainText(text string) string {
	return strings.Join(strings.Fields(emphasis.ReplaceAllString(linkText.ReplaceAllString(text, "$1"), "")), " ")
}

// TestEvidenceIsOfItsPage: the table of evidence must be the last section of its page. Each row
// must quote a text of the section that the row names.
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

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	tableRow    = regexp.MustCompile(`(?m)^\|`)
	wholeTable  = regexp.MustCompile(`^\n*(<!--.*-->\n)*\|.*\|\n\|[-:| ]+\|(\n\|.*\|)*(\n<!--.*-->)*\n*$`)
)

// TestTablesAreWhole: each row of a table is below the head of the table. A page shows a row inside
// a paragraph as text.
func TestTablesAreWhole(t *testing.T) {
	tables := 0
	for _, document := range documents(t) {
		for part := range strings.SplitSeq(fencedBlock.ReplaceAllString(read(t, document), ""), "\n\n") {
			if !tableRow.MatchString(part) {
				continue
			}
			if tables++; !wholeTable.MatchString(part) {
				t.Errorf("%s: rows of a table without its head, or with other lines: %.100q", document, part)
			}
		}
	}
	if tables < 100 {
		t.Errorf("%d tables", tables)
	}
}

// The tables of the start page divide the pages into kinds. A how-to page has a bound, because it
// is read from top to bottom.
const (
	startPage  = "docs/README.md"
	howTo      = "I have … and want …"
	howToWords = 1500
	screen     = 60 // the most lines of a section that answers a question
)

var (
	linkedPage  = regexp.MustCompile(`\]\(([\w-]+\.md)\)`)
	linkedPart  = regexp.MustCompile(`\]\(((?:[\w./-]+\.md)?)#([\w-]+)\)`)
	questionRow = regexp.MustCompile(`^\| ([^|]+\?) \| ([^|]*\]\((?:[\w./-]+\.md)?#[\w-]+\)) \|$`)
)

// startSections returns the sections of the start page, by heading.
func startSections(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	for _, s := range pages.Sections(read(t, startPage)) {
		list[s.Heading] = s.Text
	}
	return list
}

// TestPagesHaveAKind: each page of docs is in one table of the start page. A how-to page has at
// most 1,500 words before its evidence, and no names of tests in its sentences.
func TestPagesHaveAKind(t *testing.T) {
	kind := map[string]string{}
	for _, heading := range []string{howTo, "Promises", "Reference"} {
		for _, m := range linkedPage.FindAllStringSubmatch(startSections(t)[heading], -1) {
			if before, is := kind[m[1]]; is && before != heading {
				t.Errorf("%s: %s is under %s and %s", startPage, m[1], before, heading)
			}
			kind[m[1]] = heading
		}
	}
	howTos := 0
	for _, path := range files(t, func(path string) bool {
		return strings.HasPrefix(path, "docs/") && strings.HasSuffix(path, ".md") && path != startPage
	}) {
		switch kind[strings.TrimPrefix(path, "docs/")] {
		case "":
			t.Errorf("%s does not name %s", startPage, path)
		case howTo:
			howTos++
			text, _, _ := strings.Cut(read(t, path), "\n## "+evidence+"\n")
			for _, paragraph := range pages.Prose(text) {
				for _, span := range code.FindAllString(paragraph, -1) {
					if placed.MatchString(strings.Trim(span, "`")) && path != "docs/new-dialect.md" { // its checklist names a test to change
						t.Errorf("%s: %s stands in a sentence: it belongs into a table at the end", path, span)
					}
				}
			}
			if n := len(strings.Fields(text)); n > howToWords {
				t.Errorf("%s has %d words, want at most %d: what only some readers look up has a page of its own", path, n, howToWords)
			}
		}
	}
	if howTos < 25 {
		t.Errorf("%d how-to pages", howTos)
	}
}

// TestQuestionsAreAnswered: the start page must have at least ten questions of operators and ten of
// developers. Each row is a question, and an answer that ends in a link to a section. Each section
// that an answer names must exist and fit on one screen.
func TestQuestionsAreAnswered(t *testing.T) {
	for _, heading := range []string{"Questions of an operator", "Questions of an application's developer"} {
		asked := 0
		for line := range strings.Lines(startSections(t)[heading]) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "|") || line == "| question | answer |" || line == "|---|---|" {
				continue
			}
			row := questionRow.FindStringSubmatch(line)
			if row == nil {
				t.Errorf("%s: want a question, and an answer that ends in a link to a section: %s", startPage, line)
				continue
			}
			asked++
			for _, m := range linkedPart.FindAllStringSubmatch(row[2], -1) {
				document := startPage
				if m[1] != "" {
					document = path.Join("docs", m[1])
				}
				all := pages.Sections(read(t, document))
				at := slices.IndexFunc(all, func(s pages.Section) bool { return s.Anchor == m[2] })
				if at < 0 {
					t.Errorf("%s: no heading for %s#%s", startPage, document, m[2])
				} else if n := all[at].Lines; n > screen {
					t.Errorf("%s#%s has %d lines, want at most %d", document, m[2], n, screen)
				}
			}
		}
		if asked < 10 {
			t.Errorf("%s: %d questions under %q", startPage, asked, heading)
		}
	}
}

// repeated is the maximum number of words of a sentence that two documents may share.
const repeated = 8

// TestNoPageRepeatsAnother: a sentence of more than eight words must not be in two documents. One
// of the documents should link to the other.
func TestNoPageRepeatsAnother(t *testing.T) {
	in := map[string]string{}
	for _, document := range documents(t) {
		// examples are read one at a time, so they may repeat a text
		if strings.HasPrefix(document, "examples/") || document == "CHANGELOG.md" {
			continue
		}
		for _, paragraph := range pages.Prose(read(t, document)) {
			for sentence := range strings.SplitSeq(plainText(paragraph), ". ") {
				sentence = strings.ToLower(strings.TrimRight(sentence, ".:"))
				if len(strings.Fields(sentence)) <= repeated {
					continue
				}
				if before, is := in[sentence]; is && before != document {
					t.Errorf("%s and %s: %s", before, document, sentence)
				}
				in[sentence] = document
			}
		}
	}
}

// otherOrder has how-to pages that need not begin with a block or have a section on errors, each
// with the reason.
var otherOrder = map[string]string{
	"approvers.md":       "it is for people at the desk, who copy nothing",
	"payloads.md":        "it is one table",
	"troubleshooting.md": "all of it is what goes wrong",
	"new-dialect.md":     "it is a walk through an example; what goes wrong is what its tests say",
}

// firstBlock is the maximum number of words before the first block of a how-to page.
const firstBlock = 150

// TestHowToPagesGoInOrder: a how-to page must begin with the block that a reader copies, and must
// have a section on what can go wrong.
func TestHowToPagesGoInOrder(t *testing.T) {
	for _, m := range linkedPage.FindAllStringSubmatch(startSections(t)[howTo], -1) {
		if otherOrder[m[1]] != "" {
			continue
		}
		text := read(t, "docs/"+m[1])
		before, _, found := strings.Cut(text, "```")
		if n := len(strings.Fields(before)); !found || n > firstBlock {
			t.Errorf("docs/%s: %d words precede its first block, want at most %d", m[1], n, firstBlock)
		}
		if !slices.ContainsFunc(pages.Sections(text), func(s pages.Section) bool { return s.Heading == "What goes wrong" }) {
			t.Errorf("docs/%s has no section \"What goes wrong\"", m[1])
		}
	}
}
