package intake

import (
	"mime"
	"net/http"
	"strings"
)

// A bodyType describes the Content-Type of a body, as far as it decides how backends read the body.
type bodyType struct {
	json, form, parts bool // JSON; an urlencoded form; a multipart body
	charset           charset
}

// A charset is a class of charsets. It says how far Holdpoint can read a body whose Content-Type
// declares a charset of the class.
type charset int

const (
	utf8Text charset = iota // readable; also used for a body without a charset
	// readable if the body is ASCII: a backend would read other bytes as other characters than
	// Holdpoint
	asciiText
	// A body that begins like JSON is refused, because a backend would read it differently. Any
	// other body may pass.
	otherText
	hidden // unreadable: even the character { may be encoded differently
)

// readBodyType reads Content-Type. It refuses a header that servers read in different ways. If a
// header names two charsets, npm's content-type uses the last one up to version 1.x and the first
// one since 2.0, and Go's mime package uses neither. Each also rejects different mistakes. If a
// request has two Content-Type lines, Node uses the first, and other servers use the last or both.
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
		// charset= but not charset*=
		if err == nil && ok && strings.HasPrefix(strings.TrimLeft(behind, " \t"), "=") {
			t.charset = charsetOf(named)
			return t, nil
		}
	}
	return t, unsupportedBody(textTwoCharsets)
}

// charsetOf returns the class of a charset by its name in lower case. Only a few names are known.
// Any other name has the class hidden, because some backend may decode it: express.json() decodes
// every charset of iconv-lite whose name begins with "utf-", including UTF-7, and express.text()
// all charsets of iconv-lite. Spring decodes all charsets of Java, including EBCDIC. ASP.NET
// decodes UTF-16 and UTF-32.
func charsetOf(name string) charset {
	switch name {
	case "", "utf-8", "utf8":
		return utf8Text
	case "us-ascii", "ascii", "iso-8859-1", "latin1":
		return asciiText
	// agui.ObjectElsewhere detects a JSON object in these charsets
	case "utf-16", "utf-16le", "utf-16be":
		return otherText
	}
	// in these charsets { has its ASCII code
	if strings.HasPrefix(name, "iso-8859-") || strings.HasPrefix(name, "windows-125") {
		return otherText
	}
	return hidden
}

// mayPass reports whether Holdpoint can read a JSON object that is in the charset. An object that
// it cannot read is refused.
func (c charset) mayPass(object []byte) bool {
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
