package scenario

import (
	"fmt"
	"net/textproto"
	"strings"
)

// A Response is what a backend answers to one request in a scenario.
type Response struct {
	Status int                 // 200 for a stream; 0 if the backend does not answer
	Header map[string][]string // by canonical names; nil for a stream (text/event-stream)
	Body   []byte
	Cut    bool // the connection breaks after the body
}

// Cut at the end of an answer means that the connection breaks after the bytes before it.
const Cut = "<cut>"

// ReadAnswer parses the part of a scenario that contains an answer. It is either an event stream,
// or "HTTP 429" (any status), header lines, an empty line and a body.
func ReadAnswer(part []byte) Response {
	text, r := string(part), Response{Status: 200}
	if strings.HasPrefix(text, "HTTP ") {
		head, body, _ := strings.Cut(text, "\n\n")
		status, lines, _ := strings.Cut(head, "\n")
		if _, err := fmt.Sscanf(status, "HTTP %d", &r.Status); err != nil {
			r.Status = 0
		}
		r.Header = map[string][]string{}
		for line := range strings.Lines(lines) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			r.Header[textproto.CanonicalMIMEHeaderKey(name)] = []string{strings.TrimSpace(value)}
		}
		text = body
	}
	text, r.Cut = strings.CutSuffix(text, Cut)
	r.Body = []byte(text)
	return r
}
