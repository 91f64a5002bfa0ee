package requestapproval

import (
	"bytes"

	"holdpoint/internal/agui"
)

// A said is what an event of a call says, as JSON text that lives in the event; "" for what it does not say.
type said struct {
	id, name, parent, delta string
	valid                   bool // it may be acted on
}

// read reads an event of a call. Of one that may not be acted on, it says which call it looks to be of.
func read(ev agui.Event) (s said) {
	m := agui.MembersOf(ev.JSON)
	types := 0
	for m.Next() {
		switch m.Name() {
		case "type":
			types++
		case "toolCallId":
			first(&s.id, m.Value)
		case "toolCallName":
			first(&s.name, m.Value)
		case "parentMessageId":
			first(&s.parent, m.Value)
		case "delta":
			first(&s.delta, m.Value)
		}
	}
	if s.valid = types == 1 && m.Whole(); !s.valid {
		object := agui.View(ev.JSON)
		s.id, s.name = object.Get("toolCallId").Raw, object.Get("toolCallName").Raw
	}
	return s
}

// first sets what is not set yet: of two equal keys the first one counts.
func first(to *string, value string) {
	if *to == "" {
		*to = value
	}
}

// appendRenamed appends an event with another name or other arguments, unless they are nil, without nulls and rawEvent. Of all
// other members every byte stays.
func appendRenamed(dst, json []byte, name, args *string) []byte {
	dst = append(dst, '{')
	m := agui.MembersOf(json)
	for m.Next() {
		var text *string
		switch m.Name() {
		case "toolCallName":
			text, name = name, nil
		case "delta":
			text, args = args, nil
		case "rawEvent":
			continue
		}
		if text == nil && m.Value == "null" {
			continue
		}
		dst = append(append(dst, m.Key...), ':')
		if text != nil {
			dst = agui.AppendString(dst, *text)
		} else {
			dst = append(dst, m.Value...)
		}
		dst = append(dst, ',')
	}
	if name != nil {
		dst = append(agui.AppendString(append(dst, `"toolCallName":`...), *name), ',')
	}
	if args != nil {
		dst = append(agui.AppendString(append(dst, `"delta":`...), *args), ',')
	}
	return append(bytes.TrimSuffix(dst, []byte(",")), '}')
}
