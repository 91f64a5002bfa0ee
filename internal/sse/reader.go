// Package sse splits a server-sent event stream into frames without changing a byte. The frames of
// a [Reader], joined in order, are its input.
//
// It does not interpret events. It keeps no last event id, never reconnects and repairs nothing.
// [Frame] has the methods that a proxy needs for a single event: its data, its bytes with LF line
// ends, and the other lines of the frame if the event is replaced.
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
	minSpace      = 1 << 10 // the minimum size of one Read
	maxEmptyReads = 100     // as in bufio
)

// A Source is an io.Reader that knows whether it has more bytes. For any other reader the Reader
// estimates the size of the next Read from its last Reads, and holds a buffer while it waits.
type Source interface {
	io.Reader
	// More returns the size of a Read that would not wait, or 0 if that is unknown. A longer Read may
	// delay bytes that have arrived, because net/http fills a Read from a chunk before it returns.
	More() int
	// Wait waits until a Read would not wait. It is called only after a Read returned less than
	// requested, so that all bytes that had arrived are read.
	Wait()
}

// A TooLargeError reports that a frame is longer than the limit of its Reader.
type TooLargeError struct {
	Max int // the limit in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf(textFrameTooLarge, e.Max)
}

// A Reader reads frames from a stream. It is for use by one goroutine, and does not close its
// source.
//
// The end of a frame depends only on the bytes, never on how the source splits them. A frame ends
// at the first byte that makes its last line blank. If that byte is a CR, an LF may follow that
// belongs to it. The Reader cannot wait for it, because that would delay the event until the next
// one arrives; and if it took the LF only if it is already there, frames would depend on timing. So
// an LF after such a CR is always a frame of its own. A CRLF stream is read as "data: x\r\n\r",
// "\n", "data: y\r\n\r", "\n". The frame with only the LF has no data, and [Frame.AppendLF] adds
// nothing for it.
type Reader struct {
	src  io.Reader
	more Source // src if it is a Source, else nil
	max  int
	err  error // the error of the source or a TooLargeError; returned after all whole frames

	mem   *buffer // the memory of buf; nil before the first Read
	buf   []byte  // buf[start:end] was read and not returned yet
	start int     // beginning of the next frame
	line  int     // beginning of the line that contains scan
	scan  int     // buf[start:scan] has been searched; if whole, it is the next frame
	end   int
	ended int  // number of ended lines of the next frame
	cr    bool // one of them ended in a CR
	whole bool
	ends  lineEnds

	size    int  // size of the next Read: minBuffer or fastBuffer; always minBuffer for a Source
	drained bool // the last Read returned less than requested
	begun   bool // a frame was returned
	cutAtCR bool // and the last one ended in a CR
}

// NewReader returns a Reader of src. A frame of more than max bytes is an error, a *TooLargeError.
// If max <= 0, there is no limit.
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = math.MaxInt
	}
	more, _ := src.(Source)
	return &Reader{src: src, more: more, max: max, size: minBuffer}
}

// Next returns the next frame. The frame is valid until the next call of Next for which Ready is
// false. Next never waits for bytes after the frame.
//
// The error is io.EOF after a clean end, or the error of the source, a *TooLargeError or
// io.ErrNoProgress. All whole frames are returned before it. An unfinished frame at the end of the
// stream is returned together with the error, which then stays. A frame that is too large is not
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
	// At the end, keep only the error.
	r.release()
	r.whole = false
	return Frame{}, r.err
}

// Ready reports whether Next can return a whole frame without a Read from the source. A caller that
// writes frames should flush when Ready is false, because the next call may wait for a long time.
// The frames that Next returned are valid until then.
func (r *Reader) Ready() bool {
	return r.find() && !r.tooLarge()
}

// Ended reports whether the source has ended or failed, so that Next never waits again.
func (r *Reader) Ended() bool { return r.err != nil }

// Pos returns the position of the next frame, for Slice. It changes with each frame, and is valid
// until the next Read.
func (r *Reader) Pos() int { return r.start }

// Slice returns the bytes between two positions of Pos: frames that were returned, in one slice. It
// is valid as long as they are, and may be overwritten when they are not used any more.
func (r *Reader) Slice(from, to int) []byte { return r.buf[from:to:to] }

// Ahead returns the bytes that were read and not returned yet, up to the first CR.
func (r *Reader) Ahead() []byte {
	b := r.buf[:r.end]
	if r.ends.cr <= r.start {
		r.ends.cr = r.start + index(b[r.start:], '\r') + 1
	}
	return b[r.start : r.ends.cr-1]
}

// Skip skips the first n bytes of Ahead, which must be whole frames, as if Next had returned them.
func (r *Reader) Skip(n int) {
	r.start += n
	r.begun, r.cutAtCR = true, false
	if r.start >= r.scan {
		r.line, r.scan, r.ended, r.cr, r.whole = r.start, r.start, 0, false, false
	}
}

// find searches the new bytes for the end of the next frame, and reports whether there is one.
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
		// The LF of a CRLF is not a line end of its own, unless the CR is in the previous frame.
		inCRLF := b[at] == '\n' && at > r.start && b[at-1] == '\r'
		r.whole = at == r.line && !inCRLF
		if !r.whole {
			r.line = r.scan
			r.ended++
		}
	}
	return true
}

// tooLarge reports whether the next frame exceeds max. It is called after find, so that the error
// does not depend on how the frame arrives.
func (r *Reader) tooLarge() bool { return r.scan-r.start > r.max }

// take returns the searched bytes: a whole frame, or the rest of the stream.
func (r *Reader) take() Frame {
	raw := r.buf[r.start:r.scan:r.scan]
	f := Frame{Raw: raw, first: !r.begun, half: r.cutAtCR && raw[0] == '\n', single: r.whole && r.ended == 1 && !r.cr && r.begun}
	r.begun, r.cutAtCR = true, raw[len(raw)-1] == '\r'
	r.start, r.line, r.ended, r.cr, r.whole = r.scan, r.scan, 0, false, false
	return f
}

// fill reads once, and then all bytes that are already available. It is called if the buffer has no
// whole frame.
func (r *Reader) fill() {
	poison.Bytes(r.buf[:r.start])
	if r.more != nil && r.drained && r.more.More() == 0 {
		if r.start == r.end {
			r.release() // the wait may last an hour
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

// release frees the buffer, which must be empty.
func (r *Reader) release() {
	giveBack(r.mem)
	r.mem, r.buf, r.start, r.line, r.scan, r.end, r.ends = nil, nil, 0, 0, 0, 0, lineEnds{}
}

// makeRoom moves the pending bytes into a buffer of at least the given size with room after them.
// It also replaces a buffer that is much too large, because the next Read may wait for an hour.
func (r *Reader) makeRoom(size int) {
	pending := r.buf[r.start:r.end]
	for size-len(pending) < minSpace {
		size = larger(size)
	}
	if size-minBuffer > r.max {
		size = r.max + minBuffer
	}
	if len(r.buf) < size || len(r.buf) >= growth*size {
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

// read reads once into the free part of the buffer.
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
	case r.more != nil: // it knows itself when it has more
	case n == len(space): // there is more; a larger Read saves a system call here and a Write at the caller
		r.size = fastBuffer
	case n < minBuffer:
		r.size = minBuffer
	}
}
