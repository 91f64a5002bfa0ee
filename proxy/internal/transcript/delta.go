package transcript

import (
	"bytes"

	"holdpoint/internal/agui"
	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
)

const (
	dataPrefix = "data: "
	deltaTail  = `"}`      // the end of an event whose last key is delta
	frameTail  = "\"}\n\n" // the end of its frame
	maxHead    = 1 << 10
	maxMisses  = 6
)

// A delta is the constant part of the events that are pieces of one text: everything except the
// piece itself, which is the last value. Backends send a message as hundreds of such events in a
// row. So most of them can be recognized by their beginning, without being parsed.
//
// Measured without it, and so without rows: 2.4 × the CPU time in the benchmark blast-1, 1.3 × in
// blast-usual.
type delta struct {
	frame  []byte // dataPrefix and the event up to its text; empty if no event was learned
	typ    agui.Type
	used   bool // an event was recognized by it
	misses int  // number of times that it was learned in vain, at most maxMisses
	wait   int  // number of events until it is learned again, because some backends never send two alike
}

// head returns the event up to its text.
func (d *delta) head() []byte { return d.frame[len(dataPrefix):] }

// begins reports whether b begins with a frame of the delta, up to the text.
func (d *delta) begins(b []byte) bool { return len(d.frame) > 0 && bytes.HasPrefix(b, d.frame) }

// text returns the text of an event, in its JSON form. ok is false if the event differs from the
// learned one in more than its text.
func (d *delta) text(json []byte) (text []byte, ok bool) {
	if len(d.frame) == 0 || !bytes.HasPrefix(json, d.head()) {
		return nil, false
	}
	rest := json[len(d.head()):]
	n := closing(rest)
	if n < 0 || string(rest[n:]) != deltaTail {
		return nil, false
	}
	d.used = true
	return rest[:n], true
}

// frameText returns the text of the event in the first frame of b, and the end of that frame. ok is
// false if the event differs from the learned one in more than its text. b must not contain CR.
func (d *delta) frameText(b []byte) (text []byte, end int, ok bool) {
	if !bytes.HasPrefix(b, d.frame) {
		return nil, 0, false
	}
	rest := b[len(d.frame):]
	n := closing(rest)
	if n < 0 || len(rest)-n < len(frameTail) || string(rest[n:n+len(frameTail)]) != frameTail || bytes.IndexByte(rest[:n], '\n') >= 0 {
		return nil, 0, false
	}
	d.used = true
	return rest[:n], len(d.frame) + n + len(frameTail), true
}

// learn makes ev the event that the next events are compared with, and returns its text. ok is
// false if the event is not suitable.
func (d *delta) learn(ev agui.Event) (text []byte, ok bool) {
	if without.Joined {
		return nil, false
	}
	if d.wait > 0 {
		d.wait--
		return nil, false
	}
	if d.used {
		d.misses = 0
	} else if d.misses < maxMisses {
		d.misses++
	}
	poison.Bytes(d.frame)
	*d = delta{frame: d.frame[:0], typ: ev.Type, misses: d.misses, wait: 1<<d.misses - 1}
	at := 0
	m := agui.MembersOf(ev.JSON)
	for m.Next() {
		at = 0
		if m.Name() == "delta" && m.Value[0] == '"' {
			at = m.Index() + 1
		}
	}
	if !m.Whole() || at == 0 || at > maxHead || string(ev.JSON[at+max(closing(ev.JSON[at:]), 0):]) != deltaTail {
		return nil, false
	}
	d.frame = append(append(d.frame, dataPrefix...), ev.JSON[:at]...)
	return ev.JSON[at : len(ev.JSON)-len(deltaTail)], true
}

// closing returns the index of the quote that ends the JSON string in which b begins, -1 if there
// is none.
func closing(b []byte) int {
	for from := 0; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		n += from
		escapes := 0
		for n > escapes && b[n-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return n
		}
		from = n + 1
	}
}
