package proxy

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/store"
)

// A notedStore closes the channel finished after the step Finish.
type notedStore struct {
	store.Store
	finished chan struct{}
}

func (s notedStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	if _, ends := step.(store.Finish); ends {
		defer close(s.finished)
	}
	return s.Store.Do(ctx, key, step)
}

// A stalledClient stops reading at the first heartbeat, so that the write of the heartbeat blocks.
type stalledClient struct {
	*recorder
	once  *sync.Once
	waits chan struct{}
	free  chan struct{}
}

func (s stalledClient) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), ":") {
		s.once.Do(func() { close(s.waits) })
		<-s.free
		return 0, io.ErrClosedPipe
	}
	return s.recorder.Write(p)
}

// TestStalledClientDoesNotHoldBackTheRecord: the backend reports the end of an action while a write
// to the client blocks. Holdpoint must record the end without waiting for the write. The write may
// take writeTimeout, and a claim that is not renewed is in doubt after LeaseTime.
func TestStalledClientDoesNotHoldBackTheRecord(t *testing.T) {
	acted, ended := make(chan struct{}), make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			sendStream(w, streamOf(started, asks))
			return
		}
		sendStream(w, streamOf(started))
		w.(http.Flusher).Flush()
		<-acted
		sendStream(w, streamOf(hello, finished))
	}, func(o *Options) { o.Heartbeat, o.Store = 10*time.Millisecond, notedStore{o.Store, ended} })
	g.do(input("t", "r1", ""))
	client := stalledClient{&recorder{ResponseRecorder: httptest.NewRecorder()}, new(sync.Once), make(chan struct{}), make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		g.h.ServeHTTP(client, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~id1"))))))
	}()
	<-client.waits
	close(acted)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the claim's end waits for the client")
	}
	close(client.free)
	<-over
}

// TestQuestionDoesNotWaitForTheLog: so many log lines wait to be written that the end of a stream
// must wait for them. The client must get its question nevertheless.
func TestQuestionDoesNotWaitForTheLog(t *testing.T) {
	free := make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, hello, asks)) },
		func(o *Options) { o.Logger = slog.New(enabled{stuckLog{slog.DiscardHandler, "run ended", free}}) })
	g.h.runs.reports.lines, g.h.runs.reports.writing = make([][]slog.Attr, maxReports), true
	found, rest := begun(t, g, input("t", "r", ""), func(line string) bool { return strings.Contains(line, `"interrupt"`) })
	if !found {
		t.Error("no question")
	}
	close(free)
	rest()
	go g.h.runs.reports.run()
}
