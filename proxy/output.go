package proxy

import (
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/internal/sse"
)

// copyBytes is how much of what passed is copied behind what was made, so that both go out in one write.
const copyBytes = 32 << 10

// An output is what goes to the client in one write: what Holdpoint made, and behind it a row of frames that passed
// untouched, which stay where the reader has them. Most writes are a row and nothing else.
type output struct {
	made     []byte
	borrowed *[]byte     // made's memory
	frames   *sse.Reader // of the row
	from, to int         // where the row stands there
	current  []byte      // the frame at hand, as the reader has it; nil if it cannot pass as it is
}

// mades are the buffers for what is made: they are needed for a moment each.
var mades = sync.Pool{New: func() any { return new([]byte) }}

// keptMade is the largest of them that is used again.
const keptMade = 256 << 10

func (o *output) empty() bool { return o.from == o.to && len(o.made) == 0 }

// pass lets the frame go that the reader returned last.
func (o *output) pass() { o.passed(o.frames.Pos() - len(o.current)) }

// passed lets what the reader returned since a place in it go.
func (o *output) passed(from int) {
	if o.from == o.to || o.to != from {
		o.settle()
		o.from = from
	}
	o.to = o.frames.Pos()
}

// settle takes the row into what is made, so that something may stand behind it.
func (o *output) settle() {
	if o.from < o.to {
		o.append(o.frames.Slice(o.from, o.to))
	}
	o.from, o.to = 0, 0
}

// event adds an event: its own frame if it is untouched.
func (o *output) event(ev agui.Event) {
	if len(o.current) > 0 && len(ev.Frame) == len(o.current) && &ev.Frame[0] == &o.current[0] && !ev.Edited {
		o.pass()
		return
	}
	o.settle()
	o.borrow()
	o.made = appendEvent(o.made, ev)
}

// bytes adds bytes behind all else.
func (o *output) bytes(b []byte) {
	if len(b) > 0 {
		o.settle()
		o.append(b)
	}
}

func (o *output) append(b []byte) {
	o.borrow()
	o.made = append(o.made, b...)
}

func (o *output) borrow() {
	if o.borrowed == nil {
		o.borrowed = mades.Get().(*[]byte)
		o.made = (*o.borrowed)[:0]
	}
}

// take gives what is to be written, in two parts of which either may be empty. They are valid until clear.
func (o *output) take() (made, row []byte) {
	if o.from < o.to {
		row = o.frames.Slice(o.from, o.to)
	}
	if len(o.made) > 0 && len(row) > 0 && len(row) <= copyBytes {
		o.settle()
		row = nil
	}
	return o.made, row
}

// clear forgets what was written. What is made is given back: streams live for hours, and most of the time nothing is.
func (o *output) clear() {
	o.from, o.to = 0, 0
	if o.borrowed != nil {
		if cap(o.made) <= keptMade {
			*o.borrowed = o.made[:0]
			mades.Put(o.borrowed)
		}
		o.made, o.borrowed = nil, nil
	}
}
