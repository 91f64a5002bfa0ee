package strands

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
)

// entries cuts glob=value;glob=value. A semicolon within a JSON value does not end it.
func entries(text string, each func(glob, value string) error) error {
	for rest := text; strings.Trim(rest, "; \t\n") != ""; {
		glob, after, ok := strings.Cut(strings.TrimLeft(rest, "; \t\n"), "=")
		glob = strings.TrimSpace(glob)
		if _, err := path.Match(glob, ""); err != nil || !ok || glob == "" || strings.Contains(glob, ";") {
			return fmt.Errorf("%q: want glob=value;glob=value", agui.Cut(rest))
		}
		n := endOfValue(after)
		if err := each(glob, strings.TrimSpace(after[:n])); err != nil {
			return fmt.Errorf("%s: %w", glob, err)
		}
		rest = after[n:]
	}
	return nil
}

// endOfValue is where a value ends: at a semicolon that stands in no string, object or array.
func endOfValue(s string) int {
	depth := 0
	for n := 0; n < len(s); n++ {
		switch s[n] {
		case '"':
			for n++; n < len(s) && s[n] != '"'; n++ {
				if s[n] == '\\' {
					n++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ';':
			if depth <= 0 {
				return n
			}
		}
	}
	return len(s)
}

// Names maps the names of interrupts to texts; the first glob that matches counts.
type Names []named

type named struct{ glob, value string }

// UnmarshalText reads the value of a variable.
func (l *Names) UnmarshalText(text []byte) error {
	*l = nil
	return entries(string(text), func(glob, value string) error {
		if value == "" {
			return errors.New("it has no value")
		}
		*l = append(*l, named{glob, value})
		return nil
	})
}

// String is the map as it is written.
func (l Names) String() string {
	var list []string
	for _, n := range l {
		list = append(list, n.glob+"="+n.value)
	}
	return strings.Join(list, ";")
}

// of is the text for a name, "" if there is none.
func (l Names) of(name string) string {
	for _, n := range l {
		if matches(n.glob, name) {
			return n.value
		}
	}
	return ""
}

// matches says whether a glob matches a name. * stands for anything, a slash too: names are no paths.
func matches(glob, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(glob, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// Schemas are Names whose texts are JSON Schemas.
type Schemas struct{ Names }

// UnmarshalText reads the value of a variable.
func (l *Schemas) UnmarshalText(text []byte) error {
	if err := l.Names.UnmarshalText(text); err != nil {
		return err
	}
	for _, n := range l.Names {
		if !agui.ValidJSON([]byte(n.value)) || !gjson.Parse(n.value).IsObject() {
			return fmt.Errorf("%s: want a JSON Schema that is an object", n.glob)
		}
	}
	return nil
}
