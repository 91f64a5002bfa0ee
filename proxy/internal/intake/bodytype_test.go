package intake

import (
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// formerCharsetOf is an earlier version of charsetOf. It knew more names of charsets: utf-32,
// utf-32le and utf-32be. It also knew all names that begin with koi8-, gb2312, gbk, gb18030, big5,
// euc-, shift_jis or macintosh.
func formerCharsetOf(name string) charset {
	switch name {
	case "", "utf-8", "utf8":
		return utf8Text
	case "us-ascii", "ascii", "iso-8859-1", "latin1":
		return asciiText
	case "utf-16", "utf-16le", "utf-16be", "utf-32", "utf-32le", "utf-32be":
		return otherText
	}
	for _, family := range []string{"iso-8859-", "windows-125", "koi8-", "gb2312", "gbk", "gb18030", "big5", "euc-", "shift_jis", "macintosh"} {
		if strings.HasPrefix(name, family) {
			return otherText
		}
	}
	return hidden
}

// charsetNames are names of charsets that Java, iconv-lite, Python and .NET support.
var charsetNames = []string{
	"", "utf-8", "utf8", "utf_8", "cp65001", "cesu-8", "utf-8-sig", "us-ascii", "ascii", "iso-8859-1", "latin1", "l1", "iso-8859-2", "iso-8859-8-i", "iso-8859-15",
	"windows-1250", "windows-1252", "windows-31j", "cp1252", "utf-16", "utf-16le", "utf-16be", "x-utf-16le-bom", "utf16", "utf_16", "unicode", "ucs-2", "iso-10646-ucs-2",
	"utf-32", "utf-32le", "utf-32be", "x-utf-32be-bom", "utf32", "ucs-4", "utf-7", "utf-7-imap", "unicode-1-1-utf-7", "ibm037", "cp037", "ibm1047", "ebcdic-cp-us", "ibm-thai",
	"koi8-r", "koi8-u", "gb2312", "gbk", "gb18030", "big5", "big5-hkscs", "euc-jp", "euc-kr", "shift_jis", "macintosh", "hz-gb-2312", "iso-2022-jp", "iso-2022-kr", "base64", "hex", "binary", "scsu",
}

// TestNoCharsetIsTakenMoreEasily checks that charsetOf accepts a charset only in cases in which
// formerCharsetOf accepted it. Both return a class, and a class with a higher number accepts less.
func TestNoCharsetIsTakenMoreEasily(t *testing.T) {
	names := rapid.OneOf(rapid.SampledFrom(charsetNames), rapid.String(), rapid.StringMatching(`(utf|ucs|iso|windows|cp|ibm|koi8|gb|big5|euc)[-_]?[0-9a-z]{0,6}(-[0-9a-z]{0,3})?`))
	check := func(t rapid.TB, name string) {
		if now, before := charsetOf(name), formerCharsetOf(name); now < before {
			t.Errorf("%q is %d, and was %d", name, now, before)
		}
	}
	t.Run("those that are known", func(t *testing.T) {
		for _, name := range charsetNames {
			check(t, name)
		}
	})
	t.Run("any", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			check(t, strings.ToLower(names.Draw(t, "name")+rapid.SampledFrom([]string{"", "-1", "x", " ", "\x00"}).Draw(t, "more")))
		})
	})
	for n, object := range []string{`{"a":1}`, `{"a":"é"}`} {
		for c := utf8Text; c < hidden; c++ {
			if (c + 1).mayPass([]byte(object)) && !c.mayPass([]byte(object)) {
				t.Errorf("object %d: charset %d takes it, and %d does not", n, c+1, c)
			}
		}
	}
}

// inUnits returns text in UTF-16 if width is 2, and in UTF-32 if width is 4.
func inUnits(text string, width int, order binary.AppendByteOrder) string {
	var b []byte
	if width == 2 {
		for _, unit := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	for _, c := range text {
		b = order.AppendUint32(b, uint32(c))
	}
	return string(b)
}

// TestRunsInOtherEncodings: a run has another encoding than UTF-8. Holdpoint must refuse it,
// whatever charset and media type it declares and whatever its first byte is.
func TestRunsInOtherEncodings(t *testing.T) {
	inEBCDIC := strings.NewReplacer("{", "\xc0", "}", "\xd0", `"`, "\x7f", ":", "\x7a", ",", "\x6b", "[", "\xba", "]", "\xbb", "threadId", "\xa3\x88\x99\x85\x81\x84\xc9\x84",
		"runId", "\x99\xa4\x95\xc9\x84", "messages", "\x94\x85\xa2\xa2\x81\x87\x85\xa2", "t", "\xa3", "r", "\x99", " ", "\x40", "\n", "\x25", "\r", "\x0d", "\t", "\x05")
	type encoding struct {
		encode func(text string) string
		names  []string // names of the charsets with this encoding
		seen   bool     // detected even if no charset is declared
	}
	wide := func(width int, order binary.AppendByteOrder, mark string, names ...string) encoding {
		return encoding{func(text string) string { return inUnits(mark+text, width, order) }, names, true}
	}
	for what, e := range map[string]encoding{
		"UTF-16":                   wide(2, binary.LittleEndian, "", "utf-16", "utf-16le", "unicode"),
		"UTF-16 with a mark":       wide(2, binary.LittleEndian, "\ufeff", "utf-16", "utf-16le", "ucs-2"),
		"UTF-16, big":              wide(2, binary.BigEndian, "", "utf-16be", "utf-16"),
		"UTF-16, big, with a mark": wide(2, binary.BigEndian, "\ufeff", "utf-16be", "utf-16"),
		"UTF-32":                   wide(4, binary.LittleEndian, "", "utf-32", "utf-32le"),
		"UTF-32 with a mark":       wide(4, binary.LittleEndian, "\ufeff", "utf-32", "utf-32le"),
		"UTF-32, big":              wide(4, binary.BigEndian, "", "utf-32be", "utf-32"),
		"UTF-32, big, with a mark": wide(4, binary.BigEndian, "\ufeff", "utf-32be", "utf-32"),
		"UTF-8 with a mark":        {func(text string) string { return "\ufeff" + text }, []string{"utf-8"}, true},
		"UTF-7":                    {func(text string) string { return "+AHs-" + text[strings.Index(text, "{")+1:] }, []string{"utf-7", "unicode-1-1-utf-7", "utf-7-imap"}, false},
		"UTF-7 in a key":           {func(text string) string { return strings.Replace(text, "messages", "+AG0-essages", 1) }, []string{"utf-7"}, false},
		"EBCDIC":                   {inEBCDIC.Replace, []string{"ibm037", "cp037", "ibm1047"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			for _, before := range []string{"", " ", "\t", "\n", "\r", " \r\n\t "} {
				body := e.encode(before + aRun)
				charsets := append(e.names, charsetNames...)
				if !e.seen {
					charsets = e.names // read as another charset, it is not a run
				}
				for _, name := range charsets {
					for _, media := range []string{jsonType, "application/x+json", "text/plain", "text/csv", "application/octet-stream", ""} {
						line := media + "; charset=" + name
						if name == "" {
							line = media
						}
						req := requestOf("", "", []string{"Content-Type", line}, body)
						run, refused := newIntake(bareDialect{}).Read(http.NewResponseController(httptest.NewRecorder()), req)
						if run != nil || refused == nil || refused.Status != http.StatusBadRequest && refused.Status != http.StatusUnsupportedMediaType {
							t.Errorf("%q %q: %v, %v", line, body, run, refused)
						}
					}
				}
			}
		})
	}
}

// TestUnknownCharsetsAreRefused checks that a body in an unknown charset is refused, whatever its
// first byte is.
func TestUnknownCharsetsAreRefused(t *testing.T) {
	seen := 0
	for _, name := range charsetNames {
		if charsetOf(name) != hidden {
			continue
		}
		seen++
		for b := range 256 {
			body := string([]byte{byte(b), 'x', 'y', 'z'})
			req := requestOf("", "", []string{"Content-Type", "text/plain; charset=" + name}, body)
			if run, refused := newIntake(bareDialect{}).Read(http.NewResponseController(httptest.NewRecorder()), req); run != nil || refused == nil || refused.Status != http.StatusUnsupportedMediaType {
				t.Fatalf("%s, %q: %v, %v", name, body, run, refused)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d names are unknown", seen)
	}
}

// TestHonestTextsPass checks that Holdpoint forwards a text in a known charset if the text is not
// JSON.
func TestHonestTextsPass(t *testing.T) {
	for line, body := range map[string]string{
		"text/plain; charset=windows-1251":     "\xcf\xf0\xe8",
		"text/plain; charset=iso-8859-2":       "\xb1 threadId runId messages",
		"text/csv; charset=utf-16":             "\xff\xfea\x00,\x00b\x00",
		"text/csv; charset=UTF-16BE":           "\x00a\x00,\x00b",
		formType + "; charset=windows-1252":    "name=%E9t%E9",
		"application/xml; charset=iso-8859-15": "<?xml version='1.0'?><a/>",
	} {
		req := requestOf("", "", []string{"Content-Type", line}, body)
		if run, refused := newIntake(bareDialect{}).Read(http.NewResponseController(httptest.NewRecorder()), req); run != nil || refused != nil {
			t.Errorf("%q: %v, %v", line, run, refused)
		} else if got := readAll(t, req); got != body {
			t.Errorf("%q: %q passes as %q", line, body, got)
		}
	}
}
