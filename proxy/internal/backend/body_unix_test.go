//go:build unix

package backend

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A countedConn counts its writes.
type countedConn struct {
	*net.TCPConn
	writes *atomic.Int32
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(p)
}

// TestBodyIsSentAtOnce: a short body in memory must be sent in one write with its header. A long
// one must be sent in two: its beginning with the header, and the rest. Other bodies must arrive
// too, in any number of writes.
func TestBodyIsSentAtOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	var writes atomic.Int32
	transport := &http.Transport{WriteBufferSize: writeBuffer, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return burst(countedConn{conn.(*net.TCPConn), &writes}), nil
	}}
	defer transport.CloseIdleConnections()
	memory := func(b []byte) io.Reader { return io.NopCloser(bytes.NewReader(b)) }
	for name, c := range map[string]struct {
		size int
		body func([]byte) io.Reader
		most int32
	}{
		"a short body":      {300, memory, 1},
		"1.5 kB":            {1500, memory, 1},
		"5 kB":              {5000, memory, 2},
		"1 MB":              {1 << 20, memory, 2},
		"not known as such": {1 << 20, func(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b)) }, 1000},
	} {
		text := []byte(strings.Repeat("0123456789", c.size/10+1)[:c.size])
		writes.Store(0)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, c.body(text))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = int64(len(text))
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if n := writes.Load(); n > c.most {
			t.Errorf("%s: %d writes", name, n)
		}
	}
}

// TestBodyWithinLimit: ReadFrom sends no more than the length that was declared.
func TestBodyWithinLimit(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_, _ = (&Conn{Conn: far}).ReadFrom(io.LimitReader(bytes.NewReader([]byte("too long")), 3))
		far.Close()
	}()
	if got, err := io.ReadAll(near); err != nil || string(got) != "too" {
		t.Errorf("%q, %v", got, err)
	}
}
