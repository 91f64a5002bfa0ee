package proxy

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlineOfARunIsNotTheNextRequests: a reused connection may still have the write deadline of
// an earlier run, and this deadline has passed. Holdpoint must remove the deadline before it writes
// the next response.
func TestDeadlineOfARunIsNotTheNextRequests(t *testing.T) {
	g := newRig(t, echo)
	for name, req := range map[string]*http.Request{
		"what passes":     httptest.NewRequest(http.MethodGet, "/", nil),
		"what is refused": httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"threadId":`)),
		"a path":          httptest.NewRequest(http.MethodGet, "/a/%2e%2e/b", nil),
	} {
		req.Header.Set("Content-Type", "application/json")
		under := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		g.h.ServeHTTP(under, req)
		if len(under.list) == 0 || !under.list[0].IsZero() {
			t.Errorf("%s: %v", name, under.list)
		}
	}
}

// A deadlines is a ResponseWriter that records the write deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	list []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.list = append(d.list, t)
	return nil
}

// TestStreamOfAClientThatIsGoneIsAborted: if the client is gone, Holdpoint must abort the response,
// as ReverseProxy does. If it let net/http end the response in the ordinary way, that could take
// forever.
func TestStreamOfAClientThatIsGoneIsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(nil))
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("panic %v", p)
			}
			if len(b.h.runs.running) > 0 {
				t.Error("the run is still in the books")
			}
		}()
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r", "")))
		req = req.WithContext(context.WithValue(req.Context(), http.ServerContextKey, &http.Server{}))
		b.h.ServeHTTP(&recorder{ResponseRecorder: httptest.NewRecorder(), fail: true}, req)
		t.Error("no panic")
	})
}
