package stream

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A calls is a ResponseWriter. It records the calls of its own methods, in order.
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

// TestHeaderGoesOutWithTheFirstFrame checks that the header is sent in one write with the first
// frame, or alone if there is no frame yet. A flush of ReverseProxy must not send the header
// earlier. The last frames must be sent together with the end of the stream.
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
		w := NewWriter(under, time.Hour, Limits{})
		w.Hold()
		w.WriteHeader(200)
		if err := w.FlushError(); err != nil {
			t.Fatal(err)
		}
		if c.wait {
			w.Release()
		}
		if err := w.Send([]byte("data: 1\n\n"), []byte("data: 2\n\n"), c.last); err != nil {
			t.Fatal(err)
		}
		w.Close()
		w.Release()
		if !slices.Equal(under.list, c.want) {
			t.Errorf("%s: %q, want %q", name, under.list, c.want)
		}
	}
}

// TestEachWriteHasItsTime: a Writer sets one deadline for all writes of some seconds. Each of these
// writes must still have at least writeTimeout. At the end, the Writer must remove the deadline.
func TestEachWriteHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		under := &noted{ResponseRecorder: httptest.NewRecorder()}
		w := NewWriter(under, 0, Limits{})
		for range 100 {
			w.Send(nil, []byte("data: 1\n\n"), false)
			if left := time.Until(under.at); left < writeTimeout {
				t.Fatalf("%v left", left)
			}
			time.Sleep(time.Second)
		}
		if under.set > 20 {
			t.Errorf("%d deadlines for 100 writes", under.set)
		}
		if w.Close(); !under.at.IsZero() {
			t.Error("the deadline stays for the next request")
		}
	})
}

type noted struct {
	*httptest.ResponseRecorder
	at  time.Time
	set int
}

func (d *noted) SetWriteDeadline(t time.Time) error {
	d.at = t
	d.set++
	return nil
}

func TestSlowClientGetsNoHeartbeatInsideAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := httptest.NewRecorder()
		w := NewWriter(rec, time.Second, Limits{})
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
		w.Write([]byte("data: half of "))
		w.FlushError()
		time.Sleep(4500 * time.Millisecond)
		w.Write([]byte("a frame\n\n"))
		time.Sleep(1500 * time.Millisecond)
		w.Close()
		time.Sleep(time.Minute)
		if got := rec.Body.String(); got != "data: half of a frame\n\n"+string(heartbeat) {
			t.Errorf("got %q", got)
		}
	})
}

// TestDeadlinesOfHTTP2: net/http resets an HTTP/2 stream when its write deadline passes. So the
// stream must have no write deadline between two writes. This applies to runs, and also to
// responses that Holdpoint forwards unread.
func TestDeadlinesOfHTTP2(t *testing.T) {
	for _, multiplexed := range []bool{true, false} {
		l := LimitsOf(&http.Request{ProtoMajor: map[bool]int{true: 2, false: 1}[multiplexed]}, time.Second)
		under := &noted{ResponseRecorder: httptest.NewRecorder()}
		run := NewWriter(under, 0, l)
		if run.Send(nil, []byte("data: 1\n\n"), false); under.at.IsZero() != multiplexed || under.set == 0 {
			t.Errorf("a run: multiplexed %v, the deadline is %v, set %d times", multiplexed, under.at, under.set)
		}
		under = &noted{ResponseRecorder: httptest.NewRecorder()}
		passing := NewPassing(under, l)
		passing.Write([]byte("some"))
		if left := time.Until(under.at); left < time.Second/2 {
			t.Errorf("a write has %v", left)
		}
		if passing.FlushError(); under.at.IsZero() != multiplexed {
			t.Errorf("what passes: multiplexed %v, the deadline is %v", multiplexed, under.at)
		}
	}
}
