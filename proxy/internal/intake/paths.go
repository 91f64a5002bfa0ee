package intake

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"
)

// RecordPath returns the form of a path that is used in the keys of records. Some paths differ only
// in case, in percent-encoding, or in repeated and trailing slashes. A backend may treat them as
// one path, so they have one form.
func RecordPath(p string) string {
	if strings.HasPrefix(p, "/") && isPlain(p) {
		return strings.ToLower(path.Clean(p))
	}
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";") // servlet containers route /chat;x as /chat
	}
	return strings.ToLower(path.Clean("/" + strings.Join(segments, "/")))
}

// isPlain reports whether a path consists only of letters, digits, slashes, - and _, as most paths
// do.
func isPlain(path string) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '/', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// IsMisleading reports whether an escaped path contains something because of which some backends
// read another path: a segment . or .., escaped or not, or a control character (Starlette's
// ^/agent$ matches "/agent\n").
func IsMisleading(escaped string) bool {
	if isPlain(escaped) {
		return false
	}
	if plain, err := url.PathUnescape(escaped); err == nil && strings.ContainsFunc(plain, unicode.IsControl) {
		return true
	}
	for segment := range strings.SplitSeq(escaped, "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil {
			plain = segment
		}
		// Many backends split a segment again at a decoded slash or backslash.
		for part := range strings.FieldsFuncSeq(plain, func(c rune) bool { return c == '/' || c == '\\' }) {
			if part == "." || part == ".." {
				return true
			}
		}
	}
	return false
}

// Path refuses a request whose path some backends read as another path, and the method CONNECT,
// which has no path. Its refusals have no log line.
func Path(req *http.Request) *Refusal {
	switch {
	case req.Method == http.MethodConnect:
		return &Refusal{Status: http.StatusNotImplemented, Reason: textConnect}
	case IsMisleading(req.URL.EscapedPath()):
		// The backend would use another path. Holdpoint has not checked the record of that path.
		return &Refusal{Status: http.StatusBadRequest, Reason: textPath}
	}
	return nil
}
