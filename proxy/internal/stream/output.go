// Package stream has what goes to a client and what comes from a backend, as bytes: the frames of
// one write, the ResponseWriter that they go through with its heartbeats and deadlines, the pieces
// of a stream that is not AG-UI, and the compression of a stream.
//
// It does not know what events mean. It knows no runs and no records.
package stream

import (
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
	"holdpoint/internal/sse"
)

// An Output collects what goes to the client in one write: bytes that Holdpoint made, then a row of
// adjacent frames that passed untouched. The row is not copied: its bytes stay in the buffer of
// Frames. Most writes are a row and nothing else. Copying the rows costs 1.6 × the CPU time in
// mixed-raw.
//
// An event that is made after a row is written into the row, over a frame that did not pass, if it
// fits there. Most made events replace such a frame and are shorter. The frames that pass after it
// are moved up later, when the next frame is read, because a caller may still read them. Without
// this, mixed-calls takes 1.06 × the CPU time.
//
// The zero Output is empty. One goroutine uses it.
type Output struct {
	Frames  *sse.Reader // the backend's stream; set before Pass or Passed is called
	Current []byte      // the frame that Frames returned last, in its buffer; nil if it must not pass as it is
	Count   Counts      // of events, since the beginning; callers add frames without an event

	made      []byte
	borrowed  *[]byte // made's memory
	from, to  int     // the row, as offsets in Frames
	late, end int     // frames to be moved to the end of the row, as offsets in Frames
}

// Counts are numbers of events for a client: passed as they came, rewritten from an event of the
// backend, and made by Holdpoint.
type Counts struct{ Passed, Rewritten, Made int }

func (c *Counts) note(ev *agui.Event) {
	switch {
	case ev.Frame == nil:
		c.Made++
	case ev.Edited:
		c.Rewritten++
	default:
		c.Passed++
	}
}

// mades are the buffers for what is made. Each is needed for a moment. Without the pool: 1.8 × the
// CPU time in mixed-crlf.
var mades = sync.Pool{New: func() any { return new([]byte) }}

// keptMade is the largest of them that is used again.
const keptMade = 256 << 10

// Empty reports whether there is nothing to write.
func (o *Output) Empty() bool { return o.from == o.to && len(o.made) == 0 }

// Pass adds the current frame to the row. Current must be set.
func (o *Output) Pass() { o.Passed(o.Frames.Pos() - len(o.Current)) }

// Passed adds to the row all bytes that Frames returned since the offset from, which is one that
// Frames.Pos returned.
func (o *Output) Passed(from int) {
	end := o.Frames.Pos()
	if without.RowInPlace {
		o.append(o.Frames.Slice(from, end))
		return
	}
	switch {
	case o.late < o.end && o.end == from:
		o.end = end
	case o.from < o.to && o.late == o.end && o.to == from:
		o.to = end
	case o.from < o.to && o.late == o.end && o.to < from:
		o.late, o.end = from, end
	default:
		o.Settle()
		o.from, o.to = from, end
	}
}

// Made returns the number of bytes that Holdpoint made, without those that are in the row.
func (o *Output) Made() int { return len(o.made) }

// close moves up what passed behind a gap.
func (o *Output) close() {
	if o.late < o.end {
		o.to += copy(o.Frames.Slice(o.to, o.end), o.Frames.Slice(o.late, o.end))
		o.late, o.end = 0, 0
	}
}

// gap returns the room behind the row, up to the frame at hand.
func (o *Output) gap() []byte {
	if o.from == o.to || len(o.Current) == 0 || without.Gaps {
		return nil
	}
	hand := o.Frames.Pos() - len(o.Current)
	if o.end > hand {
		return nil // it passed
	}
	o.close()
	return o.Frames.Slice(o.to, max(o.to, hand))
}

// Settle copies the row into the made bytes. After it, Frames may overwrite its buffer, and what is
// added next follows the row.
func (o *Output) Settle() {
	if o.from < o.to {
		o.append(o.Frames.Slice(o.from, o.to))
	}
	if o.late < o.end {
		o.append(o.Frames.Slice(o.late, o.end))
	}
	o.from, o.to, o.late, o.end = 0, 0, 0, 0
}

// Event adds an event and counts it. An event that is not edited goes out as the frame that it came
// in. ev is not kept.
func (o *Output) Event(ev agui.Event) {
	o.Count.note(&ev)
	if len(o.Current) > 0 && len(ev.Frame) == len(o.Current) && &ev.Frame[0] == &o.Current[0] && !ev.Edited {
		o.Pass()
		return
	}
	if gap := o.gap(); len(gap) > 0 {
		one := AppendEvent(gap[:0], ev)
		if len(one) <= len(gap) {
			o.to += len(one)
		} else {
			o.Bytes(one)
		}
		return
	}
	o.Settle()
	o.borrow()
	o.made = AppendEvent(o.made, ev)
}

// Bytes adds a copy of b at the end. It counts nothing.
func (o *Output) Bytes(b []byte) {
	if len(b) > 0 {
		o.Settle()
		o.append(b)
	}
}

func (o *Output) append(b []byte) {
	o.borrow()
	o.made = append(o.made, b...)
}

func (o *Output) borrow() {
	if o.borrowed == nil && !without.MadePool {
		o.borrowed = mades.Get().(*[]byte)
		o.made = (*o.borrowed)[:0]
	}
}

// Take returns what is to be written, in two parts and in this order. Either may be empty. The
// parts are valid until Clear, or until Frames is read.
func (o *Output) Take() (made, row []byte) {
	o.close()
	if o.from < o.to {
		row = o.Frames.Slice(o.from, o.to)
	}
	return o.made, row
}

// Clear empties the Output after a write, and returns its buffer to a pool: streams live for hours,
// and most of the time nothing is made. Count stays.
func (o *Output) Clear() {
	poison.Bytes(o.made)
	if poison.On && o.from < o.to {
		poison.Bytes(o.Frames.Slice(o.from, o.to))
	}
	o.from, o.to, o.late, o.end = 0, 0, 0, 0
	if o.borrowed != nil && cap(o.made) <= keptMade {
		*o.borrowed = o.made[:0]
		mades.Put(o.borrowed)
	}
	o.made, o.borrowed = nil, nil
}

// AppendEvent appends an event to dst as a frame, and returns the longer dst. An event that is not
// edited has the bytes of the frame that it came in. An edited one keeps that frame's other fields
// (id, event, retry).
func AppendEvent(dst []byte, ev agui.Event) []byte {
	if ev.Frame != nil && !ev.Edited {
		return append(dst, ev.Frame...)
	}
	if ev.Frame != nil {
		dst = sse.Frame{Raw: ev.Frame}.AppendOther(dst)
	}
	return sse.AppendEvent(dst, ev.JSON)
}
