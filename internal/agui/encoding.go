package agui

import "bytes"

// A Beginning says what the first bytes of a body show about the encoding of the body.
type Beginning int

// OtherEncoding means that the body is a JSON object in another encoding than plain UTF-8.
// PlainEncoding means that it is not. UndecidedEncoding means that more bytes of the body are
// needed.
const (
	PlainEncoding Beginning = iota
	OtherEncoding
	UndecidedEncoding
)

// ObjectElsewhere returns whether body begins a JSON object in an encoding other than plain UTF-8
// that Python's json.loads detects (json.detect_encoding: UTF-8 with a byte order mark, UTF-16,
// UTF-32). A Python backend would read such a body as a run.
func ObjectElsewhere(body []byte) Beginning {
	switch {
	case bytes.HasPrefix(body, []byte{0, 0, 0xfe, 0xff}), bytes.HasPrefix(body, []byte{0xff, 0xfe, 0, 0}):
		return firstIsBrace(body[4:], 4)
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}), bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		return firstIsBrace(body[2:], 2)
	case bytes.HasPrefix(body, []byte{0xef, 0xbb, 0xbf}):
		return firstIsBrace(body[3:], 1)
	case len(body) >= 4 && body[0] == 0 && body[1] == 0, len(body) >= 4 && body[1] == 0 && body[2] == 0 && body[3] == 0:
		return firstIsBrace(body, 4)
	case len(body) >= 2 && (body[0] == 0 || body[1] == 0):
		return firstIsBrace(body, 2)
	}
	return PlainEncoding
}

// firstIsBrace returns whether the first character that is not JSON white space is an opening
// brace. Each character has width bytes, in either byte order.
func firstIsBrace(b []byte, width int) Beginning {
	for ; len(b) >= width; b = b[width:] {
		var c byte
		others := 0
		for _, x := range b[:width] {
			if x != 0 {
				c = x
				others++
			}
		}
		switch {
		case others != 1:
			return PlainEncoding
		case c == '{':
			return OtherEncoding
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			return PlainEncoding
		}
	}
	return UndecidedEncoding
}
