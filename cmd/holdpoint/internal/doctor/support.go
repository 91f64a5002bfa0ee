package doctor

import (
	"regexp"
	"strings"

	"holdpoint/docs"
	"holdpoint/translate/standard"
)

// A SupportedPart is the section of docs/support.md about a framework.
type SupportedPart struct {
	Page     string    `json:"page"` // with the heading's anchor
	About    string    `json:"about,omitempty"`
	Packages []Package `json:"packages,omitempty"`
	// the list items on what does not work, each shortened to its first words
	Limits []string `json:"limits,omitempty"`
}

// A Package is a row of a table of docs/support.md.
type Package struct {
	Name     string `json:"name"`
	Versions string `json:"versions"`
	Tested   string `json:"tested"`
}

// supportOf returns the section of docs/support.md about a framework, or nil if there is none.
func supportOf(f Framework, dialect string) *SupportedPart {
	name := f.Name
	if name == "" && dialect == standard.Name {
		name = sections[dialect]
	}
	part, ok := readSupportedVersions()[name]
	if !ok {
		return nil
	}
	return &part
}

var (
	marked    = regexp.MustCompile("[*`]|\\[([^]]*)\\]\\([^)]*\\)")
	testName  = regexp.MustCompile("`[a-z/0-9]+: Test")
	notAnchor = regexp.MustCompile(`[^a-z0-9 -]`)
)

// readSupportedVersions reads the sections of docs/support.md between its two markers. The keys of
// the map are the headings.
func readSupportedVersions() map[string]SupportedPart {
	parts := strings.Split(docs.Support, "<!-- supported -->")
	list := map[string]SupportedPart{}
	if len(parts) != 3 {
		return list
	}
	for _, section := range strings.Split(parts[1], "\n### ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		list[heading] = readPart(heading, text)
	}
	return list
}

func readPart(heading, text string) SupportedPart {
	anchor := strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	p := SupportedPart{Page: "docs/support.md#" + anchor}
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		switch {
		case strings.HasPrefix(block, "|"):
			for _, row := range strings.Split(block, "\n")[2:] {
				cells := strings.Split(strings.Trim(row, "| "), "|")
				if len(cells) == 3 {
					p.Packages = append(p.Packages, Package{plain(cells[0]), plain(cells[1]), plain(cells[2])})
				}
			}
		case strings.HasPrefix(block, "- **"):
			for _, point := range strings.Split("\n"+block, "\n- **")[1:] {
				if lead, _, ok := strings.Cut(point, "**"); ok {
					p.Limits = append(p.Limits, strings.TrimSuffix(plain(lead), "."))
				}
			}
		case p.About == "" && len(p.Packages) == 0 && !strings.HasPrefix(block, "-"):
			p.About = plain(block)
		}
	}
	return p
}

// plain returns a text of docs/support.md on one line and without markup. It cuts the text before
// the name of the first test.
func plain(s string) string {
	if at := testName.FindStringIndex(s); at != nil {
		s = strings.TrimRight(s[:at[0]], " \n(:;,")
	}
	return strings.Join(strings.Fields(marked.ReplaceAllString(s, "$1")), " ")
}
