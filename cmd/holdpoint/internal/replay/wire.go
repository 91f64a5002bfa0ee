package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"

	"holdpoint/internal/scenario"
)

const eventStream = "text/event-stream"

// backend is a transport that responds with the recorded answers of a turn.
type backend struct{ p *player }

// RoundTrip implements http.RoundTripper.
func (b backend) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	t := b.p.trace
	t.request(r, body)
	if t.requests > len(t.turn.Answers) {
		t.note(traceNoAnswer)
		return nil, &net.OpError{Op: "dial", Err: errors.New(traceNotRecorded)}
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		// a real transport calls GotConn before it sends the request
		trace.GotConn(httptrace.GotConnInfo{})
	}
	a := t.turn.Answers[t.requests-1]
	header := http.Header(a.Header).Clone()
	if header == nil {
		header = http.Header{"Content-Type": {eventStream}}
	}
	status := a.Status
	if status != http.StatusOK {
		t.note(traceStatus, status)
	}
	return &http.Response{
		StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Request: r, ContentLength: -1, Header: header,
		Body: &frames{t: t, remaining: pieces(header.Get("Content-Type"), a), cut: a.Cut},
	}, nil
}

// pieces cuts the body of an answer into the pieces that the backend sent: the frames of an event
// stream, or the lines of NDJSON. Any other body is one piece.
func pieces(mediaType string, a scenario.Response) (list [][]byte) {
	ends := []string{"\n\n", "\r\n\r\n", "\r\r"}
	switch {
	case strings.Contains(mediaType, "ndjson"):
		ends = []string{"\n"}
	case !strings.Contains(mediaType, eventStream):
		ends = nil
	}
	for left := a.Body; len(left) > 0; {
		n := len(left)
		for _, end := range ends {
			if at := bytes.Index(left[:n], []byte(end)); at >= 0 {
				n = at + len(end)
			}
		}
		list, left = append(list, left[:n]), left[n:]
	}
	return list
}

// frames is the body of a backend's answer. Each Read returns one frame, or a part of a frame.
type frames struct {
	t         *trace
	remaining [][]byte
	part      []byte // the rest of a frame that did not fit into the last Read
	cut       bool
}

// Read implements io.Reader.
func (f *frames) Read(b []byte) (int, error) {
	if len(f.part) == 0 {
		switch {
		case len(f.remaining) > 0:
		case f.cut:
			f.t.note(traceBreaksOff)
			return 0, io.ErrUnexpectedEOF
		default:
			return 0, io.EOF
		}
		if err := f.t.nextFrame(f.remaining[0]); err != nil {
			return 0, err
		}
		f.part, f.remaining = f.remaining[0], f.remaining[1:]
	}
	n := copy(b, f.part)
	f.part = f.part[n:]
	return n, nil
}

// Close implements io.Closer.
func (f *frames) Close() error { return nil }

// client is a ResponseWriter that hands to the trace what Holdpoint writes.
type client struct {
	t      *trace
	header http.Header
	status int
	body   []byte
}

// Header implements http.ResponseWriter.
func (c *client) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *client) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

// Write implements http.ResponseWriter.
func (c *client) Write(b []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if c.refused() {
		c.body = append(c.body, b...)
	} else {
		c.t.write(b)
	}
	return len(b), nil
}

// Flush implements http.Flusher.
func (c *client) Flush() { c.WriteHeader(http.StatusOK) }

// refused reports whether the response is not an event stream.
func (c *client) refused() bool {
	return !strings.HasPrefix(c.header.Get("Content-Type"), eventStream)
}

// block prints text below a heading. JSON is printed compactly.
func (p *player) block(heading string, text []byte) {
	p.print("  %s", heading)
	for line := range strings.Lines(string(bytes.TrimSpace(compact(text)))) {
		p.print("      %s", strings.TrimRight(line, "\r\n"))
	}
}

// compact returns JSON without white space, and any other text unchanged.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
