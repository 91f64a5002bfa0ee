package backend

import "bytes"

// A Body is the body of a request to a backend, in memory.
type Body struct{ bytes.Reader }

// NewBody returns a Body that reads b.
func NewBody(b []byte) *Body {
	body := &Body{}
	body.Reset(b)
	return body
}

// Close implements io.Closer.
func (*Body) Close() error { return nil }
