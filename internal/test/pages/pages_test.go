package pages

import (
	"slices"
	"strings"
	"testing"
)

const page = "# Page\n\nFirst words\nand more.\n\n" +
	"<!-- runs: proxy: TestX -->\n<!-- mark -->\n```sh\ncurl x\n```\n<!-- mark -->\n\n" +
	"## A & b\n\n- an item\n  goes on\n- another\n\n" +
	"  <!-- not run: a drawing -->\n  ```text\n  # no heading\n   ->\n  ```\n\n### Below\n\n| a | table |\n\n## Last\n"

func TestBlocks(t *testing.T) {
	got := Blocks(page)
	want := []Block{
		{Line: 8, Language: "sh", Text: "curl x\n", Section: "Page", Runs: "proxy: TestX"},
		{Line: 20, Language: "text", Text: "# no heading\n ->\n", Section: "A & b", Reason: "a drawing"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestSettings(t *testing.T) {
	got := Settings("A=1   # one\n# nothing\n\nB='x y\n  z'\nC=\"q\"\nD='#;x'\n")
	if want := []string{"A=1", "B=x y\n  z", "C=q", "D=#;x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSections(t *testing.T) {
	got := Sections(page)
	var names []string
	for _, s := range got {
		names = append(names, s.Anchor)
	}
	if want := []string{"page", "a--b", "below", "last"}; !slices.Equal(names, want) {
		t.Fatalf("got %q, want %q", names, want)
	}
	if got[0].Lines != strings.Count(page, "\n") || got[1].Lines != 16 || got[2].Lines != 4 || !strings.HasPrefix(got[2].Text, "### Below\n") {
		t.Errorf("%+v", got)
	}
}

func TestProse(t *testing.T) {
	if got, want := Prose(page), []string{"First words and more.", "an item goes on", "another"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
