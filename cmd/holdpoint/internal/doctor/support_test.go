package doctor

import (
	"strings"
	"testing"

	"holdpoint/docs"
	"holdpoint/translate/dialects"
)

// TestSupport: the report quotes docs/support.md correctly. Every dialect and every mark has a
// section there, and every package in its tables is read.
func TestSupport(t *testing.T) {
	list := readSupportedVersions()
	for _, name := range dialects.All().Names()[1:] {
		if part := list[sections[name]]; part.Page == "" {
			t.Errorf("dialect %s: docs/support.md has no section %q", name, sections[name])
		}
	}
	for _, m := range marks {
		if part := list[m.framework]; part.Page == "" {
			t.Errorf("docs/support.md has no section %q", m.framework)
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
		t.Errorf("%d of %d rows, %d of %d sections", got, rows, len(list), headings)
	}
	if limits := list["LangGraph"].Limits; len(limits) < 5 || limits[0] != "The LangGraph Server's own protocol" {
		t.Errorf("what does not work with LangGraph: %q", limits)
	}
}
