package transcript

import (
	"bytes"

	"holdpoint/internal/agui"
	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
)

const (
	dataPrefix = "data: "
	deltaTail  = `"}`      // of an event whose last key is its delta
	frameTail  = "\"}\n\n" // of its frame
	maxHead    = 1 << 10
	maxMisses  = 6
)

// A delta is what the pieces of one text have in common: all of the event but the piece itself,
// which stands last. Backends send a message as hundreds of such events, one after the other. So
// most can be told by their beginning, and nothing else of them is looked at.
//
// Without it, and so without rows: 2.4 × the CPU time in blast-1, 1.3 in blast-usual.
type delta struct {
	frame  []byte // dataPrefix and the event up to its text; empty if nothing is known
	typ    agui.Type
	used   bool // an event was told by it
	misses int  // how often it was learned in vain, up to maxMisses
	wait   int  // events until it is learned again: some backends never send two alike
}

// head returns the event up to its text.
func (d *delta) head() []byte { return d.frame[len(dataPrefix):] }

// begins reports whether b begins with a frame of it, as far as its text.
func (d *delta) begins(b []byte) bool { return len(d.frame) > 0 && bytes.HasPrefix(b, d.frame) }

// text returns the text of an event, as it stands in the JSON. The event differs from the ones
// before in its text only; else the result is false.
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

// frameText returns the text of the event in the first frame of b, and where that frame ends. The
// event differs from the ones before in its text only; else the result is false. There is no CR in
// b.
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

// learn takes an event as the one that the next events are compared with, and returns its text. It
// returns false if no event can be compared with it.
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

// closing returns where the string ends that b begins within, -1 if it does not.
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
