// Package sse splits a server-sent event stream into frames without changing a byte. The frames of
// a [Reader], one after another, are its input.
//
// It does not know what the events mean. It keeps no last event id, never reconnects and repairs
// nothing. [Frame] has what a proxy needs to touch single events: the data of an event, its bytes
// with LF line ends, and what is left of a frame when its event is replaced.
//
// Lines and blank lines follow
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream with LF,
// CRLF and CR in any mix.
package sse

import (
	"fmt"
	"io"
	"math"

	"holdpoint/internal/build/poison"
)

const (
	minSpace      = 1 << 10 // the least that is asked of the source in one Read
	maxEmptyReads = 100     // as in bufio
)

// A Source is an io.Reader that knows whether it has more. Any other reader is asked for as much as
// its last Reads suggest, and the Reader holds a buffer while it waits.
type Source interface {
	io.Reader
	// More is how much a Read can ask for that returns without waiting: 0 if that is not known. A
	// longer one may hold back what has come, for net/http fills a Read from a chunk before it
	// returns.
	More() int
	// Wait waits as a Read would. It is called only behind a Read that got less than it asked for:
	// all that had come was read.
	Wait()
}

// A TooLargeError says that a frame is longer than the limit of its Reader.
type TooLargeError struct {
	Max int // the limit in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("sse: frame exceeds %d bytes (HOLDPOINT_MAX_FRAME_BYTES)", e.Max)
}

// A Reader reads frames from a stream. It is for one goroutine, and does not close its source.
//
// Where a frame ends depends on the bytes alone, never on how the source cuts them. A frame ends at
// the first byte that makes its last line blank. If that byte is a CR, an LF may still belong to
// it. To wait for the LF would hold an event back until the next one comes. To take it only if it
// is there already would make frames depend on timing. So an LF after such a CR is always a frame
// of its own. A CRLF stream reads as "data: x\r\n\r", "\n", "data: y\r\n\r", "\n". The Reader marks
// that frame. It has no data, and [Frame.AppendLF] adds nothing for it.
type Reader struct {
	src  io.Reader
	more Source // src, if it is one
	max  int
	err  error // what ended the source, or TooLargeError; told when all whole frames are

	mem   *buffer // buf's; nil before the first Read
	buf   []byte  // buf[start:end] is not returned yet
	start int     // where the next frame begins
	line  int     // where the line begins in which scan stands
	scan  int     // buf[start:scan] is searched; the end of the next frame if whole
	end   int
	ended int  // lines of the next frame that were seen to end
	cr    bool // one of them in a CR
	whole bool
	ends  lineEnds

	size    int  // for the next Read, as the last one suggests: minBuffer or fastBuffer; minBuffer always of a Source
	drained bool // the last Read got less than it asked for
	begun   bool // a frame was returned
	cutAtCR bool // and the last one ended in a CR
}

// NewReader returns a Reader of src. A frame of more than max bytes is a *TooLargeError. With max
// <= 0 there is no limit.
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = math.MaxInt
	}
	more, _ := src.(Source)
	return &Reader{src: src, more: more, max: max, size: minBuffer}
}

// Next returns the next frame, valid until the next call that Ready said false to. It never waits
// for bytes behind it.
//
// The error is io.EOF after a clean end, else that of the source, a *TooLargeError or
// io.ErrNoProgress. All whole frames come before it. An unfinished rest of the stream, if any,
// comes together with the error, which then stays; of a frame that is too large nothing is
// returned.
func (r *Reader) Next() (Frame, error) {
	for !r.find() && !r.tooLarge() && r.err == nil {
		r.fill()
	}
	switch {
	case r.tooLarge():
		r.err = &TooLargeError{Max: r.max}
	case r.whole:
		return r.take(), nil
	case r.start < r.end:
		return r.take(), r.err
	}
	// The end: keep nothing but what to say.
	r.release()
	r.whole = false
	return Frame{}, r.err
}

// Ready reports whether Next returns a whole frame without a Read from the source: a caller that
// writes frames onwards does so when Ready turns false, since the next call may wait for long. What
// Next returned is valid until then.
func (r *Reader) Ready() bool {
	return r.find() && !r.tooLarge()
}

// Ended says that the source has ended, in whatever way. Next then waits for nothing any more.
func (r *Reader) Ended() bool { return r.err != nil }

// Pos returns where the next frame begins, for Slice. It changes with each frame, and counts anew
// after a Read.
func (r *Reader) Pos() int { return r.start }

// Slice returns what stands between two places that Pos gave: frames that were returned, in one
// piece. It is valid as long as they are, and may be written over by who needs them no more.
func (r *Reader) Slice(from, to int) []byte { return r.buf[from:to:to] }

// Ahead returns what was read and not returned yet, as far as there is no CR in it.
func (r *Reader) Ahead() []byte {
	b := r.buf[:r.end]
	if r.ends.cr <= r.start {
		r.ends.cr = r.start + index(b[r.start:], '\r') + 1
	}
	return b[r.start : r.ends.cr-1]
}

// Skip passes over the first n bytes of Ahead, which must be whole frames, as if they had been
// returned.
func (r *Reader) Skip(n int) {
	r.start += n
	r.begun, r.cutAtCR = true, false
	if r.start >= r.scan {
		r.line, r.scan, r.ended, r.cr, r.whole = r.start, r.start, 0, false, false
	}
}

// find searches what it has not searched yet for the end of the next frame.
func (r *Reader) find() bool {
	for b := r.buf[:r.end]; !r.whole; {
		at := r.ends.next(b, r.scan)
		if at == r.end {
			r.scan = r.end
			return false
		}
		r.scan = at + 1
		if b[at] == '\r' {
			r.cr = true
		}
		// The LF of a CRLF ends no line of its own, unless the CR is in the frame before.
		inCRLF := b[at] == '\n' && at > r.start && b[at-1] == '\r'
		r.whole = at == r.line && !inCRLF
		if !r.whole {
			r.line = r.scan
			r.ended++
		}
	}
	return true
}

// tooLarge is asked after find, so that a frame that is too large is the same error however it
// arrives.
func (r *Reader) tooLarge() bool { return r.scan-r.start > r.max }

// take returns all that is searched: the whole frame, or the rest of the stream.
func (r *Reader) take() Frame {
	raw := r.buf[r.start:r.scan:r.scan]
	f := Frame{Raw: raw, first: !r.begun, half: r.cutAtCR && raw[0] == '\n', single: r.whole && r.ended == 1 && !r.cr && r.begun}
	r.begun, r.cutAtCR = true, raw[len(raw)-1] == '\r'
	r.start, r.line, r.ended, r.cr, r.whole = r.scan, r.scan, 0, false, false
	return f
}

// fill reads once, and what is there already with it. Called when all of the buffer is searched and
// holds no whole frame.
func (r *Reader) fill() {
	poison.Bytes(r.buf[:r.start])
	if r.more != nil && r.drained && r.more.More() == 0 {
		if r.start == r.end {
			r.release() // it may last an hour
		}
		r.more.Wait()
	}
	r.makeRoom(r.size)
	r.read()
	for r.err == nil && r.more != nil && r.more.More() > 0 {
		if r.end == len(r.buf) {
			if r.end >= maxBuffer {
				return
			}
			r.makeRoom(maxBuffer)
		}
		r.read()
	}
}

// release gives the empty buffer back.
func (r *Reader) release() {
	giveBack(r.mem)
	r.mem, r.buf, r.start, r.line, r.scan, r.end, r.ends = nil, nil, 0, 0, 0, 0, lineEnds{}
}

// makeRoom puts what is pending into a buffer of at least size and with room behind it. This is the
// place to give memory back, for the Read may last an hour.
func (r *Reader) makeRoom(size int) {
	pending := r.buf[r.start:r.end]
	for size-len(pending) < minSpace {
		size = larger(size)
	}
	if size-minBuffer > r.max {
		size = r.max + minBuffer
	}
	if len(r.buf) < size || len(r.buf) > growth*size {
		old := r.mem
		r.mem = borrow(size)
		r.buf = r.mem.b
		copy(r.buf, pending)
		giveBack(old)
	} else if r.start > 0 {
		copy(r.buf, pending)
		poison.Bytes(r.buf[len(pending):r.end])
	}
	r.line, r.scan, r.end = r.line-r.start, r.scan-r.start, len(pending)
	r.start = 0
	r.ends = lineEnds{}
}

// read reads once into the room that there is.
func (r *Reader) read() {
	space := r.buf[r.end:]
	if r.more != nil {
		if most := r.more.More(); most > 0 {
			space = space[:min(len(space), most)]
		}
	}
	n := 0
	for i := 0; n == 0 && r.err == nil; i++ {
		if i == maxEmptyReads {
			r.err = io.ErrNoProgress
			return
		}
		n, r.err = r.src.Read(space)
	}
	r.end += n
	r.drained = n < len(space)
	switch {
	case r.more != nil: // it says itself when there is more
	case n == len(space): // there is more; a larger Read saves a system call here and a Write behind us
		r.size = fastBuffer
	case n < minBuffer:
		r.size = minBuffer
	}
}
