package proxy

import (
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestStreamsAsTheyCome: whatever the backend sends, the client must get a valid stream or the
// backend's HTTP error.
func TestStreamsAsTheyCome(t *testing.T) {
	big := `{"type":"CUSTOM","name":"x","value":{"n":12345678901234567890,"f":1.0,"s":"<&>","nested":{"b":1,"a":2}}}`
	tests := []struct {
		name, send, want string
	}{
		{"what no rule concerns arrives byte for byte", streamOf(started, hello, big, `{"type":"NOBODY_KNOWS","x":[1 , 2]}`, finished), streamOf(started, hello, big, `{"type":"NOBODY_KNOWS","x":[1 , 2]}`, finished)},
		{"comments, ids and events of a frame stay", ": hi\n\nevent: e\nid: 7\nretry: 5\ndata: " + started + "\n\ndata: " + finished + "\n\n", ": hi\n\nevent: e\nid: 7\nretry: 5\ndata: " + started + "\n\ndata: " + finished + "\n\n"},
		{"CRLF becomes LF", strings.ReplaceAll(streamOf(started, big, finished), "\n", "\r\n"), streamOf(started, big, finished)},
		{"CR becomes LF", strings.ReplaceAll(streamOf(started, big, finished), "\n", "\r"), streamOf(started, big, finished)},
		{"several data lines stay", "data: {\"type\":\"RUN_STARTED\",\ndata: \"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: " + finished + "\n\n", "data: {\"type\":\"RUN_STARTED\",\ndata: \"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: " + finished + "\n\n"},
		{"a missing space is added", "data:" + started + "\n\ndata:" + finished + "\n\n", streamOf(started, finished)},
		{"a byte order mark goes", "\xef\xbb\xbf" + streamOf(started, finished), streamOf(started, finished)},
		{"[DONE] is dropped in the middle too", streamOf(started, "[DONE]", hello, finished), streamOf(started, hello, finished)},
		{"[DONE] is dropped", streamOf(started, finished, "[DONE]"), streamOf(started, finished)},
		{"the other fields of [DONE] are a frame", ": hi\n\ndata: " + started + "\n\nevent: done\nid: 7\ndata: [DONE]\n\ndata: " + finished + "\n\n", ": hi\n\ndata: " + started + "\n\nevent: done\nid: 7\n\ndata: " + finished + "\n\n"},
		{"a null without the last blank line", "data: " + started + "\n\ndata: " + strings.Replace(finished, "}", `,"timestamp":null}`, 1), streamOf(started, finished)},
		{"a late RUN_ERROR passes", streamOf(started, finished, `{"type":"RUN_ERROR","message":"late"}`), streamOf(started, finished, `{"type":"RUN_ERROR","message":"late"}`)},
		{"several runs in one stream", streamOf(started, finished, `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`, hello, `{"type":"RUN_FINISHED","threadId":"t","runId":"r2"}`), streamOf(started, finished, `{"type":"RUN_STARTED","threadId":"t","runId":"r2"}`, hello, `{"type":"RUN_FINISHED","threadId":"t","runId":"r2"}`)},
		{"other events after the end do not", streamOf(started, finished, hello, finished), streamOf(started, finished)},
		{"nothing follows RUN_ERROR", streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`, hello, finished), streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`)},
		{"nor a second RUN_ERROR", streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`, `{"type":"RUN_ERROR","message":"again"}`), streamOf(started, `{"type":"RUN_ERROR","message":"kaput"}`)},
		{"RUN_ERROR alone", streamOf(`{"type":"RUN_ERROR","message":"kaput"}`), streamOf(`{"type":"RUN_ERROR","message":"kaput"}`)},
		{"an invented runId is the request's", streamOf(started, `{"type":"RUN_FINISHED","runId":"theirs","threadId":"t","result":1}`), streamOf(started, `{"type":"RUN_FINISHED","runId":"r","threadId":"t","result":1}`)},
		{"an end without the last blank line", "data: " + started + "\n\ndata: " + finished, streamOf(started, finished)},
		{"an event with two types does nothing", streamOf(started, `{"type":"RUN_FINISHED","type":"CUSTOM","name":"x","value":1}`, finished), streamOf(started, `{"type":"RUN_FINISHED","type":"CUSTOM","name":"x","value":1}`, finished)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { sendStream(w, tt.send) })
			if got := g.do(input("t", "r", "")); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestBrokenStreamsEndWithRunError(t *testing.T) {
	abort := func(s string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			sendStream(w, s)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	tests := []struct {
		name string
		send func(w http.ResponseWriter)
		want string
	}{
		{"an end without terminal event", func(w http.ResponseWriter) { sendStream(w, streamOf(started, hello)) }, "RUN_STARTED TEXT_MESSAGE_CHUNK RUN_ERROR:UPSTREAM_EOF"},
		{"nothing at all", func(w http.ResponseWriter) { sendStream(w, "") }, "RUN_STARTED RUN_ERROR:UPSTREAM_EOF"},
		{"a reset in the middle of a frame", abort(streamOf(started) + "data: {\"type\":\"TEXT"), "RUN_STARTED RUN_ERROR:UPSTREAM_EOF"},
		{"a reset before the first frame", abort(""), "RUN_STARTED RUN_ERROR:UPSTREAM_EOF"},
		{"a frame over the limit", func(w http.ResponseWriter) { sendStream(w, streamOf(started, `{"x":"`+strings.Repeat("x", 9000)+`"}`)) }, "RUN_STARTED RUN_ERROR:FRAME_TOO_LARGE"},
		{"200 with JSON", func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"ok":true}`)
		}, "RUN_STARTED RUN_ERROR:UPSTREAM_STATUS"},
		{"204", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, "RUN_STARTED RUN_ERROR:UPSTREAM_STATUS"},
		{"brotli", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "br")
			sendStream(w, "????")
		}, "RUN_STARTED RUN_ERROR:UNSUPPORTED_ENCODING"},
		{"gzip that is none", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			sendStream(w, "????????????????")
		}, "RUN_STARTED RUN_ERROR:UPSTREAM_EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { tt.send(w) }, func(o *Options) { o.MaxFrameBytes = 8 << 10 })
			wantTypes(t, g.do(input("t", "r", "")), tt.want)
		})
	}
}

func TestCompressedStreamsAreDecoded(t *testing.T) {
	for _, enc := range []string{"gzip", "deflate"} {
		t.Run(enc, func(t *testing.T) {
			g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
				if r.Header.Get("Accept-Encoding") != "" {
					t.Errorf("compression was asked for: %q", r.Header.Get("Accept-Encoding"))
				}
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", enc)
				var z io.WriteCloser = gzip.NewWriter(w)
				if enc == "deflate" {
					z = zlib.NewWriter(w)
				}
				io.WriteString(z, streamOf(started, finished))
				z.Close()
			})
			if got := g.do(input("t", "r", "")); got != streamOf(started, finished) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestHTTPErrorsGoToTheClientAsTheyAre(t *testing.T) {
	for _, status := range []int{401, 403, 404, 409, 422, 429, 500, 503, 307} {
		g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, `{"code":"theirs"}`)
		})
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r", "")))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != status || string(body) != `{"code":"theirs"}` || res.Header.Get("Retry-After") != "7" || res.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%d: got %d %q %v", status, res.StatusCode, body, res.Header)
		}
	}
}

func TestUnreachableBackend(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {})
	g.h.opts.Upstream.Host = "127.0.0.1:1"
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED RUN_ERROR:UPSTREAM_UNREACHABLE")
}

// readFrom reads from b once and returns the number of bytes.
func readFrom(b *body) (int, error) {
	made, row, _, err := b.nextOutput()
	return len(made) + len(row), err
}
