package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/internal/test/pages"
)

const good = `# who may what
access:
  - groups: [finance, board]
    agents: ["billing*"]
    tenants: [acme]
    rights: [decide]
  - names: [ann, bob@example.com]
    agents: [billing]
    rights: [operate, conversation]
  - names: [root]
    agents: ["*"]
    tenants: ["*"]
    rights: [decide, operate, conversation]
  - groups: [audit]
    agents: ["*-eu", "a*b*c"]
    rights: [list]
`

// TestAccess checks which callers have which rights for which agents and tenants.
func TestAccess(t *testing.T) {
	p, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	known := func(agent, tenant string) Scope { return Scope{Agent: agent, Tenant: tenant, IsKnown: true} }
	for _, tt := range []struct {
		name   string
		groups []string
		at     Scope
		want   string
	}{
		{"eve", nil, known("billing", "acme"), ""},
		{"", nil, known("billing", ""), ""},
		{"finance", nil, known("billing", "acme"), ""},
		{"eve", []string{"ann"}, known("billing", ""), ""},
		{"eve", []string{"finance"}, known("billing", "acme"), "list read decide"},
		{"eve", []string{"x", "board"}, known("billing/eu", "acme"), "list read decide"},
		{"eve", []string{"finance"}, known("billing", "other"), ""},
		{"eve", []string{"finance"}, known("billing", "acme2"), ""},
		{"eve", []string{"finance"}, known("billing", ""), ""},
		{"eve", []string{"finance"}, known("mail", "acme"), ""},
		{"eve", []string{"finance"}, known("Billing", "acme"), ""},
		{"eve", []string{"finance"}, Scope{}, ""},
		{"ann", nil, known("billing", ""), "list conversation operate"},
		{"ann", nil, known("billing", "acme"), ""},
		{"Ann", nil, known("billing", ""), ""},
		{"ann", []string{"finance"}, known("billing", "acme"), "list read decide"},
		{"root", nil, known("", ""), "list read conversation decide operate"},
		{"root", nil, known("mail", "x"), "list read conversation decide operate"},
		{"root", nil, Scope{}, "list read conversation decide operate"},
		{"eve", []string{"audit"}, known("mail-eu", ""), "list"},
		{"eve", []string{"audit"}, known("-eu", ""), "list"},
		{"eve", []string{"audit"}, known("mail-eu2", ""), ""},
		{"eve", []string{"audit"}, known("abc", ""), "list"},
		{"eve", []string{"audit"}, known("a/b/b/c", ""), "list"},
		{"eve", []string{"audit"}, known("acb", ""), ""},
		{"eve", []string{"audit"}, known("ab", ""), ""},
	} {
		if got := strings.Join(p.Access.RightsFor(tt.name, tt.groups, tt.at).Names(), " "); got != tt.want {
			t.Errorf("%s %q at %+v: %q, want %q", tt.name, tt.groups, tt.at, got, tt.want)
		}
	}
	if got := p.Access.RightsAnywhere("ann", []string{"finance"}); got != AllRights {
		t.Errorf("ann has %q anywhere", got.Names())
	}
	if got := Access(nil).RightsFor("root", nil, known("a", "")); got != NoRights {
		t.Errorf("no access gives %q", got.Names())
	}
}

// TestGlobOverlap: in a glob, a star and the text after it must match different characters of the
// name.
func TestGlobOverlap(t *testing.T) {
	for _, tt := range []struct {
		glob, name string
		want       bool
	}{
		{"a*a", "a", false}, {"a*a", "aa", true}, {"ab*ba", "aba", false}, {"*", "", true}, {"**", "", true},
		{"", "", true}, {"", "a", false}, {"*a*", "bab", true}, {"a*b*b", "ab", false}, {"a*b*b", "abb", true}, {"[a]", "a", false}, {"?", "a", false},
	} {
		if matchesGlob(tt.glob, tt.name) != tt.want {
			t.Errorf("%q of %q is not %t", tt.glob, tt.name, tt.want)
		}
	}
}

// TestParse: all faults of a file must be reported at once, each with its line.
func TestParse(t *testing.T) {
	entry := "access:\n  - names: [ann]\n    agents: [a]\n    rights: [list]\n"
	for text, want := range map[string]string{
		entry: "",
		"access: !!seq\n- {names: [ann], agents: [a], rights: [list]}\n": "",
		"":                                "it is empty",
		"# nothing\n":                     "it is empty",
		"---\n":                           "line 2: the file is not a mapping",
		"[]":                              "line 1: the file is not a mapping",
		"{}":                              "line 1: access is missing",
		"access:\n":                       "line 1: access: want a list",
		"access: []\n":                    "line 1: access: want a list",
		"access: {}\n":                    "line 1: access: want a list",
		"access: [x]\n":                   "line 1: an entry is not a mapping",
		entry + "rules: []\n":             "line 5: rules: a later version",
		entry + "acess: []\n":             `line 5: "acess" is not a key of the file`,
		entry + "access: []\n":            `line 5: "access" is there twice: it is in line 1 already`,
		entry + "---\naccess: []\n":       "line 5: a second document begins",
		entry + "    rights: [read]\n":    `line 5: "rights" is there twice: it is in line 4 already`,
		entry + "    tenant: [x]\n":       `line 5: "tenant" is not a key of an entry`,
		entry + "    \"tenants\": [a*]\n": `line 5: tenants: "a*" is not the name of a tenant`,
		entry + "    1: [x]\n":            "line 5: a key is not plain text",
		entry + "    <<: {groups: [x]}\n": "line 5: a key is not plain text",
		entry + "  - groups: x\n    agents: [a]\n":                          "line 5: groups: want a list",
		"access:\n- agents: [a]\n  rights: [list]\n":                        "line 2: the entry gives rights to nobody",
		"access:\n- names: [ann]\n  rights: [list]\n":                       "line 2: agents is missing",
		"access:\n- names: [ann]\n  agents: [a]\n":                          "line 2: rights is missing",
		strings.Replace(entry, "[list]", "[list, write]", 1):                `line 4: rights: "write" is not a right, want some of list, read, conversation, decide, operate`,
		strings.Replace(entry, "[list]", "[\"*\"]", 1):                      "line 4: rights: a * has no meaning here",
		strings.Replace(entry, "[list]", "[list, list]", 1):                 "line 4: rights: \"list\" is there twice",
		strings.Replace(entry, "[ann]", "[\"*\"]", 1):                       "line 2: names: a * has no meaning here",
		strings.Replace(entry, "[ann]", "[]", 1):                            "line 2: names: want a list",
		strings.Replace(entry, "[ann]", "[12]", 1):                          `line 2: names: "12" is not a text`,
		strings.Replace(entry, "[ann]", "[yes, null]", 1):                   `line 2: names: "null" is not a text`,
		strings.Replace(entry, "[ann]", `["a\nb"]`, 1):                      "line 2: names: want texts of 1 to",
		strings.Replace(entry, "[ann]", `[" ann"]`, 1):                      "line 2: names: want texts of 1 to",
		strings.Replace(entry, "[ann]", `[""]`, 1):                          "line 2: names: want texts of 1 to",
		strings.Replace(entry, "[ann]", "[[ann]]", 1):                       "line 2: names: ",
		"access:\n- &a {names: [ann], agents: [a], rights: [list]}\n- *a\n": "line 3: an entry is not a mapping",
		"access: [":        "line",
		"access:\n\t- x\n": "line 2",
		entry + "# " + strings.Repeat("x", maxFile):          "it has more than",
		"access:\n" + strings.Repeat("- {}\n", maxEntries+1): "there are more than",
	} {
		p, err := Parse([]byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (err == nil) != (want == "") || !strings.Contains(got, want) || (p == nil) != (err != nil) {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
	_, err := Parse([]byte("access:\n- names: [ann]\n  agent: [a]\nrule: 1\n"))
	var all interface{ Unwrap() []error }
	if !errors.As(err, &all) || len(all.Unwrap()) != 2 {
		t.Errorf("not all is said at once: %v", err)
	}
}

// TestReload: a changed file takes effect if it is valid. An invalid file must not take effect, and
// must be reported once.
func TestReload(t *testing.T) {
	name := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
	write("access: [")
	if _, err := Open(name); err == nil {
		t.Error("a bad file is taken at start")
	}
	write(good)
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	may := func(want bool) {
		t.Helper()
		if got := f.Policy().Access.RightsFor("root", nil, Scope{}).Has(Decide); got != want {
			t.Errorf("root may decide: %t", got)
		}
	}
	reload := func(fails bool) {
		t.Helper()
		if err := f.Reload(); (err != nil) != fails {
			t.Errorf("fails %t, %v", fails, err)
		}
	}
	reload(false)
	write("")
	reload(true)
	may(true)
	write("access: []")
	reload(true)
	may(true)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	reload(true)
	may(true)
	write(good)
	reload(false)
	may(true)
	write(strings.Replace(good, "root", "rose", 1))
	reload(false)
	may(false)
}

// FuzzParse: Parse must return for any text. It must refuse the text, or return exactly the rights
// of its entries.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{good, "access: []", "a: &a [*a]", "access:\n- {names: [ann], agents: [\"*\"], rights: [list]}", "%YAML 1.2\n---\n{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if (p == nil) == (err == nil) {
			t.Fatalf("%v and %v", p, err)
		}
		if p == nil {
			return
		}
		for _, e := range p.Access {
			if e.Rights == NoRights || len(e.Agents) == 0 || len(e.Names)+len(e.Groups) == 0 || !e.Rights.Has(List) || slices.Contains(e.Names, "*") {
				t.Errorf("%+v was taken", e)
			}
		}
	})
}

// TestDocumentedPolicy: the policies of docs/desk.md are valid.
func TestDocumentedPolicy(t *testing.T) {
	text, err := os.ReadFile("../../../docs/desk.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, b := range pages.Blocks(string(text)) {
		if b.Language != "yaml" {
			continue
		}
		shown++
		if _, err := Parse([]byte(b.Text)); err != nil {
			t.Errorf("docs/desk.md:%d: %v", b.Line, err)
		}
	}
	if shown == 0 {
		t.Error("docs/desk.md shows no policy")
	}
}
