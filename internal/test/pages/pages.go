// Package pages parses the repository's documents for tests: their blocks, sections and words. It
// supports only the Markdown that these documents use, and checks nothing.
package pages

import (
	"regexp"
	"strings"
)

// A Block is a fenced code block of a page.
type Block struct {
	Line     int    // the line number of the opening fence; lines count from 1
	Language string // the word after the opening fence, or ""
	Text     string // the lines, without the indent of the fence, each with a newline
	Section  string // the heading above the block, or "" before the first heading
	Runs     string // the test in a comment <!-- runs: folder: Test -->
	Reason   string // the reason in a comment <!-- not run: reason -->
}

var (
	fence   = regexp.MustCompile("^( *)```(\\w*)$")
	comment = regexp.MustCompile(`^ *<!--(.*)-->$`)
	heading = regexp.MustCompile(`^(#+) (.+)$`)
)

// Blocks returns the fenced blocks of a page in order. A comment that belongs to a block is
// directly above it.
func Blocks(text string) []Block {
	var list []Block
	lines := strings.Split(text, "\n")
	section := ""
	for i := 0; i < len(lines); i++ {
		if m := heading.FindStringSubmatch(lines[i]); m != nil {
			section = m[2]
		}
		open := fence.FindStringSubmatch(lines[i])
		if open == nil {
			continue
		}
		b := Block{Line: i + 1, Language: open[2], Section: section}
		for above := i - 1; above >= 0; above-- {
			m := comment.FindStringSubmatch(lines[above])
			if m == nil {
				break
			}
			if says, ok := strings.CutPrefix(m[1], " runs: "); ok {
				b.Runs = strings.TrimSpace(says)
			}
			if says, ok := strings.CutPrefix(m[1], " not run: "); ok {
				b.Reason = strings.TrimSpace(says)
			}
		}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
			b.Text += strings.TrimPrefix(lines[i], open[1]) + "\n"
		}
		list = append(list, b)
	}
	return list
}

// Settings returns the assignments NAME=value in a block of variables, without quotes and comments.
// A value in single quotes may continue on the next lines, up to the closing quote.
func Settings(block string) []string {
	var list []string
	quoted := false
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if quoted { // the line continues a quoted value
			list[len(list)-1] += "\n" + strings.TrimSuffix(line, "'")
			quoted = !strings.HasSuffix(line, "'")
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(value, "'"):
			quoted = len(value) == 1 || !strings.HasSuffix(value, "'")
			value = strings.Trim(value, "'")
		case strings.HasPrefix(value, `"`):
			value = strings.Trim(value, `"`)
		}
		list = append(list, name+"="+value)
	}
	return list
}

// A Section is a heading of a page with the text after the heading, up to the next heading of the
// same or a higher level.
type Section struct {
	Heading, Anchor string
	Lines           int // the number of lines, including the heading
	Text            string
}

var notInAnchor = regexp.MustCompile(`[^\w\- ]`)

// Anchor returns the anchor that Git hosts create for a heading.
func Anchor(heading string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// Sections returns the sections of a page. The text of a section includes its subsections. Each
// subsection is also an element of the list itself.
func Sections(text string) []Section {
	type open struct{ level, at int }
	var list []Section
	var stack []open
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if m := heading.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil && !fenced {
			for len(stack) > 0 && stack[len(stack)-1].level >= len(m[1]) {
				stack = stack[:len(stack)-1]
			}
			list = append(list, Section{Heading: m[2], Anchor: Anchor(m[2])})
			stack = append(stack, open{len(m[1]), len(list) - 1})
		}
		for _, o := range stack {
			list[o.at].Lines++
			list[o.at].Text += line
		}
	}
	return list
}

// Prose returns the paragraphs and list items of a page, each on one line, without blocks, tables,
// headings and comments.
func Prose(text string) []string {
	var list []string
	open, fenced := false, false
	for line := range strings.Lines(text) {
		words := strings.TrimSpace(line)
		if strings.HasPrefix(words, "```") {
			fenced, open = !fenced, false
			continue
		}
		if fenced || words == "" || strings.HasPrefix(words, "|") || strings.HasPrefix(words, "#") || strings.HasPrefix(words, "<!--") {
			open = false
			continue
		}
		item := strings.TrimPrefix(strings.TrimPrefix(words, "- "), "* ")
		if !open || item != words {
			list = append(list, item)
		} else {
			list[len(list)-1] += " " + words
		}
		open = true
	}
	return list
}
