// Package stream handles the bytes to a client and from a backend. It has the frames of one write
// to the client, a ResponseWriter with heartbeats and deadlines, the pieces of a stream that is not
// AG-UI, and decoders for compressed streams.
//
// The package does not know what events mean, and does not know runs and records.
package stream

import (
	"sync"

	"holdpoint/internal/agui"
	"holdpoint/internal/build/poison"
	"holdpoint/internal/build/without"
	"holdpoint/internal/sse"
)

// An Output collects the bytes for one write to the client: first the bytes that Holdpoint made,
// then a row. A row is a sequence of adjacent frames of the backend that are passed on unchanged.
// It is not copied; its bytes stay in the buffer of Frames. Most writes consist of a row only.
// Copying the rows was measured: it takes 1.6 × the CPU time in the benchmark mixed-raw.
//
// If Holdpoint makes an event after a row, the event is written into the buffer directly after the
// row, over a frame that was dropped, if it fits there. Most events that Holdpoint makes replace
// such a frame and are shorter. Then there is a gap before the next frames of the row. Those are
// moved up later, when the next frame is read, because until then a caller may still read them.
// Without this, mixed-calls takes 1.06 × the CPU time.
//
// The zero Output is empty. Only one goroutine may use it.
type Output struct {
	Frames *sse.Reader // the backend's stream; set before Pass or AddPassed is called
	// The frame that Frames returned last, in the buffer of Frames; nil if it must not be passed on
	// unchanged.
	Current []byte
	// Counts of the events since the beginning of the stream. Callers add the frames that contain
	// no event.
	Count Counts

	made     []byte
	borrowed *[]byte // the pooled buffer of made
	from, to int     // the row: offsets in Frames
	// Offsets in Frames of the frames that are still to be moved up to the end of the row.
	late, end int
}

// Counts has the numbers of events that were sent to a client: events passed on unchanged, events
// of the backend that were rewritten, and events that Holdpoint made.
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

// madeBuffers is a pool of buffers for the events that Holdpoint makes. Each buffer is needed only
// for a short time. Without the pool, the benchmark mixed-crlf takes 1.8 × the CPU time.
var madeBuffers = sync.Pool{New: func() any { return new([]byte) }}

// keptMade is the size of the largest buffer that is returned to the pool.
const keptMade = 256 << 10

// Empty reports whether there is nothing to write.
func (o *Output) Empty() bool { return o.from == o.to && len(o.made) == 0 }

// Pass adds the current frame to the row. Current must be set.
func (o *Output) Pass() { o.AddPassed(o.Frames.Pos() - len(o.Current)) }

// AddPassed adds to the row all bytes that Frames has returned after the offset from, which
// Frames.Pos returned earlier.
func (o *Output) AddPassed(from int) {
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

// MadeBytes returns the number of bytes that Holdpoint made. Bytes that were written into the row
// are not counted.
func (o *Output) MadeBytes() int { return len(o.made) }

// close moves the frames after a gap up to the end of the row.
func (o *Output) close() {
	if o.late < o.end {
		o.to += copy(o.Frames.Slice(o.to, o.end), o.Frames.Slice(o.late, o.end))
		o.late, o.end = 0, 0
	}
}

// gap returns the free bytes between the row and the current frame. They contained frames that were
// dropped.
func (o *Output) gap() []byte {
	if o.from == o.to || len(o.Current) == 0 || without.Gaps {
		return nil
	}
	hand := o.Frames.Pos() - len(o.Current)
	if o.end > hand {
		return nil // the current frame is part of the output
	}
	o.close()
	return o.Frames.Slice(o.to, max(o.to, hand))
}

// Settle copies the row to the bytes that Holdpoint made, because Frames may overwrite its buffer.
// Bytes that are added later then follow these bytes.
func (o *Output) Settle() {
	if o.from < o.to {
		o.append(o.Frames.Slice(o.from, o.to))
	}
	if o.late < o.end {
		o.append(o.Frames.Slice(o.late, o.end))
	}
	o.from, o.to, o.late, o.end = 0, 0, 0, 0
}

// Event adds an event and counts it. If the event was not edited, its original frame is passed on.
// Event keeps no reference to ev.
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

// Bytes adds a copy of b at the end. It does not count b as an event.
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
		o.borrowed = madeBuffers.Get().(*[]byte)
		o.made = (*o.borrowed)[:0]
	}
}

// Take returns the bytes to write: first made, then row. Either may be empty. Both are valid until
// Clear is called or Frames is read.
func (o *Output) Take() (made, row []byte) {
	o.close()
	if o.from < o.to {
		row = o.Frames.Slice(o.from, o.to)
	}
	return o.made, row
}

// Clear empties the Output after a write, but does not reset Count. It returns the buffer to the
// pool, because a stream lasts for hours and needs no buffer most of the time.
func (o *Output) Clear() {
	poison.Bytes(o.made)
	if poison.On && o.from < o.to {
		poison.Bytes(o.Frames.Slice(o.from, o.to))
	}
	o.from, o.to, o.late, o.end = 0, 0, 0, 0
	if o.borrowed != nil && cap(o.made) <= keptMade {
		*o.borrowed = o.made[:0]
		madeBuffers.Put(o.borrowed)
	}
	o.made, o.borrowed = nil, nil
}

// AppendEvent appends an event to dst as a frame, and returns the extended slice. An event that was
// not edited has the bytes of its original frame. An edited event has new data, and the other
// fields of its original frame (id, event, retry).
func AppendEvent(dst []byte, ev agui.Event) []byte {
	if ev.Frame != nil && !ev.Edited {
		return append(dst, ev.Frame...)
	}
	if ev.Frame != nil {
		dst = sse.Frame{Raw: ev.Frame}.AppendOther(dst)
	}
	return sse.AppendEvent(dst, ev.JSON)
}
