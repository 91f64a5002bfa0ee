package proxy_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// headOf returns the first line of a request, and the headers that a dialect may set for a backend
// that does not speak AG-UI. They have the format of the part N.upstream.head.
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

// foreignPieces cuts a response that is not an event stream into the pieces in which the delivery
// sends it. In NDJSON, the delivery may change the line ends or add empty lines.
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

// lintForeign checks the requests to a backend that does not speak AG-UI. The dialect writes their
// bodies in the backend's format. A body must not contain more approvals than the client gave.
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
