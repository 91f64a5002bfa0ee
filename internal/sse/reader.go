// Package sse splits a server-sent event stream into frames without changing a byte: the frames that a
// [Reader] returns, put one after another, are its input.
//
// It does not know what the events mean, keeps no last event id, never reconnects and repairs nothing.
// What a proxy needs to touch single events stands on [Frame]: the data of one, its bytes with LF line ends,
// and what is left of it when its event is replaced.
//
// Lines and blank lines follow
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
// with LF, CRLF and CR in any mix.
package sse

import (
	"fmt"
	"io"
	"math"
)

const (
	minBuffer = 4 << 10  // an idle stream's
	maxBuffer = 64 << 10 // a fast stream's; only a frame that needs more gets more
	minSpace  = 1 << 10  // the least that is asked of the source in one Read

	maxEmptyReads = 100 // as in bufio
)

// A TooLargeError says that a frame is longer than the limit of its Reader.
type TooLargeError struct {
	Max int // the limit in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("sse: frame exceeds %d bytes (HOLDPOINT_MAX_FRAME_BYTES)", e.Max)
}

// A Reader reads frames from a stream. It is for one goroutine, and does not close its source.
//
// Where frames end depends on the bytes alone, never on how the source cuts them: a frame ends at the first
// byte that makes its last line blank. If that byte is a CR, an LF may still belong to it. To wait for it would
// hold an event back until the next one comes, and to take it along only if it is there already would make
// frames depend on timing. So an LF after such a CR is always a frame of its own: a CRLF stream reads as
// "data: x\r\n\r", "\n", "data: y\r\n\r", "\n". The Reader marks it; it has no data and [Frame.AppendLF] adds
// nothing for it.
type Reader struct {
	src io.Reader
	max int
	err error // what ended the source, or TooLargeError; told when all whole frames are

	buf   []byte // buf[start:end] is not returned yet
	start int    // where the next frame begins
	line  int    // where the line begins in which scan stands
	scan  int    // buf[start:scan] is searched; the end of the next frame if whole
	end   int
	whole bool
	ends  lineEnds

	size    int  // for the next Read, as the last one suggests: minBuffer to maxBuffer
	begun   bool // a frame was returned
	cutAtCR bool // and the last one ended in a CR
}

// NewReader returns a Reader of src. A frame of more than max bytes is a *TooLargeError; max <= 0: no limit.
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = math.MaxInt
	}
	return &Reader{src: src, max: max, size: minBuffer}
}

// Next returns the next frame, valid until the following call. It never waits for bytes behind it.
//
// The error is io.EOF after a clean end, else that of the source, a *TooLargeError or io.ErrNoProgress. All
// whole frames come before it. An unfinished rest of the stream, if any, comes together with the error, which
// then stays; of a frame that is too large nothing is returned.
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
	r.buf, r.start, r.line, r.scan, r.end, r.whole, r.ends = nil, 0, 0, 0, 0, false, lineEnds{}
	return Frame{}, r.err
}

// Ready says whether Next returns a whole frame without a Read from the source: a caller that writes frames
// onwards does so when Ready turns false, since the next call may wait for long.
func (r *Reader) Ready() bool {
	return r.find() && !r.tooLarge()
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
		// The LF of a CRLF ends no line of its own, unless the CR is in the frame before.
		inCRLF := b[at] == '\n' && at > r.start && b[at-1] == '\r'
		r.whole = at == r.line && !inCRLF
		if !r.whole {
			r.line = r.scan
		}
	}
	return true
}

// tooLarge is asked after find, so that one frame too large is the same error however it arrives.
func (r *Reader) tooLarge() bool { return r.scan-r.start > r.max }

// take returns all that is searched: the whole frame, or the rest of the stream.
func (r *Reader) take() Frame {
	raw := r.buf[r.start:r.scan:r.scan]
	f := Frame{Raw: raw, first: !r.begun, half: r.cutAtCR && raw[0] == '\n'}
	r.begun, r.cutAtCR = true, raw[len(raw)-1] == '\r'
	r.start, r.line, r.whole = r.scan, r.scan, false
	return f
}

// fill reads once, after making room. Called when all of the buffer is searched and holds no whole frame.
func (r *Reader) fill() {
	pending := r.buf[r.start:r.end]
	size := r.size
	for size-len(pending) < minSpace {
		size *= 2
	}
	if size-minBuffer > r.max {
		size = r.max + minBuffer
	}
	// This is the place to give memory back, for the Read may last an hour. Half of it is not worth while: a
	// stream of frames of nearly the smallest size would make two buffers for each.
	if len(r.buf) < size || len(r.buf) >= 4*size {
		r.buf = make([]byte, size)
		copy(r.buf, pending)
	} else if r.start > 0 {
		copy(r.buf, pending)
	}
	r.start, r.line, r.scan, r.end = 0, r.line-r.start, len(pending), len(pending)
	r.ends = lineEnds{}

	space := r.buf[r.end:]
	n := 0
	for i := 0; n == 0 && r.err == nil; i++ {
		if i == maxEmptyReads {
			r.err = io.ErrNoProgress
			return
		}
		n, r.err = r.src.Read(space)
	}
	r.end += n
	switch {
	case n == len(space): // there is more; a larger Read saves a system call here and a Write behind us
		r.size = min(2*r.size, maxBuffer)
	case n < r.size/4:
		r.size = minBuffer
	}
}
