package doctor

import (
	"fmt"
	"strings"
	"testing"

	"holdpoint/docs"
	"holdpoint/translate/dialects"
)

// TestSupport: what the report quotes must be in docs/support.md. The page must have a section for
// every dialect and every mark, and the report must know every package in the page's tables.
func TestSupport(t *testing.T) {
	list := readSupportedVersions()
	for _, name := range dialects.All().Names()[1:] {
		if complaint := lacks(list, name, sections[name]); complaint != "" {
			t.Error(complaint)
		}
	}
	for _, m := range marks {
		if part := list[m.framework]; part.Page == "" {
			t.Errorf("docs/support.md has no section %q, which a mark of marks.go names", m.framework)
		}
	}
	page := strings.Split(docs.Support, "<!-- supported -->")[1]
	rows, headings := 0, 0
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| package ") {
			rows++
		}
		if strings.HasPrefix(line, "### ") {
			headings++
		}
	}
	got := 0
	for heading, part := range list {
		got += len(part.Packages)
		if part.About == "" && len(part.Packages) == 0 {
			t.Errorf("%s: nothing is quoted", heading)
		}
		for _, k := range part.Packages {
			if k.Name == "" || k.Tested == "" || strings.ContainsAny(k.Name+k.Versions+k.Tested, "`|") {
				t.Errorf("%s: row %+v", heading, k)
			}
		}
	}
	if got != rows || len(list) != headings || rows == 0 {
		t.Errorf("%d of %d rows of docs/support.md, and %d of %d sections, are read: a table has three cells in each row, and a heading", got, rows, len(list), headings)
	}
	if limits := list["LangGraph"].Limits; len(limits) < 5 || limits[0] != "The LangGraph Server's own protocol" {
		t.Errorf("what does not work with LangGraph: %q", limits)
	}
}

// lacks returns what to add for a dialect whose section is missing, or "". heading is that of the
// map sections.
func lacks(list map[string]SupportedPart, name, heading string) string {
	const between = "between the two markers <!-- supported --> of docs/support.md"
	switch {
	case heading == "":
		return fmt.Sprintf("dialect %s: add it to sections (marks.go), with the heading of its section. "+
			`If it needs a section of its own, add "### <heading>" %s`, name, between)
	case list[heading].Page == "":
		return fmt.Sprintf(`dialect %s: add the line "### %s" %s, because sections (marks.go) has that heading`, name, heading, between)
	}
	return ""
}

// TestSupportSaysWhatToAdd checks the texts for a new dialect.
func TestSupportSaysWhatToAdd(t *testing.T) {
	list := map[string]SupportedPart{"Confirm": {Page: "docs/support.md#confirm"}}
	for heading, want := range map[string]string{
		"":        "dialect confirm: add it to sections (marks.go)",
		"Other":   `dialect confirm: add the line "### Other" between the two markers <!-- supported --> of docs/support.md`,
		"Confirm": "",
	} {
		if got := lacks(list, "confirm", heading); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q: %s", heading, got)
		}
	}
}
