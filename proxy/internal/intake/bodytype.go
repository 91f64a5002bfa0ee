package intake

import (
	"mime"
	"net/http"
	"strings"
)

// A bodyType is what a request says of its body, as far as that decides who reads it, and how.
type bodyType struct {
	json, form, parts bool // JSON; an urlencoded form; a body of several parts
	charset           charset
}

// A charset says how far Holdpoint can read a body that is declared to be in it.
type charset int

const (
	utf8Text  charset = iota // as it is. A body without a charset is read so, too
	asciiText                // if it is ASCII: a backend would read other threads' names in it
	otherText                // JSON in it must not pass, because it would be read as something else; what does not begin like JSON may
	hidden                   // nothing can be seen in it: { is not {
)

// readBodyType reads Content-Type. It refuses what servers read in different ways. Of two charsets,
// npm's content-type takes the last one up to 1.x and the first one from 2.0 on, and Go's mime
// package takes neither. Each of them stops at other mistakes. Of two Content-Type lines, Node
// hands on the first, and others hand on the last or both.
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

// charsetOf knows a charset by its name in lower case. It knows few, because one that is not here
// may be anything: express.json() decodes everything of iconv-lite that begins with "utf-", UTF-7
// too, and express.text() all that it knows. Spring decodes what Java knows, EBCDIC too. ASP.NET
// decodes UTF-16 and UTF-32.
func charsetOf(name string) charset {
	switch name {
	case "", "utf-8", "utf8":
		return utf8Text
	case "us-ascii", "ascii", "iso-8859-1", "latin1":
		return asciiText
	case "utf-16", "utf-16le", "utf-16be": // an object in these is seen, see agui.ObjectElsewhere
		return otherText
	}
	if strings.HasPrefix(name, "iso-8859-") || strings.HasPrefix(name, "windows-125") { // { is { in these
		return otherText
	}
	return hidden
}

// takes reports whether a JSON object may pass, or be judged, in the charset.
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
