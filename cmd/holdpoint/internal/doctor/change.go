package doctor

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"holdpoint/internal/agui"
)

// A Change is what became of the events of one kind.
type Change struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"` // of a CUSTOM event or a tool, if its type has one
	Came int    `json:"came"`
	// Passed went out as they came. Rewritten went out changed. Dropped did not go out. Made are
	// Holdpoint's own.
	Passed    int `json:"passed"`
	Rewritten int `json:"rewritten"`
	Dropped   int `json:"dropped"`
	Made      int `json:"made"`
}

type kind struct{ t, name string }

func kindOf(ev agui.Event) kind {
	k := kind{t: string(ev.Type)}
	switch ev.Type {
	case agui.Custom:
		k.name = clean(ev.Get("name").Str)
	case agui.CallStart, agui.CallChunk:
		k.name = clean(ev.Get("toolCallName").Str)
	case agui.Unknown:
		k.t = "(no type of AG-UI)"
	}
	return k
}

// compare says for each kind of event what became of it. The order of the list is that of the first
// of each kind.
func compare(in, out *stream) []Change {
	left := map[string]int{} // events that came and were not seen to go out, by their bytes
	for _, ev := range in.events {
		left[string(ev.JSON)]++
	}
	rows := map[kind]*Change{}
	var order []kind
	row := func(k kind) *Change {
		if rows[k] == nil {
			rows[k] = &Change{Type: k.t, Name: k.name}
			order = append(order, k)
		}
		return rows[k]
	}
	for _, ev := range in.events {
		row(kindOf(ev)).Came++
	}
	for _, ev := range out.events {
		r := row(kindOf(ev))
		if left[string(ev.JSON)] > 0 {
			left[string(ev.JSON)]--
			r.Passed++
			continue
		}
		r.Made++
	}
	list := []Change{}
	for _, k := range order {
		r := rows[k]
		r.Rewritten = min(r.Made, r.Came-r.Passed)
		r.Made -= r.Rewritten
		r.Dropped = r.Came - r.Passed - r.Rewritten
		list = append(list, *r)
	}
	return list
}

// calls returns the tools that were called and gave no result.
func (s *stream) calls() []string {
	open := map[string]string{}
	for _, ev := range s.events {
		id := ev.Get("toolCallId").Str
		switch ev.Type {
		case agui.CallStart, agui.CallChunk:
			if name := ev.Get("toolCallName").Str; name != "" {
				open[id] = clean(name)
			}
		case agui.CallResult:
			delete(open, id)
		}
	}
	return slices.Compact(slices.Sorted(maps.Values(open)))
}

// maxName is how many characters of a backend's name are shown.
const maxName = 60

// clean makes a name of a backend fit for a terminal: no control characters, nothing that turns the
// direction of the text, and not too long.
func clean(s string) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n == maxName {
			b.WriteString("...")
			break
		}
		if !unicode.IsPrint(c) {
			c = '?'
		}
		b.WriteRune(c)
		n++
	}
	return b.String()
}

// word returns a name that a program chose. Anything else may be a person's text, which is not
// shown.
func word(s string) string {
	ok := s != "" && len(s) <= maxName
	for _, c := range s {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.:-", c))
	}
	if !ok {
		return "(free text)"
	}
	return s
}
