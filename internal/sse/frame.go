package sse

import "bytes"

// A Frame is one block of a stream with the blank line after it, or the unfinished block at the end
// of the stream. It may contain an event, only comments and other fields, or only a line end. For a
// block from another source than a Reader, use Frame{Raw: b}.
type Frame struct {
	// Raw contains every byte of the frame, unchanged. It belongs to the Reader and is valid until
	// the next call of Next. The capacity of Raw equals its length, so an append copies it.
	Raw []byte

	isFirst  bool // the first frame of its stream, which may begin with a byte order mark
	isLoneLF bool // the frame is only the LF of a CRLF whose CR ended the previous frame

	isSingleLine bool // one line and a blank line, both ended by LF, as in nearly all frames
}

// Data returns the frame's data: the values of its data lines, joined by LF. ok is false if the
// frame has no data line. If there is one data line, data is a part of Raw. If there are several,
// their values are joined in buf[:0], which grows if necessary. Do not pass the result as buf to a
// later call, because that call could then write into the Reader's memory.
func (f Frame) Data(buf []byte) (data []byte, ok bool) {
	if f.isSingleLine {
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

// HasCR reports whether the result of AppendLF differs from Raw.
func (f Frame) HasCR() bool {
	return !f.isSingleLine && (f.isLoneLF || bytes.IndexByte(f.Raw, '\r') >= 0 || len(f.text()) < len(f.Raw))
}

// AppendLF appends the frame to dst, with each line end replaced by LF. Called for all frames of a
// Reader in order, it produces the whole stream with LF line ends. It omits the byte order mark. If
// a proxy writes something else first, even a comment, the mark would become a part of the next
// line.
func (f Frame) AppendLF(dst []byte) []byte {
	if f.isLoneLF {
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

// AppendOther appends the frame's comments, and its fields other than data, to dst. It omits the
// blank line. Each line ends in LF. Use AppendOther to preserve these lines when the event of the
// frame is replaced.
func (f Frame) AppendOther(dst []byte) []byte {
	text := f.text()
	if end := len(text) - len("\n\n"); end >= 0 && string(text[end:]) == "\n\n" && bytes.IndexByte(text, '\n') == end {
		if _, ok := dataValue(text[:end]); ok && bytes.IndexByte(text, '\r') < 0 {
			return dst // there is only one line, and it is a data line
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

// AppendComments appends the frame's comments to dst. Each comment ends in LF, and a blank line
// follows them. If the frame has no comments, AppendComments appends nothing.
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

// Name returns the value of the frame's last event field, or nil if there is none. The value is a
// part of Raw.
func (f Frame) Name() (name []byte) {
	for line := range lines(f.text()) {
		if value, ok := fieldValue(line, "event"); ok {
			name = value
		}
	}
	return name
}

// AppendEvent appends a frame to dst whose data are json. At a line end in json a new data line
// begins, so no input can break the framing. A reader joins the data lines by LF, which a JSON
// parser reads as white space between tokens.
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

// text returns Raw without the byte order mark, with which a stream may begin.
func (f Frame) text() []byte {
	if f.isFirst {
		return bytes.TrimPrefix(f.Raw, []byte("\ufeff"))
	}
	return f.Raw
}

func dataValue(line []byte) (value []byte, ok bool) { return fieldValue(line, "data") }

// fieldValue returns the value of the line if it sets the field name. Field names are
// case-sensitive. One space after the colon is not part of the value.
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
