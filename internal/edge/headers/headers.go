// Package headers reads files of HTTP headers. It also lists the headers that such a file may not
// set: headers that belong to one connection, and headers that describe a body.
//
// The package sends nothing. It follows RFC 9110.
package headers

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"
)

// refusedHeaders are the headers that a file may not set, each with the reason. They are headers
// that belong to one connection (RFC 9110, section 7.6.1), and headers that describe the body or
// the stream, which Holdpoint writes itself.
var refusedHeaders = map[string]string{
	"Connection":          ofConnection,
	"Keep-Alive":          ofConnection,
	"Proxy-Authenticate":  ofConnection,
	"Proxy-Authorization": ofConnection,
	"Proxy-Connection":    ofConnection,
	"Te":                  ofConnection,
	"Trailer":             ofConnection,
	"Transfer-Encoding":   ofConnection,
	"Upgrade":             ofConnection,
	"Expect":              ofRequest,
	"Content-Length":      ofBody,
	"Content-Encoding":    bodyUnchanged,
	"Content-Type":        ofClient,
	"Accept":              asksForStream,
	"Accept-Encoding":     asksForPlain,
	"Host":                ofUpstream,
}

// Refusal returns why a file may not set the header with that name, or "" if it may.
func Refusal(name string) string { return refusedHeaders[http.CanonicalHeaderKey(name)] }

// Read reads a file of headers, such as the file that HOLDPOINT_UPSTREAM_HEADERS_FILE names. Each
// line is a header `Name: value`. Read skips empty lines and lines that begin with #. A name may
// occur more than once. The error describes each wrong line by file and line number. It does not
// contain values, because they are secrets.
func Read(file string) (http.Header, error) {
	// the variable contains a header, which is a secret, instead of a file's name
	if strings.Contains(file, ": ") || strings.Contains(file, "\n") {
		return nil, errors.New(textWantFile)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err // the error contains the file name
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	headers := http.Header{}
	var errs []error
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, err := ReadLine(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, i+1, err))
			continue
		}
		headers.Add(name, value)
	}
	return headers, errors.Join(errs...)
}

// ReadLine parses one line, Name: value.
func ReadLine(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	if !ok || !IsName(name) {
		return "", "", errors.New(textWantLine)
	}
	name = http.CanonicalHeaderKey(name)
	switch why := refusedHeaders[name]; {
	case why != "":
		return "", "", fmt.Errorf(textNotTaken, name, why)
	case value == "":
		return "", "", fmt.Errorf(textNoValue, name)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, IsControl):
		return "", "", fmt.Errorf(textControlCharacters, name)
	}
	return name, value, nil
}

// IsName reports whether s is a valid header name (RFC 9110, section 5.6.2).
func IsName(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	for _, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune(marks, c) {
			return false
		}
	}
	return s != ""
}

// IsControl reports whether a header's value must not contain the character.
func IsControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
