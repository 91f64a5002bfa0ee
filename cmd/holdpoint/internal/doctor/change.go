package doctor

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"holdpoint/internal/agui"
)

// A Change counts the events of one kind, by what Holdpoint did with them.
type Change struct {
	Type     string `json:"type"`
	Name     string `json:"name,omitempty"` // of a CUSTOM event or a tool, if its type has one
	Received int    `json:"came"`
	// Passed counts the events that reached the client unchanged, and Rewritten those that reached
	// it with changes. Dropped counts the events that did not reach the client, and Created those that
	// Holdpoint added.
	Passed    int `json:"passed"`
	Rewritten int `json:"rewritten"`
	Dropped   int `json:"dropped"`
	Created   int `json:"made"`
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
		k.t = labelNoType
	}
	return k
}

// compare counts, for each kind of event, what Holdpoint did with the events of the backend's
// answer (in) and which it added for the client (out). The kinds are in the order of their first
// events.
func compare(in, out *stream) []Change {
	// number of the backend's events that were not yet found in out, by the event's JSON
	left := map[string]int{}
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
		row(kindOf(ev)).Received++
	}
	for _, ev := range out.events {
		r := row(kindOf(ev))
		if left[string(ev.JSON)] > 0 {
			left[string(ev.JSON)]--
			r.Passed++
			continue
		}
		r.Created++
	}
	list := []Change{}
	for _, k := range order {
		r := rows[k]
		r.Rewritten = min(r.Created, r.Received-r.Passed)
		r.Created -= r.Rewritten
		r.Dropped = r.Received - r.Passed - r.Rewritten
		list = append(list, *r)
	}
	return list
}

// calls returns the names of the tools that have a call without a result, sorted and without
// duplicates.
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

// maxName is the largest number of characters that doctor prints of a name from the backend.
const maxName = 60

// clean makes a name from the backend safe for a terminal. It replaces control characters and
// characters that change the direction of text, and cuts the name to maxName characters.
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

// word returns s if it looks like a name that a program chose. It returns "(free text)" for
// anything else, because that may be a person's text, which doctor must not print.
func word(s string) string {
	ok := s != "" && len(s) <= maxName
	for _, c := range s {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.:-", c))
	}
	if !ok {
		return labelFreeText
	}
	return s
}
