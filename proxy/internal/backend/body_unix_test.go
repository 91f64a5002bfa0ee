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

// TestBodyIsSentAtOnce: net/http must send a body that is a Body with at most two writes: the
// beginning together with the header of the request, and the rest. Bodies of other types must also
// arrive whole.
func TestBodyIsSentAtOnce(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	var writes atomic.Int32
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return burst(countedConn{conn.(*net.TCPConn), &writes}), nil
	}}
	defer transport.CloseIdleConnections()
	text := []byte(strings.Repeat("0123456789", 100_000))
	for name, c := range map[string]struct {
		body io.Reader
		most int32
	}{
		"in memory": {NewBody(text), 2},
		"a reader":  {bytes.NewReader(text), 1000},
	} {
		writes.Store(0)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, c.body)
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

// TestBodyWithinLimit: the caller limits a Body to a length. ReadFrom must not send more than this
// length.
func TestBodyWithinLimit(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_, _ = (&Conn{Conn: far}).ReadFrom(io.LimitReader(NewBody([]byte("too long")), 3))
		far.Close()
	}()
	if got, err := io.ReadAll(near); err != nil || string(got) != "too" {
		t.Errorf("%q, %v", got, err)
	}
}
