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

// A delta is the constant part of consecutive events that each have a piece of one text: everything
// except the piece itself, which is the last value. Backends send a message as hundreds of such
// events in a row. So most events can be recognized by their beginning, without being parsed.
//
// Without it, and so without rows, the benchmark blast-1 takes 2.4 × the CPU time, and blast-usual
// 1.3 ×.
type delta struct {
	frame  []byte // dataPrefix and the event up to the piece of text; empty if no event was learned
	typ    agui.Type
	used   bool // a later event had the same constant part
	misses int  // number of events that were learned in vain, at most maxMisses
	// Number of events until the next one is learned, because some backends never send two alike.
	wait int
}

// head returns the learned event up to its piece of text.
func (d *delta) head() []byte { return d.frame[len(dataPrefix):] }

// begins reports whether b begins with the constant part of a frame: dataPrefix and the event up to
// its piece of text.
func (d *delta) begins(b []byte) bool { return len(d.frame) > 0 && bytes.HasPrefix(b, d.frame) }

// text returns the piece of text in an event, still with JSON escapes. ok is false if anything else
// in the event differs from the learned event.
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

// frameText returns the piece of text in the first frame of b, and the index at which that frame
// ends. ok is false if anything else in the frame differs from the learned event. b must not
// contain CR.
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

// learn learns the event ev, with which the next events are compared, and returns the piece of text
// in ev. ok is false if the event cannot be learned.
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
	if !m.IsComplete() || at == 0 || at > maxHead || string(ev.JSON[at+max(closing(ev.JSON[at:]), 0):]) != deltaTail {
		return nil, false
	}
	d.frame = append(append(d.frame, dataPrefix...), ev.JSON[:at]...)
	return ev.JSON[at : len(ev.JSON)-len(deltaTail)], true
}

// closing returns the index of the quote that ends a JSON string, -1 if the string does not end in
// b. b begins within the string.
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
