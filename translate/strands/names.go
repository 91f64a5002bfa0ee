package strands

import (
	"fmt"
	"path"
	"strings"

	"github.com/tidwall/gjson"

	"holdpoint/internal/agui"
	"holdpoint/translate/internal/strandsapi"
	"holdpoint/translate/kit"
)

// Names maps the names of interrupts to texts: glob=text;glob=text. The first glob that matches counts.
type Names []named

type named struct{ glob, text string }

// UnmarshalText reads the value of a variable.
func (l *Names) UnmarshalText(text []byte) error {
	*l = nil
	for _, one := range kit.CutValues(string(text), ";") {
		glob, value, _ := strings.Cut(one, "=")
		glob, value = strings.TrimSpace(glob), strings.TrimSpace(value)
		if _, err := path.Match(glob, ""); err != nil || glob == "" || value == "" {
			return fmt.Errorf("%q: want name=value, such as myapp-*=confirmation", one)
		}
		*l = append(*l, named{glob, value})
	}
	return nil
}

// String is the map as it is written.
func (l Names) String() string {
	var list []string
	for _, n := range l {
		list = append(list, n.glob+"="+n.text)
	}
	return strings.Join(list, ";")
}

// of is the text for a name, "" if there is none.
func (l Names) of(name string) string {
	for _, n := range l {
		if strandsapi.MatchName(n.glob, name) {
			return n.text
		}
	}
	return ""
}

// Schemas are Names whose texts are JSON Schemas.
type Schemas struct{ Names }

// UnmarshalText reads the value of a variable.
func (l *Schemas) UnmarshalText(text []byte) error {
	if err := l.Names.UnmarshalText(text); err != nil {
		return err
	}
	for _, n := range l.Names {
		if !agui.ValidJSON([]byte(n.text)) || !gjson.Parse(n.text).IsObject() {
			return fmt.Errorf("%s: want a JSON Schema that is an object", n.glob)
		}
	}
	return nil
}
