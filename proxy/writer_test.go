package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A calls notes what a ResponseWriter is asked for, in order.
type calls struct {
	header http.Header
	mu     sync.Mutex
	list   []string
}

func (c *calls) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func (c *calls) Header() http.Header                { return c.header }
func (c *calls) WriteHeader(status int)             { c.note("header %d", status) }
func (c *calls) Write(p []byte) (int, error)        { c.note("write %q", p); return len(p), nil }
func (c *calls) FlushError() error                  { c.note("flush"); return nil }
func (c *calls) SetWriteDeadline(t time.Time) error { c.note("deadline %v", !t.IsZero()); return nil }

// TestHeaderGoesOutWithTheFirstFrame, in one write, or by itself if there is none yet; ReverseProxy's own flushes do not send it
// before; and the last frames go with the stream's end.
func TestHeaderGoesOutWithTheFirstFrame(t *testing.T) {
	for name, c := range map[string]struct {
		wait, last bool
		want       []string
	}{
		"a frame at once":       {false, false, []string{"header 200", "deadline true", `write "data: 1\n\n"`, `write "data: 2\n\n"`, "flush", "deadline false"}},
		"a frame later":         {true, false, []string{"header 200", "deadline true", "flush", `write "data: 1\n\n"`, `write "data: 2\n\n"`, "flush", "deadline false"}},
		"the last ones at once": {false, true, []string{"header 200", "deadline true", `write "data: 1\n\n"`, `write "data: 2\n\n"`}},
		"the last ones later":   {true, true, []string{"header 200", "deadline true", "flush", `write "data: 1\n\n"`, `write "data: 2\n\n"`}},
	} {
		under := &calls{header: http.Header{"Content-Type": {"text/event-stream"}}}
		w := newWriter(under, time.Hour)
		w.hold()
		w.WriteHeader(200)
		if err := w.FlushError(); err != nil {
			t.Fatal(err)
		}
		if c.wait {
			w.release()
		}
		if err := w.send([]byte("data: 1\n\n"), []byte("data: 2\n\n"), c.last); err != nil {
			t.Fatal(err)
		}
		w.close()
		w.release()
		if !slices.Equal(under.list, c.want) {
			t.Errorf("%s: %q, want %q", name, under.list, c.want)
		}
	}
}

// TestEachWriteHasItsTime: a deadline serves the writes of some seconds, and none of them has less than writeTimeout; at the end
// it goes.
func TestEachWriteHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		under := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		w := newWriter(under, 0)
		for range 100 {
			w.send(nil, []byte("data: 1\n\n"), false)
			if left := time.Until(under.at); left < writeTimeout {
				t.Fatalf("%v left", left)
			}
			time.Sleep(time.Second)
		}
		if under.set > 20 {
			t.Errorf("%d deadlines for 100 writes", under.set)
		}
		if w.close(); !under.at.IsZero() {
			t.Error("the deadline stays for the next request")
		}
	})
}

type deadlines struct {
	*httptest.ResponseRecorder
	at  time.Time
	set int
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.at = t
	d.set++
	return nil
}

// TestDeadlineOfARunIsNotTheNextRequests: a kept connection may have one from the end of a run before, long past.
func TestDeadlineOfARunIsNotTheNextRequests(t *testing.T) {
	g := newRig(t, echo)
	for name, req := range map[string]*http.Request{
		"what passes":     httptest.NewRequest(http.MethodGet, "/", nil),
		"what is refused": httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"threadId":`)),
		"a path":          httptest.NewRequest(http.MethodGet, "/a/%2e%2e/b", nil),
	} {
		req.Header.Set("Content-Type", "application/json")
		under := &calls{header: http.Header{}}
		g.h.ServeHTTP(under, req)
		if len(under.list) < 2 || under.list[0] != "deadline false" {
			t.Errorf("%s: %q", name, under.list)
		}
	}
}

// TestStreamOfAClientThatIsGoneIsAborted: net/http must not try to end it in order, which may take for ever. So does ReverseProxy.
func TestStreamOfAClientThatIsGoneIsAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(nil))
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("panic %v", p)
			}
			if len(b.h.live) > 0 {
				t.Error("the run is still in the books")
			}
		}()
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r", "")))
		req = req.WithContext(context.WithValue(req.Context(), http.ServerContextKey, &http.Server{}))
		b.h.ServeHTTP(&recorder{ResponseRecorder: httptest.NewRecorder(), fail: true}, req)
		t.Error("no panic")
	})
}

// TestWatch: what counts is how long one wait lasts.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		w := newWatch(time.Minute, func() { told.Add(1) })
		read := func(d time.Duration) {
			src := w.over(readerFunc(func([]byte) (int, error) {
				time.Sleep(d)
				return 0, errors.New("end")
			}), nil)
			w.arm()
			src.Read(nil)
		}
		for _, step := range []struct {
			read, pause time.Duration
			want        int32
		}{
			{59 * time.Second, 59 * time.Second, 0},
			{59 * time.Second, time.Hour, 0}, // a client that reads slowly
			{61 * time.Second, 0, 1},
			{59 * time.Second, 0, 1},
		} {
			read(step.read)
			time.Sleep(step.pause)
			if n := told.Load(); n != step.want {
				t.Errorf("after a read of %v and a pause of %v: told %d times, want %d", step.read, step.pause, n, step.want)
			}
		}
		w.stop()
		time.Sleep(time.Hour)
		if n := told.Load(); n != 1 {
			t.Errorf("told %d times after the end", n)
		}
	})
}
