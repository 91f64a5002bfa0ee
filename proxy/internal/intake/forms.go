package intake

import (
	"bytes"
	"io"

	"holdpoint/internal/agui"
)

// Express (urlencoded({extended: true}), multer), Flask, Rack and other servers turn the fields of
// a form into an object: resume[0][interruptId]=.. A browser sends a form without a preflight, so
// any web page could send one. Runs are JSON. So errForm refuses a form that some server could read
// as a run.
var errForm = unsupportedBody(textForm)

// A form collects the names of the fields of a form.
type form struct{ keys agui.RunKeys }

// field adds the name of a field, such as a[b][c] or a.b.c. It reports whether the fields added so
// far are those of a run or of an answer.
func (f *form) field(name []byte) bool {
	root, rest := segment(name)
	n := f.keys.Add(string(root))
	if n < 0 {
		return false
	}
	if f.keys.Run() {
		return true
	}
	for len(rest) > 0 {
		var inner []byte
		if inner, rest = segment(rest); agui.IsAnswerKey(n, string(inner)) {
			return true
		}
	}
	return false
}

// segment returns the first segment of a field's name, and the rest of the name: a and [b][c] for
// a[b][c].
func segment(name []byte) (first, rest []byte) {
	const marks = "[]."
	name = bytes.TrimLeft(name, marks)
	end := bytes.IndexAny(name, marks)
	if end < 0 {
		return name, nil
	}
	return name[:end], name[end:]
}

// runInForm reports whether a server that turns an urlencoded form into an object could read it as
// a run or an answer.
func runInForm(body []byte) bool {
	var f form
	var plain []byte
	for len(body) > 0 {
		end := bytes.IndexAny(body, "&;") // some servers accept either of the two as separator
		pair := body
		if end < 0 {
			body = nil
		} else {
			pair, body = body[:end], body[end+1:]
		}
		name, _, _ := bytes.Cut(pair, []byte("="))
		if plain = appendPlain(plain[:0], name); f.field(plain) {
			return true
		}
	}
	return false
}

// appendPlain appends the text to dst, with its percent-encoding decoded. An invalid encoding stays
// as it is, as at most servers.
func appendPlain(dst, text []byte) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
			if high < 16 && low < 16 {
				dst = append(dst, high<<4|low)
				i += 2
				continue
			}
		}
		dst = append(dst, text[i])
	}
	return dst
}

// hexDigit returns the value of a hexadecimal digit, and 16 or more for any other byte.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return (c | 0x20) - 'a' + 10
	}
	return 16
}

// MaxPartHeader is the largest accepted length of a part's Content-Disposition, in bytes. Servers
// accept some kilobytes for all headers of a part.
const MaxPartHeader = 8 << 10

var disposition = []byte("content-disposition")

// formParts is a multipart body on its way to the backend. It checks the names of the parts while
// the body is sent, because files are large and should not be delayed. It does not look for the
// ends of parts, because servers find them in different ways. Once the names so far make the body a
// run, Read fails with errForm. The backend then gets an incomplete body, which no server accepts.
type formParts struct {
	io.ReadCloser
	form     form
	tail     []byte // the last bytes that were read, because a header may begin in them
	foundRun bool
}

func (p *formParts) Read(b []byte) (int, error) {
	if p.foundRun {
		return 0, errForm
	}
	n, err := p.ReadCloser.Read(b)
	if n > 0 && p.check(b[:n]) {
		p.foundRun = true
		return 0, errForm
	}
	if err == io.EOF && p.checkRest() {
		p.foundRun = true
		return 0, errForm
	}
	return n, err
}

// check checks the bytes in the parameter more, which follow those that it has checked. It reports
// whether a run was found.
func (p *formParts) check(more []byte) bool {
	left := append(p.tail, more...)
	for {
		at := dispositionIn(left)
		if at < 0 {
			// including one byte before the longest possible beginning of the header's name
			left = left[max(0, len(left)-len(disposition)):]
			break
		}
		header, whole := headerFrom(left[at:])
		switch begins := beginsLine(left[:at]); {
		case len(header) > MaxPartHeader && !begins:
			// the content of a file, such as a script in one line: no line begins here, so it is
			// not a header
			left = left[at+len(header)-1:]
			continue
		case len(header) > MaxPartHeader || whole && p.header(header):
			return true
		}
		if !whole {
			left = left[max(0, at-1):]
			break
		}
		left = left[at+len(header):] // p.header has checked this header
	}
	p.tail = append(p.tail[:0], left...)
	return false
}

// beginsLine reports whether a header may begin after the bytes in the parameter before: at the
// beginning of a line, or after blanks there, because werkzeug accepts blanks before the first
// header of a part.
func beginsLine(before []byte) bool {
	before = bytes.TrimRight(before, " \t")
	return len(before) == 0 || before[len(before)-1] == '\r' || before[len(before)-1] == '\n'
}

// checkRest checks a header that was still incomplete at the end of the body. It reports whether a
// run was found.
func (p *formParts) checkRest() bool {
	at := dispositionIn(p.tail)
	return at >= 0 && p.header(p.tail[at:])
}

// headerFrom returns the header at the beginning of b, including continuation lines, and whether it
// is complete.
func headerFrom(b []byte) (header []byte, whole bool) {
	for at := 0; ; {
		end := bytes.IndexAny(b[at:], "\r\n")
		if end < 0 {
			return b, false
		}
		at += end
		next := at + 1
		if b[at] == '\r' && next < len(b) && b[next] == '\n' {
			next++
		}
		switch {
		case next >= len(b):
			return b[:at], false // the next line, which has not arrived, may continue the header
		case b[next] != ' ' && b[next] != '\t':
			return b[:at], true
		}
		at = next
	}
}

// header checks the names in a Content-Disposition, and reports whether a run was found. Browsers
// write only name="...". Any other spelling that some server decodes counts as a run.
func (p *formParts) header(h []byte) bool {
	const word = "name"
	const most = 4 // a valid header contains name= once
	names := 0
	for at := len(disposition); at+len(word) <= len(h); at++ {
		if !bytes.EqualFold(h[at:at+len(word)], []byte(word)) || isToken(h[at-1]) { // part of a longer word, as in filename
			continue
		}
		rest := bytes.TrimLeft(h[at+len(word):], blanks)
		switch {
		case len(rest) == 0:
		case rest[0] == '*':
			return true
		case rest[0] == '=':
			if names++; names > most {
				return true
			}
			name := paramValue(bytes.TrimLeft(rest[1:], blanks))
			plain := appendPlain(nil, bytes.ReplaceAll(name, []byte(`\`), nil))
			if bytes.Contains(name, []byte("=?")) || p.form.field(plain) {
				return true
			}
		}
	}
	return false
}

const blanks = " \t\r\n"

// paramValue returns the value of a header's parameter, without its quotes. b begins with the
// value.
func paramValue(b []byte) []byte {
	if len(b) == 0 || b[0] != '"' {
		end := bytes.IndexAny(b, ";"+blanks)
		if end < 0 {
			end = len(b)
		}
		return b[:end]
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[1:i]
		}
	}
	return b[1:]
}

func isToken(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// dispositionIn returns the index of the header name content-disposition in b, -1 if b does not
// contain it. The name may be in any case. dispositionIn searches for the hyphen, because it is the
// only character of the name that is the same in both cases.
func dispositionIn(b []byte) int {
	before := bytes.IndexByte(disposition, '-')
	for from := before; from < len(b); from++ {
		next := bytes.IndexByte(b[from:], '-')
		if next < 0 {
			break
		}
		from += next
		if begin := from - before; len(b)-begin >= len(disposition) && bytes.EqualFold(b[begin:begin+len(disposition)], disposition) {
			return begin
		}
	}
	return -1
}

// runInParts reports whether a multipart body, or the beginning of a multipart body, contains a run
// or an answer.
func runInParts(body []byte) bool {
	var p formParts
	return p.check(body) || p.checkRest()
}
