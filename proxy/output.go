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
//
// An event that is made behind a row goes into it where there is room, over frames that did not pass: most of what is made
// stands for such, and is shorter. The frames that pass behind it are moved up then, but not before the next frame is at hand,
// for until then somebody may look at them.
type output struct {
	made      []byte
	borrowed  *[]byte     // made's memory
	frames    *sse.Reader // of the row
	from, to  int         // where the row stands there
	late, end int         // where those frames stand that are to be moved behind it
	current   []byte      // the frame at hand, as the reader has it; nil if it cannot pass as it is
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
	end := o.frames.Pos()
	switch {
	case o.late < o.end && o.end == from:
		o.end = end
	case o.from < o.to && o.late == o.end && o.to == from:
		o.to = end
	case o.from < o.to && o.late == o.end && o.to < from:
		o.late, o.end = from, end
	default:
		o.settle()
		o.from, o.to = from, end
	}
}

// close moves up what passed behind a gap.
func (o *output) close() {
	if o.late < o.end {
		o.to += copy(o.frames.Slice(o.to, o.end), o.frames.Slice(o.late, o.end))
		o.late, o.end = 0, 0
	}
}

// gap is the room behind the row, up to the frame at hand.
func (o *output) gap() []byte {
	if o.from == o.to || len(o.current) == 0 {
		return nil
	}
	hand := o.frames.Pos() - len(o.current)
	if o.end > hand {
		return nil // it passed
	}
	o.close()
	return o.frames.Slice(o.to, max(o.to, hand))
}

// settle takes the row into what is made, so that something may stand behind it.
func (o *output) settle() {
	if o.from < o.to {
		o.append(o.frames.Slice(o.from, o.to))
	}
	if o.late < o.end {
		o.append(o.frames.Slice(o.late, o.end))
	}
	o.from, o.to, o.late, o.end = 0, 0, 0, 0
}

// event adds an event: its own frame if it is untouched.
func (o *output) event(ev agui.Event) {
	if len(o.current) > 0 && len(ev.Frame) == len(o.current) && &ev.Frame[0] == &o.current[0] && !ev.Edited {
		o.pass()
		return
	}
	if gap := o.gap(); len(gap) > 0 {
		one := appendEvent(gap[:0], ev)
		if len(one) <= len(gap) {
			o.to += len(one)
		} else {
			o.bytes(one)
		}
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
	o.close()
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
	o.from, o.to, o.late, o.end = 0, 0, 0, 0
	if o.borrowed != nil {
		if cap(o.made) <= keptMade {
			*o.borrowed = o.made[:0]
			mades.Put(o.borrowed)
		}
		o.made, o.borrowed = nil, nil
	}
}
