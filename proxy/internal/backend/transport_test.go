package backend

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestIdleConnectionsAreGivenUp checks that Holdpoint closes an idle connection earlier than common
// servers close it. gunicorn, for example, closes it after 2 s.
func TestIdleConnectionsAreGivenUp(t *testing.T) {
	if DefaultKeepAlive >= 2*time.Second {
		t.Errorf("an idle connection is kept for %v", DefaultKeepAlive)
	}
	up, _ := url.Parse("http://127.0.0.1:1")
	for set, want := range map[time.Duration]time.Duration{0: DefaultKeepAlive, time.Minute: time.Minute} {
		ordinary, single := Transports(up, Options{KeepAlive: set})
		if ordinary.IdleConnTimeout != want || !single.DisableKeepAlives {
			t.Errorf("%v: %v, and connections of answers are kept: %v", set, ordinary.IdleConnTimeout, !single.DisableKeepAlives)
		}
	}
}

// TestNothingIsSentAgain: a backend reads a request and then closes the connection. It must not get
// this request again, because net/http must not repeat a request of which it has written a byte.
func TestNothingIsSentAgain(t *testing.T) {
	got := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got <- string(body); string(body) == "second" {
			panic(http.ErrAbortHandler)
		}
	}))
	defer s.Close()
	up, _ := url.Parse(s.URL)
	ordinary, _ := Transports(up, Options{KeepAlive: time.Hour})
	defer ordinary.CloseIdleConnections()
	for _, body := range []string{"first", "second"} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, nil)
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(body))
		res, err := ordinary.RoundTrip(req)
		if (err == nil) != (body == "first") {
			t.Errorf("%s: %v", body, err)
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	if len(got) != 2 {
		t.Errorf("the backend got %d requests", len(got))
	}
}

// TestBufferOfAConnection checks the size of the buffer that net/http keeps for each connection,
// even while a stream waits.
func TestBufferOfAConnection(t *testing.T) {
	for address, want := range map[string]int{"http://backend": plainBuffer, "https://backend": 4 << 10} {
		upstream, _ := url.Parse(address)
		ordinary, single := Transports(upstream, Options{})
		for _, got := range []int{ordinary.ReadBufferSize, single.ReadBufferSize} {
			if got != want {
				t.Errorf("%s: a buffer of %d bytes, want %d", address, got, want)
			}
		}
	}
}
