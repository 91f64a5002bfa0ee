//go:build unix

package proxy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A counted is a listener that counts the writes to all of its connections.
type counted struct {
	net.Listener
	writes atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return countedConn{conn, l}, err
}

type countedConn struct {
	net.Conn
	l *counted
}

func (c countedConn) Write(p []byte) (int, error) {
	c.l.writes.Add(1)
	return c.Conn.Write(p)
}

// TestStreamThatHasComeWholeIsOneWrite: the whole stream of the backend has arrived. Holdpoint must
// send its header, frames and end in one write. This must hold even while net/http already waits
// for the next response on the connection to the backend.
func TestStreamThatHasComeWholeIsOneWrite(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, streamOf(started, hello, finished))
	})
	l := &counted{}
	front := httptest.NewUnstartedServer(g.h)
	l.Listener, front.Listener = front.Listener, l
	front.Start()
	defer front.Close()
	const runs = 20
	for range runs {
		res, err := front.Client().Post(front.URL, "application/json", strings.NewReader(input("t", "r", "")))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(res.Body); err != nil || !bytes.Contains(got, []byte("RUN_FINISHED")) {
			t.Fatalf("%q, %v", got, err)
		}
		res.Body.Close()
	}
	if n := l.writes.Load(); n != runs {
		t.Errorf("%d writes for %d streams", n, runs)
	}
}
