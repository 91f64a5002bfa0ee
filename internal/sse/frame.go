package sse

import "bytes"

// A Frame is one block of a stream with its blank line, or the unfinished rest at the stream's end.
// It may hold an event, only comments and other fields, or nothing but a line end. Frame{Raw: b} is
// a frame for a block from elsewhere.
type Frame struct {
	// Raw is every byte of the frame as it came. It belongs to the Reader and is valid until the
	// next call of Next. Its capacity ends with it, so an append copies.
	Raw []byte

	first bool // of its stream: only here a byte order mark is one, elsewhere it spoils a field's name
	half  bool // the LF of a CRLF whose CR ended the frame before

	single bool // one line and the blank one, both ended by LF: what nearly all frames are, and nothing has to be searched
}

// Data returns the frame's data: the values of its data lines, joined by LF. ok is false if it has
// no data line. The value of a single data line is a part of Raw. Several are joined in buf[:0],
// which grows if it must. Do not keep data as the buf of a later call, because that call could
// write into the Reader's memory.
func (f Frame) Data(buf []byte) (data []byte, ok bool) {
	if f.single {
		return dataValue(f.Raw[: len(f.Raw)-2 : len(f.Raw)-2])
	}
	joined := buf[:0]
	n := 0
	for line := range lines(f.text()) {
		value, ok := dataValue(line)
		if !ok {
			continue
		}
		n++
		if n == 1 {
			data = value
			continue
		}
		if n == 2 {
			joined = append(joined, data...)
		}
		joined = append(joined, '\n')
		joined = append(joined, value...)
	}
	if n > 1 {
		data = joined
	}
	return data, n > 0
}

// HasCR reports whether AppendLF would append something other than Raw.
func (f Frame) HasCR() bool {
	return !f.single && (f.half || bytes.IndexByte(f.Raw, '\r') >= 0 || len(f.text()) < len(f.Raw))
}

// AppendLF appends the frame with each line end turned to LF and nothing else changed. Over all
// frames of a Reader, one after another, it gives the stream with LF line ends. It drops the byte
// order mark: after anything that a proxy writes, even a comment, the mark would be part of the
// first line.
func (f Frame) AppendLF(dst []byte) []byte {
	if f.half {
		return dst
	}
	b := f.text()
	for {
		i := bytes.IndexByte(b, '\r')
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		dst = append(dst, '\n')
		b = bytes.TrimPrefix(b[i+1:], []byte("\n"))
	}
}

// AppendOther appends the frame's comments and its fields other than data, without the blank line.
// Each line ends in LF. This is what stays in front when the frame's event is replaced.
func (f Frame) AppendOther(dst []byte) []byte {
	text := f.text()
	if end := len(text) - len("\n\n"); end >= 0 && string(text[end:]) == "\n\n" && bytes.IndexByte(text, '\n') == end {
		if _, ok := dataValue(text[:end]); ok && bytes.IndexByte(text, '\r') < 0 {
			return dst // there is one line
		}
	}
	for line := range lines(text) {
		if _, ok := dataValue(line); ok || len(line) == 0 {
			continue
		}
		dst = append(dst, line...)
		dst = append(dst, '\n')
	}
	return dst
}

// AppendComments appends the frame's comments, each ended by LF, and a blank line behind them. It
// appends nothing if there are none.
func (f Frame) AppendComments(dst []byte) []byte {
	n := len(dst)
	for line := range lines(f.text()) {
		if len(line) > 0 && line[0] == ':' {
			dst = append(dst, line...)
			dst = append(dst, '\n')
		}
	}
	if len(dst) > n {
		dst = append(dst, '\n')
	}
	return dst
}

// Name returns the frame's event field, a part of Raw. It is the last one if there are several, and
// nil if there is none.
func (f Frame) Name() (name []byte) {
	for line := range lines(f.text()) {
		if value, ok := fieldValue(line, "event"); ok {
			name = value
		}
	}
	return name
}

// AppendEvent appends a frame with json as its data. A line end in json begins a further data line,
// so no input can break the framing. To a JSON parser it is white space between tokens, as before.
func AppendEvent(dst, json []byte) []byte {
	if bytes.IndexByte(json, '\n') < 0 && bytes.IndexByte(json, '\r') < 0 {
		dst = append(dst, "data: "...)
		dst = append(dst, json...)
		return append(dst, "\n\n"...)
	}
	for line := range lines(json) {
		dst = append(dst, "data: "...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
	}
	return append(dst, '\n')
}

// text is Raw without the byte order mark that may begin a stream.
func (f Frame) text() []byte {
	if f.first {
		return bytes.TrimPrefix(f.Raw, []byte("\ufeff"))
	}
	return f.Raw
}

func dataValue(line []byte) (value []byte, ok bool) { return fieldValue(line, "data") }

// fieldValue returns the value of a line that sets the named field. Names of fields are
// case-sensitive. One space after the colon does not belong to the value.
func fieldValue(line []byte, name string) (value []byte, ok bool) {
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return nil, false
	}
	value = line[len(name):]
	if len(value) == 0 {
		return value, true
	}
	if value[0] != ':' {
		return nil, false
	}
	return bytes.TrimPrefix(value[1:], []byte(" ")), true
}
