//go:build unix

package proxy

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForwardedForByAUnixSocket: a client of a unix socket has no address, so Holdpoint adds none
// to X-Forwarded-For. A proxy before Holdpoint may have added addresses to this header. Holdpoint
// must keep them.
func TestForwardedForByAUnixSocket(t *testing.T) {
	g := newRig(t, echo)
	dir, err := os.MkdirTemp("", "hp") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(g.h)
	front.Listener.Close()
	front.Listener = l
	front.Start()
	defer front.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	for _, prior := range []string{"203.0.113.7, 10.0.0.1", ""} {
		req, err := http.NewRequest(http.MethodPost, "http://holdpoint/", strings.NewReader(input("t", "r", "")))
		if err != nil {
			t.Fatal(err)
		}
		if prior != "" {
			req.Header.Set("X-Forwarded-For", prior)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := g.heads[len(g.heads)-1].Get("X-Forwarded-For"); res.StatusCode != http.StatusOK || got != prior {
			t.Errorf("status %d, X-Forwarded-For %q, want %q", res.StatusCode, got, prior)
		}
	}
}
