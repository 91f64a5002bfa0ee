package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"
)

// A stream is a handler whose response lasts until it is drained.
type stream struct {
	begun, drained, ended chan struct{}
}

func newStream() *stream {
	return &stream{make(chan struct{}), make(chan struct{}), make(chan struct{})}
}

func (s *stream) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.NewResponseController(w).Flush() //nolint:errcheck // the test reads it
	close(s.begun)
	<-s.drained
	io.WriteString(w, "the end") //nolint:errcheck // as above
	close(s.ended)
}

// drain does what proxy.Handler.Drain promises.
func (s *stream) drain(ctx context.Context) error {
	<-ctx.Done()
	close(s.drained)
	<-s.ended
	return nil
}

// serving starts a server with short times around a handler.
func serving(t *testing.T, h http.Handler, drain func(context.Context) error) (url string, signals chan os.Signal, code chan int, s *server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = newServer(h, drain, slog.New(slog.DiscardHandler))
	s.settle, s.deadline, s.last = 100*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond
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
	s.deadline = time.Hour
	go http.Get(url) //nolint:errcheck,bodyclose // only to hold the server
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
	go http.Get(url) //nolint:errcheck,bodyclose // it is cut
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

func TestTheTimesFitIntoThirtySeconds(t *testing.T) {
	s := newServer(nil, nil, slog.New(slog.DiscardHandler))
	if all := s.settle + s.deadline + s.last; all >= 30*time.Second {
		t.Errorf("the end takes up to %v, Kubernetes kills after 30s", all)
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
		{[]string{"NO_COLOR="}, true}, // no-color.org: present and not empty
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
