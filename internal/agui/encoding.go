package agui

import "bytes"

// IsObjectElsewhere says whether body is a JSON object in another encoding than plain UTF-8 that Python's json.loads
// detects (json.detect_encoding: UTF-8 with a mark, UTF-16, UTF-32): a Python backend would read it as a run.
func IsObjectElsewhere(body []byte) bool {
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
	return false
}

// firstIsBrace says whether the first character of width bytes that is no JSON white space is a brace, in either
// byte order.
func firstIsBrace(b []byte, width int) bool {
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
			return false
		case c == '{':
			return true
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			return false
		}
	}
	return false
}
