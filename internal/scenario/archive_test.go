package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const testdata = "../../testdata"

// TestArchiveKeepsEveryByte: reading a written archive must return the same bytes. The data has
// line ends of every kind or none, NUL, invalid UTF-8, and lines that look like lines of the format
// itself.
func TestArchiveKeepsEveryByte(t *testing.T) {
	data := rapid.OneOf(
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"\n", "\r\n", "\r", "\x00", "\xff\xfe", "-- ", "--", " --", "-- 1.want.sse --\n", `\`, unended, "data: {}\n\n", "x", " ", "<cut>"})),
			func(list []string) string { return strings.Join(list, "") }),
	)
	rapid.Check(t, func(t *rapid.T) {
		a := &Archive{Comment: data.Draw(t, "comment")}
		for n, d := range rapid.SliceOfN(data, 0, 4).Draw(t, "parts") {
			a.Parts = append(a.Parts, Part{Request(n), d})
		}
		text := a.String()
		b, err := ParseArchive(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if b.Comment != a.Comment || len(b.Parts) != len(a.Parts) {
			t.Fatalf("%+v became %+v", a, b)
		}
		for n, p := range a.Parts {
			if b.Parts[n] != p {
				t.Fatalf("%q became %q", p, b.Parts[n])
			}
		}
	})
}

func TestArchiveAsWritten(t *testing.T) {
	a := &Archive{"title: x\n", []Part{{"empty", ""}, {"ended", "a\n\n"}, {"open", "a\nb"}, {"marks", "-- a --\n\\b\n--\n"}, {"crlf", "a\r\n"}}}
	const want = "title: x\n-- empty --\n-- ended --\na\n\n-- open --\na\nb\n\\ no newline at the end\n-- marks --\n\\-- a --\n\\\\b\n--\n-- crlf --\na\r\n"
	if got := a.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestArchiveRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no newline at the end of the file":    "-- a --\nx",
		"a head without an end":                "-- a\nx\n",
		"a head that ends the file":            "-- a --",
		"a head with CRLF":                     "-- a --\r\nx\n",
		"a head without a name":                "-- --\n",
		"a name with spaces around it":         "--  a  --\n",
		"a name twice":                         "-- a --\n-- a --\n",
		"a backslash that escapes nothing":     "-- a --\n\\x\n",
		"an end that is missing from nothing":  "-- a --\n" + unended,
		"an end that is missing from a line's": "-- a --\nx\n\n" + unended,
		"its mark in the middle":               "-- a --\nx\n" + unended + "y\n",
	} {
		if a, err := ParseArchive(text); err == nil {
			t.Errorf("%s: taken as %+v", name, a)
		}
	}
}

// FuzzArchive: ParseArchive must not panic. If it accepts a text, writing the archive must return
// the same text.
func FuzzArchive(f *testing.F) {
	f.Add("title: x\n-- 1.request.json --\n{}\n-- 1.upstream.sse --\ndata: {}\n\n<cut>\n" + unended)
	f.Add("-- a --\n\\-- b --\n\\\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := ParseArchive(text); err == nil && a.String() != text {
			t.Errorf("%q became %q", text, a.String())
		}
	})
}

// TestScenariosAreOneFileEach: each scenario file in testdata must have the form that this package
// writes. The folders must not contain other files.
func TestScenariosAreOneFileEach(t *testing.T) {
	list, err := List(testdata, "*")
	if err != nil || len(list) < 700 {
		t.Fatalf("%d scenarios: %v", len(list), err)
	}
	for _, s := range list {
		text, err := os.ReadFile(s.Path)
		if err != nil || s.archive.String() != string(text) {
			t.Errorf("%s: written otherwise (%v)", s.Path, err)
		}
	}
	beside, err := filepath.Glob(testdata + "/*.*")
	if err != nil || len(beside) != 2 {
		t.Errorf("beside the folders: %v, %v", beside, err)
	}
}
