package proxy

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEachMemoryHasItsRow: a process has several memories (the fields of processMemory). For each,
// the table in CONTRIBUTING.md must have a row that says how a replica without this memory
// responds.
func TestEachMemoryHasItsRow(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "### What a process remembers\n")
	if !found {
		t.Fatal("the section is missing")
	}
	section, _, _ = strings.Cut(section, "\n#")
	memories := reflect.TypeFor[processMemory]()
	for n := range memories.NumField() {
		if name := memories.Field(n).Name; !rowNames(section, name) {
			t.Errorf("no row of the table names %s", name)
		}
	}
	if rowNames(section, "forgotten") {
		t.Error("any name is found")
	}
}

// rowNames reports whether the table has a row with this name in its first cell.
func rowNames(table, name string) bool {
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.Contains(cells[1], "`"+name+"`") {
			return true
		}
	}
	return false
}
