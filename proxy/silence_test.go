package proxy

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSilenceIsSeenWhereverItBegins: the idle timeout applies from the last byte of the request to
// the end of the response's stream. That must hold on a new connection, on a reused one, and on the
// connection for answers.
func TestSilenceIsSeenWhereverItBegins(t *testing.T) {
	const (
		head    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
	)
	many := strings.Repeat(streamOf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"`+strings.Repeat("x", 3000)+`"}`), 50)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, streamOf(started))
	z.Flush()
	for name, sent := range map[string]string{
		"nothing":                   "",
		"half a header":             "HTTP/1.1 200 OK\r\nContent-",
		"a header":                  chunked,
		"a header with a length":    head + "Content-Length: 1000\r\n\r\n",
		"a header of 1.0":           strings.Replace(head, "1.1", "1.0", 1) + "\r\n",
		"half a chunk's header":     chunked + "4",
		"a chunk's header":          chunked + "400\r\n",
		"half a frame":              chunked + chunk("data: {\"type\":"),
		"a frame":                   chunked + chunk(streamOf(started)),
		"a frame and half a chunk":  chunked + chunk(streamOf(started)) + "400\r\ndata: {",
		"a chunk without its end":   chunked + strings.TrimSuffix(chunk(streamOf(started)), "\r\n"),
		"many frames":               chunked + chunk(streamOf(started)) + chunk(many),
		"frames of a length":        head + "Content-Length: 9999999\r\n\r\n" + streamOf(started) + many,
		"frames until the close":    head + "Connection: close\r\n\r\n" + streamOf(started),
		"hints, then a frame":       "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + chunked + chunk(streamOf(started)),
		"a compressed header":       head + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
		"a compressed frame":        head + "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(zipped.String()),
		"a stream but its trailers": head + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n" + chunk(streamOf(started)) + "0\r\n",
		"no stream, and not all":    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nx",
	} {
		overs := []string{"new"}
		switch name {
		case "nothing", "a header", "half a frame", "a frame", "many frames":
			overs = append(overs, "kept", "answers")
		}
		for _, over := range overs {
			t.Run(name+"/"+over, func(t *testing.T) {
				t.Parallel()
				gone := make(chan struct{})
				g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
					if over != "new" && n == 1 {
						sendStream(w, streamOf(started, hello, map[string]string{"kept": finished, "answers": asks}[over]))
						return
					}
					conn := taken(t, w, sent)
					defer conn.Close()
					<-gone
				}, func(o *Options) { o.IdleTimeout = 200 * time.Millisecond })
				defer close(gone)
				more := ""
				if over != "new" {
					g.do(input("t", "r1", ""))
				}
				if over == "answers" {
					more = resumeWith(yes("n1~id1"))
				}
				res, got := g.answer(input("t", "r2", more))
				code := `"UPSTREAM_IDLE"`
				if name == "no stream, and not all" {
					// the response's status has already shown that the response is not a stream
					code = `"UPSTREAM_STATUS"`
				}
				if !strings.Contains(got, code) {
					t.Errorf("%s: %.300s", res.Status, got)
				}
			})
		}
	}
}
