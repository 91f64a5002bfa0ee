package front

import (
	"bytes"
	"strconv"
)

// framing follows the requests of an HTTP/1 connection, byte by byte, to find those whose length
// two servers could see differently (RFC 9112, section 6.1). net/http takes the Content-Length of a
// chunked request away before a handler sees it, so that a handler cannot refuse it.
//
// It judges only what net/http takes. What that refuses ends the connection, and what is found
// behind it concerns nobody.
type framing struct {
	state  func(*framing, byte) // nil: it does not follow this connection any more
	line   []byte               // the line at hand, up to maxLine of it
	long   bool                 // it is longer
	fields bool                 // the request line has come
	old    bool                 // it says HTTP/1.0
	second bool                 // it is that of HTTP/2, and no field has followed

	length  bool   // Content-Length stands there
	size    int64  // what it says
	wrong   bool   // it says no number, or two
	coding  bool   // Transfer-Encoding stands there
	folded  bool   // a line goes on in the next one
	left    int64  // of the body, or of a chunk
	begun   bool   // a byte of the request at hand has come
	stretch bool   // one of the two has more than maxLine bytes
	refused string // why the connection is not followed, "" if nothing is wrong
}

const (
	// maxLine is how much of a line is looked at. The names and the values that count are shorter,
	// unless somebody hides them.
	maxLine = 256
	// lineTail is how much of a longer line's end is kept: its request line ends with the version.
	lineTail = len(" HTTP/1.0\r")
)

func newFraming() framing { return framing{state: (*framing).head} }

// follow looks at what was read. It returns how many of the bytes belong to requests that are in
// order, and the header of the first that is not.
func (f *framing) follow(p []byte) int {
	for n := 0; n < len(p) && f.state != nil; {
		if f.left > 0 { // a body, in one step
			skip := int(min(f.left, int64(len(p)-n)))
			f.left -= int64(skip)
			n += skip
			continue
		}
		f.state(f, p[n])
		n++
		if f.refused != "" {
			return n
		}
	}
	return len(p)
}

// inHead reports whether a part of a request's header has come, and the rest has not.
func (f *framing) inHead() bool { return f.state != nil && f.begun }

// lineEnd collects a line. It returns true at its end.
func (f *framing) lineEnd(c byte) bool {
	if c == '\n' {
		f.line = bytes.TrimSuffix(f.line, []byte("\r"))
		return true
	}
	if len(f.line) < maxLine+lineTail {
		f.line = append(f.line, c)
	} else {
		f.long = true
		tail := f.line[maxLine:]
		copy(tail, tail[1:])
		tail[lineTail-1] = c
	}
	return false
}

func (f *framing) nextLine() { f.line, f.long = f.line[:0], false }

// head reads the header of a request.
func (f *framing) head(c byte) {
	f.begun = true
	if !f.lineEnd(c) {
		return
	}
	defer f.nextLine()
	switch {
	case !f.fields && len(f.line) == 0 && !f.long:
		f.begun = false // an empty line before a request
	case !f.fields:
		f.requestLine()
	case len(f.line) > 0:
		f.field()
	default:
		f.headEnd()
	}
}

func (f *framing) requestLine() {
	f.second = bytes.Equal(f.line, []byte("PRI * HTTP/2.0"))
	f.fields = true
	f.old = bytes.HasSuffix(f.line, []byte(" HTTP/1.0"))
}

func (f *framing) field() {
	f.second = false
	if f.line[0] == ' ' || f.line[0] == '\t' {
		f.folded = true
		return
	}
	name, value, _ := bytes.Cut(f.line, []byte(":"))
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		size, err := strconv.ParseUint(string(bytes.Trim(value, " \t")), 10, 63)
		f.wrong = f.wrong || err != nil || f.length && int64(size) != f.size
		f.stretch = f.stretch || f.long
		f.length, f.size = true, int64(size)
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		f.stretch = f.stretch || f.long
		f.coding = true
	}
}

// headEnd says what follows the header.
func (f *framing) headEnd() {
	switch {
	case f.coding && f.length:
		f.refused = "Content-Length and Transfer-Encoding stand together"
	case f.coding && f.old:
		f.refused = "Transfer-Encoding stands in a request of HTTP/1.0"
	case f.folded:
		f.refused = "a header goes on in a second line"
	case f.stretch:
		f.refused = "Content-Length or Transfer-Encoding has hundreds of bytes"
	case f.wrong, // net/http answers 400 and closes
		f.second: // HTTP/2 has frames, and no two lengths; where it is not taken, net/http closes
		f.state = nil
	case f.coding:
		f.state = (*framing).chunk
	case f.length:
		f.left = f.size
	}
	if f.refused != "" {
		f.state = nil
	}
	f.fields, f.old, f.second, f.length, f.wrong, f.coding, f.folded, f.stretch, f.begun = false, false, false, false, false, false, false, false, false
}

// chunk reads the line before a chunk. The chunk and the end of its last line are skipped.
func (f *framing) chunk(c byte) {
	if !f.lineEnd(c) {
		return
	}
	defer f.nextLine()
	text, _, _ := bytes.Cut(f.line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.Trim(text, " \t")), 16, 62)
	switch {
	case err != nil:
		f.state = nil // net/http answers 400 and closes
	case size == 0:
		f.state = (*framing).trailer
	default:
		f.left = int64(size) + 2
	}
}

// trailer reads up to the empty line.
func (f *framing) trailer(c byte) {
	if !f.lineEnd(c) {
		return
	}
	if len(f.line) == 0 && !f.long {
		f.state = (*framing).head
	}
	f.nextLine()
}
