package requestapproval

import (
	"bytes"
	"cmp"

	"holdpoint/internal/agui"
)

// A callEvent has the values of the members of a tool call's event. Each value is JSON text that
// shares memory with the event. It is "" if the member is absent.
type callEvent struct {
	id, name, parent, delta string
	nameAt, deltaAt         int // offsets of the values in the event's JSON
	// plain reports that renaming removes nothing: the event has no null, no rawEvent and no white
	// space.
	plain bool
	valid bool // Holdpoint may act on the event
}

// read parses an event of a tool call. If Holdpoint must not act on the event, read sets only the
// id and the name, if they can be read.
func read(ev agui.Event) (s callEvent) {
	m := agui.MembersOf(ev.JSON)
	types, size := 0, len("{")
	s.plain = true
	for m.Next() {
		size += len(m.Key) + len(":") + len(m.Value) + len(",")
		switch m.Name() {
		case "type":
			types++
		case "toolCallId":
			setFirst(&s.id, m.Value)
		case "toolCallName":
			if setFirst(&s.name, m.Value) {
				s.nameAt = m.Index()
			}
		case "parentMessageId":
			setFirst(&s.parent, m.Value)
		case "delta":
			if setFirst(&s.delta, m.Value) {
				s.deltaAt = m.Index()
			}
		case "rawEvent":
			s.plain = false
		}
		if m.Value == "null" {
			s.plain = false
		}
	}
	s.plain = s.plain && size == len(ev.JSON)
	if s.valid = types == 1 && m.IsComplete(); !s.valid {
		object := agui.View(ev.JSON)
		s.id, s.name = object.Get("toolCallId").Raw, object.Get("toolCallName").Raw
	}
	return s
}

// setFirst sets *to to value if *to is empty, and reports whether it did. So if a key occurs twice,
// the first value counts.
func setFirst(to *string, value string) bool {
	if *to != "" {
		return false
	}
	*to = value
	return true
}

// A frame is an event of a call that the run holds back.
type frame struct {
	call     *call
	ev       agui.Event
	plain    bool // see callEvent
	from, to int  // the offsets of the value that renaming replaces
}

func newFrame(c *call, ev agui.Event, s callEvent) frame {
	f := frame{call: c, ev: ev, plain: s.plain}
	switch ev.Type {
	case agui.CallStart:
		f.from, f.to = s.nameAt, s.nameAt+len(s.name)
	case agui.CallArgs:
		f.from, f.to = s.deltaAt, s.deltaAt+len(s.delta)
	}
	return f
}

// appendRenamed appends the event to dst. If name or args is not nil, it replaces the value of
// toolCallName or delta. It removes rawEvent and members that are null. All other members keep
// their bytes.
func (f frame) appendRenamed(dst []byte, name, args *string) []byte {
	json := f.ev.JSON
	text := cmp.Or(name, args)
	switch {
	case !f.plain || text != nil && f.to == 0:
		return appendRenamed(dst, json, name, args)
	case text == nil:
		return append(dst, json...)
	}
	dst = append(dst, json[:f.from]...)
	dst = agui.AppendString(dst, *text)
	return append(dst, json[f.to:]...)
}

// appendRenamed appends the event json to dst as frame.appendRenamed does. It is for an event that
// is not plain.
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
