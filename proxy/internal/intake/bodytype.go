package intake

import (
	"mime"
	"net/http"
	"strings"
)

// A bodyType has the properties of a body's declared type that decide how backends read it.
type bodyType struct {
	json, form, parts bool // JSON; an urlencoded form; a body of several parts
	charset           charset
}

// A charset says how far Holdpoint can read a body, by the charset that its Content-Type declares.
type charset int

const (
	utf8Text  charset = iota // readable; also used for a body without a charset
	asciiText                // readable if the body is ASCII: in other bodies a backend would read other names than Holdpoint
	otherText                // JSON in it must not pass, because a backend would read it differently; a body that does not begin like JSON may pass
	hidden                   // unreadable: even { may be encoded differently
)

// readBodyType reads Content-Type. It refuses headers that servers read in different ways. Of two
// charsets, npm's content-type uses the last one up to version 1.x and the first one since 2.0, and
// Go's mime package uses neither; each also fails at different mistakes. Of two Content-Type lines,
// Node uses the first, and other servers the last or both.
func readBodyType(h http.Header) (t bodyType, err error) {
	lines := h["Content-Type"]
	if len(lines) > 1 {
		return t, unsupportedBody(textTwoTypes)
	}
	if len(lines) == 0 {
		return t, nil
	}
	line := strings.ToLower(lines[0])
	name, _, _ := strings.Cut(line, ";")
	name = strings.TrimSpace(name)
	t.json = name == "application/json" || strings.HasSuffix(name, "+json")
	t.form = strings.Contains(line, "urlencoded") || strings.Contains(line, "x-url-encoded")
	t.parts = strings.Contains(line, "multipart/")
	switch strings.Count(line, "charset") {
	case 0:
		return t, nil
	case 1:
		_, params, err := mime.ParseMediaType(line)
		_, behind, _ := strings.Cut(line, "charset")
		named, ok := params["charset"]
		if err == nil && ok && strings.HasPrefix(strings.TrimLeft(behind, " \t"), "=") { // and not charset*
			t.charset = charsetOf(named)
			return t, nil
		}
	}
	return t, unsupportedBody(textTwoCharsets)
}

// charsetOf returns the class of a charset by its name in lower case. Only few are known, because
// an unknown one may be anything: express.json() decodes every charset of iconv-lite that begins
// with "utf-", including UTF-7, and express.text() all that it supports. Spring decodes what Java
// supports, including EBCDIC. ASP.NET decodes UTF-16 and UTF-32.
func charsetOf(name string) charset {
	switch name {
	case "", "utf-8", "utf8":
		return utf8Text
	case "us-ascii", "ascii", "iso-8859-1", "latin1":
		return asciiText
	case "utf-16", "utf-16le", "utf-16be": // agui.ObjectElsewhere detects an object in these
		return otherText
	}
	if strings.HasPrefix(name, "iso-8859-") || strings.HasPrefix(name, "windows-125") { // in these { has its ASCII code
		return otherText
	}
	return hidden
}

// takes reports whether a JSON object in the charset may pass, or be read.
func (c charset) takes(object []byte) bool {
	switch c {
	case utf8Text:
		return true
	case asciiText:
		for _, b := range object {
			if b >= 0x80 {
				return false
			}
		}
		return true
	}
	return false
}
