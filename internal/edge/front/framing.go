package front

import (
	"bytes"
	"strconv"
)

// framing parses the requests of an HTTP/1 connection byte by byte. It finds requests whose length
// two servers could compute differently (RFC 9112, section 6.1). A handler cannot do this, because
// net/http removes the Content-Length of a chunked request before the handler sees it.
//
// framing checks only requests that net/http accepts. If net/http refuses a request, it closes the
// connection, and the bytes after that request do not matter.
type framing struct {
	state func(*framing, byte) // parses the next byte; nil if parsing has stopped
	// the current line; if it is long, only its first maxLine and its last lineTail bytes
	line            []byte
	lineIsShortened bool // the current line was shortened
	inFields        bool // the request line is complete
	isHTTP10        bool // the request is HTTP/1.0
	isHTTP2Preface  bool // the request line is HTTP/2's preface (PRI), and no header field has followed

	hasLength      bool   // the header has Content-Length
	size           int64  // the value of Content-Length
	hasBadLength   bool   // Content-Length is not a number, or two of them differ
	hasCoding      bool   // the header has Transfer-Encoding
	hasFoldedField bool   // a header field continues on a second line
	remaining      int64  // how many bytes of the body or of the chunk are still to be read
	hasBegun       bool   // at least one byte of the current request was read
	hasLongField   bool   // Content-Length or Transfer-Encoding has more than maxLine bytes
	refusal        string // why the request is refused, or ""
}

const (
	// maxLine is how many bytes of the beginning of a line are stored. The header names and values
	// that framing reads are shorter, unless someone makes them long in order to hide them.
	maxLine = 256
	// lineTail is how many bytes of the end of a longer line are stored as well. They are needed
	// because a request line ends with the version.
	lineTail = len(" HTTP/1.0\r")
)

func newFraming() framing { return framing{state: (*framing).parseHead} }

// parse parses bytes that were read from the connection. It returns how many of them net/http may
// see: all bytes, or those up to the end of the header of the first request that is refused.
func (f *framing) parse(p []byte) int {
	for n := 0; n < len(p) && f.state != nil; {
		if f.remaining > 0 { // skip the body in one step
			skip := int(min(f.remaining, int64(len(p)-n)))
			f.remaining -= int64(skip)
			n += skip
			continue
		}
		f.state(f, p[n])
		n++
		if f.refusal != "" {
			return n
		}
	}
	return len(p)
}

// inHead reports whether a part of a request's header was read, but not all of it.
func (f *framing) inHead() bool { return f.state != nil && f.hasBegun }

// lineEnd adds a byte to the current line. It returns true at the end of the line.
func (f *framing) lineEnd(c byte) bool {
	if c == '\n' {
		f.line = bytes.TrimSuffix(f.line, []byte("\r"))
		return true
	}
	if len(f.line) < maxLine+lineTail {
		f.line = append(f.line, c)
	} else {
		f.lineIsShortened = true
		tail := f.line[maxLine:]
		copy(tail, tail[1:])
		tail[lineTail-1] = c
	}
	return false
}

func (f *framing) nextLine() { f.line, f.lineIsShortened = f.line[:0], false }

// parseHead parses one byte of a request's header.
func (f *framing) parseHead(c byte) {
	f.hasBegun = true
	if !f.lineEnd(c) {
		return
	}
	defer f.nextLine()
	switch {
	case !f.inFields && len(f.line) == 0 && !f.lineIsShortened:
		f.hasBegun = false // an empty line before a request
	case !f.inFields:
		f.parseRequestLine()
	case len(f.line) > 0:
		f.parseField()
	default:
		f.endHead()
	}
}

func (f *framing) parseRequestLine() {
	f.isHTTP2Preface = bytes.Equal(f.line, []byte("PRI * HTTP/2.0"))
	f.inFields = true
	f.isHTTP10 = bytes.HasSuffix(f.line, []byte(" HTTP/1.0"))
}

func (f *framing) parseField() {
	f.isHTTP2Preface = false
	if f.line[0] == ' ' || f.line[0] == '\t' {
		f.hasFoldedField = true
		return
	}
	name, value, _ := bytes.Cut(f.line, []byte(":"))
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		size, err := strconv.ParseUint(string(bytes.Trim(value, " \t")), 10, 63)
		f.hasBadLength = f.hasBadLength || err != nil || f.hasLength && int64(size) != f.size
		f.hasLongField = f.hasLongField || f.lineIsShortened
		f.hasLength, f.size = true, int64(size)
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		f.hasLongField = f.hasLongField || f.lineIsShortened
		f.hasCoding = true
	}
}

// endHead runs at the end of the header. It decides whether the request is refused, and otherwise
// how the bytes of its body are parsed.
func (f *framing) endHead() {
	switch {
	case f.hasCoding && f.hasLength:
		f.refusal = textTwoLengths
	case f.hasCoding && f.isHTTP10:
		f.refusal = textOldChunked
	case f.hasFoldedField:
		f.refusal = textFolded
	case f.hasLongField:
		f.refusal = textLongLength
	case f.hasBadLength, // net/http answers 400 and closes the connection
		f.isHTTP2Preface: // HTTP/2 frames state their length only once; if HTTP/2 is off, net/http closes
		f.state = nil
	case f.hasCoding:
		f.state = (*framing).parseChunk
	case f.hasLength:
		f.remaining = f.size
	}
	if f.refusal != "" {
		f.state = nil
	}
	f.inFields, f.isHTTP10, f.isHTTP2Preface, f.hasLength, f.hasBadLength, f.hasCoding, f.hasFoldedField, f.hasLongField, f.hasBegun = false, false, false, false, false, false, false, false, false
}

// parseChunk parses the line before a chunk, which contains the chunk's size. The chunk and the
// newline after it are then skipped in the same way as a body.
func (f *framing) parseChunk(c byte) {
	if !f.lineEnd(c) {
		return
	}
	defer f.nextLine()
	text, _, _ := bytes.Cut(f.line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.Trim(text, " \t")), 16, 62)
	switch {
	case err != nil:
		f.state = nil // net/http answers 400 and closes the connection
	case size == 0:
		f.state = (*framing).parseTrailer
	default:
		f.remaining = int64(size) + 2
	}
}

// parseTrailer parses the lines after the last chunk, up to the empty line.
func (f *framing) parseTrailer(c byte) {
	if !f.lineEnd(c) {
		return
	}
	if len(f.line) == 0 && !f.lineIsShortened {
		f.state = (*framing).parseHead
	}
	f.nextLine()
}
