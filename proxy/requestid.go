package proxy

import (
	"net/http"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/ids"
)

// A run has an id of its request, by which the lines of a proxy in front, of Holdpoint and of the
// backend are found together. It is the X-Request-Id that the request brings. If that is missing,
// or is nothing that a log should hold, Holdpoint makes one, and the backend gets it in its place.
// A request that is no run passes as it came.

const requestIDHeader = "X-Request-Id"

// maxRequestID bounds an id that is taken. A UUID has 36 characters, and the ids of tracing systems
// have some more.
const maxRequestID = 128

// requestIDOf is the id that a request brings, or a new one.
func requestIDOf(req *http.Request) string {
	if ids := req.Header[requestIDHeader]; len(ids) == 1 && saneID(ids[0]) {
		return strings.Clone(ids[0])
	}
	return ids.Random128()
}

func saneID(id string) bool {
	if id == "" || len(id) > maxRequestID {
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

// sendID puts the id into the request to the backend.
func (r *run) sendID(out http.Header) { out[requestIDHeader] = []string{r.request.id} }

// returnID puts the id into the answer's header, unless the backend has put one there.
func (r *run) returnID(header http.Header) {
	if header[requestIDHeader] == nil {
		header[requestIDHeader] = []string{r.request.id}
	}
}

// traceIDOf is the trace that a request belongs to, by the traceparent of W3C Trace Context; "" if
// there is none. The header itself passes untouched.
func traceIDOf(header http.Header) string {
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

// A loggedAnswer is an answer as the log has it: nothing of what it says but yes or no.
type loggedAnswer struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Says   string `json:"says,omitempty"` // approved or denied, where the dialect knows
	Edited bool   `json:"edited,omitempty"`
}

// String is the answer in a log of text.
func (a loggedAnswer) String() string {
	if a.Says == "" {
		return a.ID + "=" + a.Status
	}
	if a.Edited {
		return a.ID + "=" + a.Status + "," + a.Says + ",edited"
	}
	return a.ID + "=" + a.Status + "," + a.Says
}

// maxLoggedAnswers bounds the answers in a line.
const maxLoggedAnswers = 32

// loggedAnswers are the answers of the request, without what they hold.
func (r *run) loggedAnswers() []loggedAnswer {
	named := r.answers.list[:min(len(r.answers.list), maxLoggedAnswers)]
	if len(named) == 0 {
		return nil
	}
	list, read := make([]loggedAnswer, len(named)), r.readings(named)
	for n := range named {
		a := &named[n]
		list[n] = loggedAnswer{
			ID: strings.Clone(agui.Cut(a.ID)), Status: string(a.Status), Says: saysOf(a, read[n]), Edited: read[n].Edited,
		}
		if a.Status != agui.Cancelled {
			list[n].Status = string(agui.Resolved)
		}
	}
	return list
}
