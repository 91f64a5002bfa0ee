package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdpoint/internal/observe/webhook"
	"holdpoint/proxy"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// A stream is a handler. Its response lasts until the method drain is called and the context of
// drain has ended.
type stream struct {
	begun, drained, ended chan struct{}
	once                  sync.Once
}

func newStream() *stream {
	return &stream{begun: make(chan struct{}), drained: make(chan struct{}), ended: make(chan struct{})}
}

func (s *stream) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.NewResponseController(w).Flush()
	close(s.begun)
	<-s.drained
	io.WriteString(w, "the end")
	close(s.ended)
}

// drain does what proxy.Handler.Drain does: it waits for the end of ctx, then ends the stream, and
// returns when the stream has ended.
func (s *stream) drain(ctx context.Context) error {
	<-ctx.Done()
	s.once.Do(func() { close(s.drained) })
	<-s.ended
	return nil
}

// serving starts a server for the handler h. Its drain delay and timeouts are a fraction of a
// second. The server's exit code arrives on the channel code.
func serving(t *testing.T, h http.Handler, drain func(context.Context) error) (url string, signals chan os.Signal, code chan int, s *server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = newServer(h, drain, slog.New(slog.DiscardHandler))
	s.delay, s.timeout, s.flushTime = 100*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
	signals, code = make(chan os.Signal, 2), make(chan int, 1)
	go func() { code <- s.serve(listener, signals) }()
	return "http://" + listener.Addr().String(), signals, code, s
}

func TestAStreamIsDrainedAtTheDeadline(t *testing.T) {
	h := newStream()
	url, signals, code, _ := serving(t, h, h.drain)
	body := make(chan string)
	go func() {
		res, err := http.Get(url)
		if err != nil {
			body <- err.Error()
			return
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			text = []byte(err.Error())
		}
		body <- string(text)
	}()
	<-h.begun
	begun := time.Now()
	signals <- syscall.SIGTERM
	if got := <-body; got != "the end" {
		t.Errorf("the client got %q, want the drained end", got)
	}
	if d := time.Since(begun); d < 400*time.Millisecond {
		t.Errorf("the stream was ended after %v, before the deadline", d)
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit %d, want 0", got)
	}
	if _, err := net.Dial("tcp", url[len("http://"):]); err == nil {
		t.Error("it still listens")
	}
}

func TestAStreamThatEndsByItselfEndsTheDrain(t *testing.T) {
	h := newStream()
	url, signals, code, s := serving(t, h, func(context.Context) error { <-h.ended; return nil })
	s.timeout = time.Hour
	go http.Get(url)
	<-h.begun
	signals <- syscall.SIGTERM
	time.AfterFunc(50*time.Millisecond, func() { close(h.drained) })
	select {
	case got := <-code:
		if got != exitOK {
			t.Errorf("exit %d, want 0", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waited for the deadline")
	}
}

func TestADrainThatHangsIsCut(t *testing.T) {
	h := newStream()
	defer close(h.drained)
	url, signals, code, _ := serving(t, h, func(context.Context) error { select {} })
	go http.Get(url)
	<-h.begun
	signals <- syscall.SIGTERM
	select {
	case got := <-code:
		if got != exitOK {
			t.Errorf("exit %d, want 0", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for ever")
	}
}

// TestARunIsDrained: the server serves a real handler of package proxy. When the server drains, the
// client of an open run must get a terminal event.
func TestARunIsDrained(t *testing.T) {
	reached := make(chan struct{})
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}`+"\n\n")
		http.NewResponseController(w).Flush()
		close(reached)
		<-r.Context().Done()
	}))
	defer backend.Close()
	c, err := load([]string{"HOLDPOINT_UPSTREAM=" + backend.URL}, dialects.All())
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHandlerMaker(c, memory.New(memory.Options{}), slog.New(slog.DiscardHandler)).proxyFor(&c.agent)
	if err != nil {
		t.Fatal(err)
	}
	url, signals, code, _ := serving(t, h, h.Drain)
	go func() { <-reached; signals <- syscall.SIGTERM }()
	res, err := http.Post(url, "application/json", strings.NewReader(`{"threadId":"t","runId":"r","messages":[],"forwardedProps":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), `"RUN_STARTED"`) || !strings.Contains(string(body), `"PROXY_DRAINING"`) {
		t.Errorf("the stream ends with %v after\n%s", err, body)
	}
	if got := <-code; got != exitOK {
		t.Errorf("exit %d, want 0", got)
	}
}

func TestTheTimesFitIntoThirtySeconds(t *testing.T) {
	s := newServer(nil, nil, slog.New(slog.DiscardHandler))
	if all := s.delay + s.timeout + s.flushTime + webhook.StopTimeout; all >= 30*time.Second {
		t.Errorf("the end takes up to %v, Kubernetes kills after 30s", all)
	}
	if s.flushTime < 2*proxy.LastTime {
		t.Errorf("connections are cut %v after streams are told their end, which a store may hold up for %v", s.flushTime, proxy.LastTime)
	}
	if s.http.WriteTimeout != 0 {
		t.Error("a WriteTimeout cuts healthy streams")
	}
}

func TestColors(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		want    bool
	}{
		{nil, true},
		{[]string{"TERM=xterm"}, true},
		{[]string{"TERM=dumb"}, false},
		{[]string{"NO_COLOR=1"}, false},
		{[]string{"NO_COLOR="}, true}, // no-color.org: an empty NO_COLOR does not count
	} {
		if got := takesColor(tt.environ); got != tt.want {
			t.Errorf("%q: %v, want %v", tt.environ, got, tt.want)
		}
	}
}

func TestDevNullIsNoTerminal(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, is := terminalWidth(f); is {
		t.Error("/dev/null is taken for a terminal, so a demo without one would wait for answers")
	}
}
