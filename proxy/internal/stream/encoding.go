package stream

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
)

// DecodeBody returns the body of a response with its Content-Encoding decoded: gzip, or deflate in
// both of its forms. Holdpoint requests no compression, but some backends compress nevertheless.
// For any other encoding DecodeBody returns an error. DecodeBody reads nothing, so if the
// compressed body begins incorrectly, the first Read returns the error. Readers of the body limit
// the decoded bytes to the size of a frame, however strongly the body is compressed.
func DecodeBody(res *http.Response) (io.ReadCloser, error) {
	switch strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))) {
	case "", "identity":
		return res.Body, nil
	case "gzip", "x-gzip":
		return &lazyDecoder{src: res.Body, open: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }}, nil
	case "deflate":
		return &lazyDecoder{src: res.Body, open: inflate}, nil
	}
	return nil, errEncoding
}

// errEncoding is the error for a Content-Encoding that Holdpoint does not read.
var errEncoding = errors.New("proxy: unsupported content encoding")

// inflate returns a reader for both forms of "deflate": with zlib's header, as the standard
// requires, or without this header.
func inflate(r io.Reader) (io.Reader, error) {
	br := bufio.NewReader(r)
	if head, err := br.Peek(2); err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(br)
	}
	return flate.NewReader(br), nil
}

// A lazyDecoder opens its decoder at the first read. Opening it reads the beginning of the
// compressed body, which arrives only with the first frame and not with the response header.
type lazyDecoder struct {
	src  io.ReadCloser
	open func(io.Reader) (io.Reader, error)
	r    io.Reader
}

func (l *lazyDecoder) Read(p []byte) (int, error) {
	if l.r == nil {
		r, err := l.open(l.src)
		if err != nil {
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(p)
}

func (l *lazyDecoder) Close() error { return l.src.Close() }

// Replay returns a body that consists of head followed by rest. Closing the body closes rest. head
// is not copied.
func Replay(head []byte, rest io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
}

// IsEventStream reports whether the media type is text/event-stream. It ignores the parameters of
// the media type, because clients accept a stream with invalid parameters.
func IsEventStream(header http.Header) bool { return MediaType(header) == "text/event-stream" }

// MediaType returns the Content-Type in lower case and without parameters, "" if it is missing.
func MediaType(header http.Header) string {
	t, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
