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

// Decoded returns the body of an answer without its Content-Encoding: gzip, or deflate in both of
// its forms. Holdpoint asks for no compression, and some backends compress all the same. It returns
// an error for any other encoding. Nothing is read yet: a header that is wrong is an error of the
// first Read. Readers bound the decoded bytes by the limit of a frame, whatever the ratio.
func Decoded(res *http.Response) (io.ReadCloser, error) {
	switch strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))) {
	case "", "identity":
		return res.Body, nil
	case "gzip", "x-gzip":
		return &lazyDecoder{src: res.Body, open: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }}, nil
	case "deflate":
		return &lazyDecoder{src: res.Body, open: inflate}, nil
	}
	return nil, errors.New("proxy: unsupported content encoding")
}

// inflate reads "deflate" in both of its forms: with zlib's header, as the standard says, and
// without.
func inflate(r io.Reader) (io.Reader, error) {
	br := bufio.NewReader(r)
	if head, err := br.Peek(2); err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(br)
	}
	return flate.NewReader(br), nil
}

// lazyDecoder opens a decoder at the first read, because the decoder's header comes with the first
// frame and not with the response's header.
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

// Replay returns a body that gives head, and then rest. Close closes rest. Head is not copied.
func Replay(head []byte, rest io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
}

// IsEventStream reports whether the media type is text/event-stream. Its parameters do not count,
// because clients read a stream whose parameters are broken.
func IsEventStream(header http.Header) bool { return MediaType(header) == "text/event-stream" }

// MediaType returns the Content-Type in lower case and without parameters, "" if it is missing.
func MediaType(header http.Header) string {
	t, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
