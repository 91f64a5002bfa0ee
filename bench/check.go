package main

import (
	"bytes"
	"fmt"
)

// restBytes is the maximum number of bytes after that part of the stream which is known byte by
// byte.
const restBytes = 1 << 20

// A checker compares a stream with the expected stream while it arrives.
type checker struct {
	parts          []part // the expected parts; the checker's own copies
	checkPause     func(rest []byte) error
	allowsComments bool // Holdpoint may send comments between frames

	partIndex, cycle, pos int // the next byte must be parts[partIndex].bytes[pos], in repetition cycle
	frames                int // number of frames in complete repetitions
	matched               int // number of bytes that matched
	comment               []byte
	rest                  []byte
}

func newChecker(s script, f form) *checker {
	c := &checker{parts: s.parts(f), allowsComments: f == formRewritten}
	if f == formRewritten {
		c.checkPause = s.checkPause
	}
	c.nextRepetition()
	return c
}

// nextRepetition moves to the next repetition of a part, or to the next part.
func (c *checker) nextRepetition() {
	for c.partIndex < len(c.parts) && (c.cycle == c.parts[c.partIndex].times || len(c.parts[c.partIndex].bytes) == 0) {
		c.partIndex, c.cycle = c.partIndex+1, 0
	}
	c.pos = 0
	if c.partIndex < len(c.parts) {
		c.parts[c.partIndex].setNumber(c.cycle)
	}
}

// Write compares the next bytes of the stream with the expected bytes. It returns an error if they
// differ.
func (c *checker) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if c.allowsComments && (len(c.comment) > 0 || rest[0] == ':' && c.isBetweenFrames(c.pos)) {
			rest = c.skipComment(rest)
			continue
		}
		if c.partIndex == len(c.parts) {
			if c.checkPause == nil {
				return 0, fmt.Errorf("after the end (frame %d): %.100q", c.frames, rest)
			}
			if c.rest = append(c.rest, rest...); len(c.rest) > restBytes {
				return 0, fmt.Errorf("more than %d bytes after frame %d: %.100q", restBytes, c.frames, c.rest)
			}
			return len(p), nil
		}
		want := c.parts[c.partIndex].bytes[c.pos:]
		n := min(len(rest), len(want))
		if !bytes.Equal(rest[:n], want[:n]) {
			n = commonPrefix(rest, want)
			if !c.allowsComments || rest[n] != ':' || !c.isBetweenFrames(c.pos+n) {
				return 0, c.differenceError(rest, want, n)
			}
		}
		rest, c.pos, c.matched = rest[n:], c.pos+n, c.matched+n
		if n == len(want) {
			c.frames += c.parts[c.partIndex].frames
			c.cycle++
			c.nextRepetition()
		}
	}
	return len(p), nil
}

// commonPrefix returns the length of the common beginning of two slices, which must differ within
// their common length.
func commonPrefix(a, b []byte) int {
	n := 0
	for a[n] == b[n] {
		n++
	}
	return n
}

// isBetweenFrames reports whether the offset pos in the current part is between two frames.
func (c *checker) isBetweenFrames(pos int) bool {
	if c.partIndex == len(c.parts) {
		return len(c.rest) == 0 || bytes.HasSuffix(c.rest, []byte("\n\n"))
	}
	return pos == 0 || bytes.HasSuffix(c.parts[c.partIndex].bytes[:pos], []byte("\n\n"))
}

// skipComment reads a comment and returns the bytes after it. Holdpoint sends comments to a client
// that would otherwise get nothing for a long time.
func (c *checker) skipComment(p []byte) (rest []byte) {
	for n, b := range p {
		c.comment = append(c.comment, b)
		if bytes.HasSuffix(c.comment, []byte("\n\n")) {
			c.comment = c.comment[:0]
			return p[n+1:]
		}
	}
	return nil
}

// differenceError returns an error that shows the bytes that arrived and the expected bytes. The
// first n bytes of both are equal.
func (c *checker) differenceError(got, want []byte, n int) error {
	frame := c.frames + bytes.Count(c.parts[c.partIndex].bytes[:c.pos+n], []byte("\n\n"))
	from := max(n-40, 0)
	return fmt.Errorf("frame %d: %.100q, want %.100q", frame, got[from:], want[from:])
}

// checkComplete returns an error if the stream is not complete.
func (c *checker) checkComplete() error {
	if c.partIndex < len(c.parts) {
		return fmt.Errorf("the stream ended within frame %d", c.frames+bytes.Count(c.parts[c.partIndex].bytes[:c.pos], []byte("\n\n")))
	}
	if c.checkPause != nil {
		return c.checkPause(c.rest)
	}
	return nil
}
