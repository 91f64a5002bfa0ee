package proxy

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// TestStreamThatWaitsHasASmallStack: what a run needs on its way to the backend fits into the stack that net/http needs anyway.
// One step more and the goroutine's stack is of 16 kB instead of 8, until the collector comes by, for each stream.
func TestStreamThatWaitsHasASmallStack(t *testing.T) {
	if raceDetector {
		t.Skip("it has larger frames")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which makes stacks smaller
	d, err := dialects.All().New("auto", nil)
	if err != nil {
		t.Fatal(err)
	}
	up, _ := url.Parse("http://backend/agent")
	h, err := New(Options{
		Upstream: up, Dialect: d, Store: memory.New(memory.Options{}), Transport: silentBackend{}, Heartbeat: 15 * time.Second,
		IdleTimeout: time.Hour, Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	least := stackOfAStream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	for _, known := range []string{"", "agui", "langgraph"} {
		if known != "" {
			h.routes.Add("/", known)
		}
		if got := stackOfAStream(t, h); got > least+4<<10 {
			t.Errorf("route %q: a stream has %d bytes of stack, one of a handler that does nothing %d", known, got, least)
		}
	}
}

// stackOfAStream is what each of many requests has on its stacks once its header is out.
func stackOfAStream(t *testing.T, h http.Handler) int {
	t.Helper()
	stacks := func() int {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	const streams = 100
	before := stacks()
	for n := range streams {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := order(fmt.Sprint("t", n), 1, 0, "")
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if _, err := io.ReadFull(conn, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	return (stacks() - before) / streams
}

// A silentBackend answers with the header of a stream and nothing else.
type silentBackend struct{}

// RoundTrip implements http.RoundTripper.
func (silentBackend) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Request: req, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(hanging{req.Context()}),
	}, nil
}
