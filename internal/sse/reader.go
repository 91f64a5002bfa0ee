// Package sse splits a server-sent event stream into frames without changing a byte. The frames of
// a [Reader], joined in order, are its input.
//
// The package does not interpret events. It remembers no last event id, never reconnects and
// repairs nothing. [Frame] has the methods that a proxy needs for a single event: they return its
// data, its bytes with LF line ends, and the other lines of the frame if the event is replaced.
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
	minSpace      = 1 << 10 // the smallest size of one Read
	maxEmptyReads = 100     // the same number as in package bufio
)

// A Source is an io.Reader that knows whether it has more bytes. For any other io.Reader, the
// Reader estimates the size of the next Read from the previous ones, and needs a buffer while it
// waits.
type Source interface {
	io.Reader
	// More returns how many bytes a Read can request without waiting, or 0 if that is unknown. A
	// Read that requests more may delay bytes that have arrived, because net/http fills a Read from
	// a chunk before it returns.
	More() int
	// Wait returns when a Read would not have to wait. It is called only after a Read has returned
	// fewer bytes than requested, so all bytes that had arrived have been read.
	Wait()
}

// A TooLargeError means that a frame is longer than its Reader allows.
type TooLargeError struct {
	Max int // the largest size that the Reader allows, in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf(textFrameTooLarge, e.Max)
}

// A Reader reads frames from a stream. It is for use by one goroutine, and does not close its
// source.
//
// The end of a frame depends only on the bytes of the stream, never on how the source splits them.
// A frame ends at the first byte that makes its last line blank. If that byte is a CR, the next
// byte may be an LF that belongs to the same line end. The Reader cannot wait for that LF, because
// this would delay the event until the next one arrives. If the Reader added the LF only when it
// has already arrived, frames would depend on timing. So an LF after such a CR is always a frame of
// its own. A CRLF stream is read as the frames "data: x\r\n\r", "\n", "data: y\r\n\r", "\n". A
// frame that is only an LF has no data, and [Frame.AppendLF] appends nothing for it.
type Reader struct {
	src  io.Reader
	more Source // src if it is a Source, otherwise nil
	max  int
	err  error // the source's error or a TooLargeError; returned after all complete frames

	mem   *buffer // the memory of buf; nil before the first Read
	buf   []byte  // buf[start:end] are the bytes that were read and not returned yet
	start int     // the beginning of the next frame
	line  int     // the beginning of the line that contains scan
	scan  int     // buf[start:scan] is searched; if whole is true, it is the next frame
	end   int
	ended int  // how many lines of the next frame have ended
	cr    bool // one of these lines ended in a CR
	whole bool
	ends  lineEnds

	size             int  // size of the next Read: minBuffer or fastBuffer; always minBuffer for a Source
	wasShortRead     bool // the last Read returned fewer bytes than requested
	hasReturnedFrame bool // a frame was returned
	cutAtCR          bool // the last returned frame ended in a CR
}

// NewReader returns a Reader of src. For a frame of more than max bytes, Next returns a
// *TooLargeError. If max <= 0, there is no limit.
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = math.MaxInt
	}
	more, _ := src.(Source)
	return &Reader{src: src, more: more, max: max, size: minBuffer}
}

// Next returns the next frame. The frame is valid until Next is called while Ready is false. Next
// never waits for bytes after the frame.
//
// The error is io.EOF after a clean end, or the error of the source, a *TooLargeError or
// io.ErrNoProgress. All complete frames are returned before the error. If the stream ends within a
// frame, that unfinished frame is returned together with the error, and each later call returns the
// same error. A frame that is too large is not returned.
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
	// At the end, only the error is still needed.
	r.release()
	r.whole = false
	return Frame{}, r.err
}

// Ready reports whether Next can return a complete frame without a Read from the source. A caller
// that writes frames should flush when Ready is false, because the next call of Next may wait for a
// long time. The frames that Next has returned are valid until that call.
func (r *Reader) Ready() bool {
	return r.find() && !r.tooLarge()
}

// Ended reports whether the source has ended or failed, so that Next never waits again.
func (r *Reader) Ended() bool { return r.err != nil }

// Pos returns the position of the next frame in the buffer, for Slice. It changes with each frame,
// and is valid until the next Read from the source.
func (r *Reader) Pos() int { return r.start }

// Slice returns the bytes from the position from to the position to, which Pos has returned. They
// are several returned frames in one slice. The slice is valid as long as these frames are. A
// caller that needs the frames no more may overwrite it.
func (r *Reader) Slice(from, to int) []byte { return r.buf[from:to:to] }

// Buffered returns the bytes that were read from the source and not returned yet, up to the first
// CR.
func (r *Reader) Buffered() []byte {
	b := r.buf[:r.end]
	if r.ends.cr <= r.start {
		r.ends.cr = r.start + index(b[r.start:], '\r') + 1
	}
	return b[r.start : r.ends.cr-1]
}

// Skip skips the first n bytes of Buffered, as if Next had returned them. They must be complete
// frames.
func (r *Reader) Skip(n int) {
	r.start += n
	r.hasReturnedFrame, r.cutAtCR = true, false
	if r.start >= r.scan {
		r.line, r.scan, r.ended, r.cr, r.whole = r.start, r.start, 0, false, false
	}
}

// find searches the bytes that were not searched yet for the end of the next frame. It reports
// whether the buffer contains a complete frame.
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
		// The LF of a CRLF is not a second line end, unless its CR is in the previous frame.
		inCRLF := b[at] == '\n' && at > r.start && b[at-1] == '\r'
		r.whole = at == r.line && !inCRLF
		if !r.whole {
			r.line = r.scan
			r.ended++
		}
	}
	return true
}

// tooLarge reports whether the next frame exceeds max. It must be called after find. Then the
// result does not depend on how the source splits the frame.
func (r *Reader) tooLarge() bool { return r.scan-r.start > r.max }

// take returns the searched bytes as a frame: a complete frame, or the rest of the stream.
func (r *Reader) take() Frame {
	raw := r.buf[r.start:r.scan:r.scan]
	f := Frame{Raw: raw, isFirst: !r.hasReturnedFrame, isLoneLF: r.cutAtCR && raw[0] == '\n', isSingleLine: r.whole && r.ended == 1 && !r.cr && r.hasReturnedFrame}
	r.hasReturnedFrame, r.cutAtCR = true, raw[len(raw)-1] == '\r'
	r.start, r.line, r.ended, r.cr, r.whole = r.scan, r.scan, 0, false, false
	return f
}

// fill waits for bytes and reads once. If src is a Source, it then reads all bytes that are already
// available. It is called if the buffer contains no complete frame.
func (r *Reader) fill() {
	poison.Bytes(r.buf[:r.start])
	if r.more != nil && r.wasShortRead && r.more.More() == 0 {
		if r.start == r.end {
			r.release() // so that no buffer is in use during a wait that may last an hour
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

// release gives the buffer back. It must contain no bytes that were not returned yet.
func (r *Reader) release() {
	giveBack(r.mem)
	r.mem, r.buf, r.start, r.line, r.scan, r.end, r.ends = nil, nil, 0, 0, 0, 0, lineEnds{}
}

// makeRoom moves the bytes that were not returned yet to the beginning of a buffer of at least the
// given size, with free room after them. It also replaces a buffer that is much too large by a
// smaller one, because the next Read may wait for an hour.
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
	r.wasShortRead = n < len(space)
	switch {
	case r.more != nil: // a Source itself says how much a Read can return
	case n == len(space): // more bytes wait; a larger Read saves system calls
		r.size = fastBuffer
	case n < minBuffer:
		r.size = minBuffer
	}
}
