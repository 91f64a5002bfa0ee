package proxy_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// headOf returns a request's line and the headers that a foreign dialect may be the author of, for
// N.upstream.head.
func headOf(r *http.Request) []byte {
	b := fmt.Appendf(nil, "%s %s\n", r.Method, r.URL.RequestURI())
	var names []string
	for name := range r.Header {
		if name == "Accept" || name == "Content-Type" || strings.HasPrefix(name, "X-") && !strings.HasPrefix(name, "X-Forwarded-") && name != "X-Request-Id" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		b = fmt.Appendf(b, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	return b
}

// foreignPieces returns the pieces of an answer that is not an event stream, as the delivery has
// them. What may stand between the pieces of a media type is the delivery's: line ends and empty
// lines of NDJSON.
func (d delivery) foreignPieces(mediaType string, body []byte) (list [][]byte, cut bool) {
	switch {
	case mediaType != "application/x-ndjson":
		d.frame = nil
	case d.beats:
		d.frame = func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\n\n")) }
	case d.frame != nil:
		d.frame = lineEnd("\r\n")
	}
	return d.pieces(body)
}

// lintForeign says what no request to a backend that does not speak AG-UI may hold: its body is the
// dialect's own, but a yes in it is the client's.
func lintForeign(request []byte, sent [][]byte) (complaints []string) {
	resume := gjson.GetBytes(request, "resume")
	for _, body := range sent {
		yes := len(approval.FindAll(body, -1))
		if yes > len(approval.FindAllString(resume.Raw, -1))+len(short.FindAllString(resume.Raw, -1)) {
			complaints = append(complaints, fmt.Sprintf("to the backend: an approval that the client did not give:\n%s", body))
		}
	}
	return complaints
}
