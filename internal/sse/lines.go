package sse

import (
	"bytes"
	"iter"
)

// lineEnds finds the line ends of a slice in order. It searches for LF and CR separately, because
// bytes.IndexByte is many times faster than one search for both. It remembers the next position of
// LF and of CR. Otherwise, at each LF of a stream without CR, it would search the whole stream for
// a CR. The zero value is ready for use. A lineEnds must be used for one slice only.
type lineEnds struct {
	lf, cr int // the index of the next LF or CR, plus one; 0 at the start
}

// next returns the index of the first CR or LF at or after the index from. If there is none, it
// returns len(b).
func (e *lineEnds) next(b []byte, from int) int {
	if from < len(b) && b[from] == '\n' { // true for the blank line of most frames
		return from
	}
	if e.lf <= from {
		e.lf = from + index(b[from:], '\n') + 1
	}
	if e.cr <= from {
		e.cr = from + index(b[from:], '\r') + 1
	}
	return min(e.lf, e.cr) - 1
}

func index(b []byte, c byte) int {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return i
	}
	return len(b)
}

// lines yields the lines of b without their line ends. It also yields an unfinished last line.
func lines(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var ends lineEnds
		for i := 0; i < len(b); {
			end := ends.next(b, i)
			if !yield(b[i:end:end]) {
				return
			}
			i = end + 1
			if i < len(b) && b[end] == '\r' && b[i] == '\n' {
				i++
			}
		}
	}
}
