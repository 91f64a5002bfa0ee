package intake

import (
	"net/http"
	"strings"

	"holdpoint/proxy/internal/ids"
)

// Each run has a request id. With it one can match the log lines of Holdpoint, of the backend, and
// of a proxy in front of Holdpoint. The id is the X-Request-Id of the request. If that header is
// missing, or not suitable for a log, Holdpoint makes an id and sends it to the backend as
// X-Request-Id. Requests that are not runs are passed on unchanged.

// RequestIDHeader is the header with the id of a request.
const RequestIDHeader = "X-Request-Id"

// MaxRequestID is the largest length of an id that is accepted. A UUID has 36 characters, and the
// ids of tracing systems are somewhat longer.
const MaxRequestID = 128

// RequestID returns the id of a request. If the request has no suitable id, it returns a new random
// id.
func RequestID(req *http.Request) string {
	if list := req.Header[RequestIDHeader]; len(list) == 1 && saneID(list[0]) {
		return strings.Clone(list[0])
	}
	return ids.Random128()
}

func saneID(id string) bool {
	if id == "" || len(id) > MaxRequestID {
		return false
	}
	for n := range len(id) {
		c := id[n]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("-_.:+/=@,~", c) < 0 {
			return false
		}
	}
	return true
}

// TraceID returns the trace id in the traceparent header of a request (W3C Trace Context). It
// returns "" if the header is missing or invalid. The header itself is passed on unchanged.
func TraceID(header http.Header) string {
	const none = "00000000000000000000000000000000"
	values := header["Traceparent"]
	if len(values) != 1 {
		return ""
	}
	version, rest, _ := strings.Cut(values[0], "-")
	trace, rest, _ := strings.Cut(rest, "-")
	parent, _, _ := strings.Cut(rest, "-")
	if len(version) != 2 || version == "ff" || len(trace) != len(none) || len(parent) != 16 || trace == none ||
		strings.Trim(version+trace+parent, "0123456789abcdef") != "" {
		return ""
	}
	return strings.Clone(trace)
}
