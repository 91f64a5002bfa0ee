package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/store"
	"holdpoint/store/memory"
	"holdpoint/store/storetest"
)

// A bubble is a Handler whose backend is a function and whose clock is that of testing/synctest. So
// a test can let hours pass without waiting.
type bubble struct {
	t     *testing.T
	h     *Handler
	store store.Store
	// serve gets the context of the n-th request, and writes the response's stream to w. When serve
	// returns, the stream ends, with the error of serve if there is one.
	serve func(ctx context.Context, n int, w io.Writer) error
	n     int
	mu    sync.Mutex
}

func newBubble(t *testing.T, serve func(ctx context.Context, n int, w io.Writer) error, change ...func(*Options)) *bubble {
	b := &bubble{t: t, serve: serve}
	up, _ := url.Parse("http://backend/agent")
	b.store = memory.New(memory.Options{Entries: 10, ReplayTTL: 24 * time.Hour, PauseRetention: 240 * time.Hour})
	o := Options{Upstream: up, Dialect: &fakeDialect{}, Store: b.store, Client: ClientOutcome, Transport: b, NewID: func() string { return "x" }}
	for _, c := range change {
		c(&o)
	}
	b.store = storetest.Sealed(t, o.Store)
	o.Store = b.store
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.h = h
	return b
}

// endsAtOnce is a backend whose runs end at once.
func endsAtOnce(_ context.Context, _ int, w io.Writer) error {
	_, err := io.WriteString(w, streamOf(started, finished))
	return err
}

// asksFirst returns a backend that asks in its first run. For all other runs it calls then.
func asksFirst(then func(ctx context.Context, n int, w io.Writer) error) func(ctx context.Context, n int, w io.Writer) error {
	return func(ctx context.Context, n int, w io.Writer) error {
		if n == 1 {
			_, err := io.WriteString(w, streamOf(started, asks))
			return err
		}
		return then(ctx, n, w)
	}
}

func (b *bubble) RoundTrip(req *http.Request) (*http.Response, error) {
	b.mu.Lock()
	b.n++
	n := b.n
	b.mu.Unlock()
	r, w := io.Pipe()
	stop := context.AfterFunc(req.Context(), func() { r.CloseWithError(req.Context().Err()) })
	go func() {
		defer stop()
		w.CloseWithError(b.serve(req.Context(), n, w))
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r, Request: req, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// post plays a run to its end and returns the response.
func (b *bubble) post(body string) string {
	w := &recorder{ResponseRecorder: httptest.NewRecorder()}
	b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w.text()
}

// A recorder is a ResponseWriter that may be read while it is written.
type recorder struct {
	*httptest.ResponseRecorder
	mu   sync.Mutex
	fail bool // the client has gone
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail {
		return 0, errors.New("broken pipe")
	}
	return r.ResponseRecorder.Write(p)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Body.String()
}

func TestSilentUpstreamEndsAnOrdinaryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := false
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			time.Sleep(50 * time.Minute)
			io.WriteString(w, ": beat\n\n") // the backend's heartbeats count as output
			<-ctx.Done()
			cancelled = true
			return nil
		}, func(o *Options) { o.IdleTimeout = time.Hour })
		begin := time.Now()
		wantTypes(t, b.post(input("t", "r", "")), "RUN_STARTED RUN_ERROR:UPSTREAM_IDLE")
		if took := time.Since(begin); took != 110*time.Minute {
			t.Errorf("took %v", took)
		}
		synctest.Wait()
		if !cancelled {
			t.Error("the upstream was not cancelled")
		}
	})
}

// TestSilentUpstreamOfAResume: the backend is silent for too long after it got an answer. The
// client's stream ends, but the action continues, and Holdpoint must record the end of the action.
func TestSilentUpstreamOfAResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			select {
			case <-time.After(70 * time.Minute):
			case <-ctx.Done():
				t.Error("the upstream of a claimed run was cancelled")
			}
			io.WriteString(w, streamOf(hello, finished))
			return nil
		}), func(o *Options) { o.IdleTimeout = time.Hour })
		b.post(input("t", "r1", ""))
		wantTypes(t, b.post(input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_IDLE")
		// When the client sends the same answers again, the request waits for the end of the first
		// run and gets the same end.
		wantTypes(t, b.post(input("t", "r3", resumeWith(yes("n1~x")))), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED")
		if b.n != 2 {
			t.Errorf("%d calls", b.n)
		}
	})
}

// TestResumeThatStaysSilent: the backend gets answers and then sends nothing. The client gets
// UPSTREAM_IDLE, and the thread stays busy for a limited time. After that, the answers are in
// doubt, and Holdpoint sends the client's next message to the backend.
func TestResumeThatStaysSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			if n > 2 {
				return endsAtOnce(ctx, n, w)
			}
			io.WriteString(w, streamOf(started))
			<-ctx.Done()
			return nil
		}), func(o *Options) { o.IdleTimeout, o.ResumeIdleGrace = 2*time.Second, 3*time.Second })
		b.post(input("t", "r1", ""))
		wantTypes(t, b.post(input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:UPSTREAM_IDLE")
		wantTypes(t, b.post(input("t", "r3", "")), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_PROGRESS")
		time.Sleep(4 * time.Second)
		if got := b.post(input("t", "r4", "")); !strings.Contains(types(got), "RESUME_IN_DOUBT") {
			t.Error(got)
		}
		wantTypes(t, b.post(input("t", "r5", "")), "RUN_STARTED RUN_FINISHED")
		if b.n != 3 {
			t.Errorf("%d calls", b.n)
		}
	})
}

// TestThreadIsFreeAtTheTerminalEvent: a backend keeps its stream open after the terminal event, for
// example while it sends traces. The client reads the terminal event, leaves, and sends its next
// run at once. That run must not wait.
func TestThreadIsFreeAtTheTerminalEvent(t *testing.T) {
	for _, way := range []OnDisconnect{DisconnectCancel, DisconnectFinish} {
		t.Run(string(way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
					end := finished
					if n == 2 {
						end = asks
					}
					io.WriteString(w, streamOf(started, end))
					select {
					case <-time.After(time.Minute):
					case <-ctx.Done():
					}
					return nil
				}, func(o *Options) { o.OnDisconnect = way })
				begin := time.Now()
				var ends sync.WaitGroup
				for n, run := range []struct{ body, want string }{
					{input("t", "r1", ""), "RUN_STARTED RUN_FINISHED"},
					{input("t", "r2", ""), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt"},
					{input("t", "r3", resumeWith(yes("n1~x"))), "RUN_STARTED RUN_FINISHED"},
					{input("t", "r4", ""), "RUN_STARTED RUN_FINISHED"},
				} {
					ctx, leave := context.WithCancel(t.Context())
					w := &recorder{ResponseRecorder: httptest.NewRecorder()}
					ends.Go(func() {
						b.h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(run.body)).WithContext(ctx))
					})
					synctest.Wait()
					wantTypes(t, w.text(), run.want)
					leave()
					if synctest.Wait(); len(b.h.runs.alone) != 0 {
						t.Errorf("run %d goes on without its client", n+1)
					}
				}
				if took := time.Since(begin); took != 0 {
					t.Errorf("the next run waited: it took %v", took)
				}
				// After the terminal event of a resumed run, the backend has a short time for its
				// remaining work. Then Holdpoint cuts its stream.
				if ends.Wait(); time.Since(begin) > endGrace {
					t.Errorf("the streams ended after %v", time.Since(begin))
				}
			})
		})
	}
}

func TestClaimIsRenewedWhileTheUpstreamLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			time.Sleep(5 * time.Hour)
			io.WriteString(w, streamOf(finished))
			return nil
		}))
		b.post(input("t", "r1", ""))
		go func() {
			time.Sleep(4 * time.Hour)
			rec, _ := b.store.Load(context.Background(), recordKey("/", "t"), "")
			if rec.State != store.Claimed {
				t.Errorf("after four hours the pause is %q", rec.State)
			}
		}()
		wantTypes(t, b.post(input("t", "r2", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED")
	})
}

func TestHeartbeatsStandBetweenFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			time.Sleep(40 * time.Second)
			io.WriteString(w, "data: "+hello[:10])
			time.Sleep(40 * time.Second) // half a frame is held back, so heartbeats are possible
			io.WriteString(w, hello[10:]+"\n\n"+streamOf(finished))
			return nil
		}, func(o *Options) { o.Heartbeat = 15 * time.Second })
		got := b.post(input("t", "r", ""))
		want := streamOf(started) + strings.Repeat(": holdpoint\n\n", 5) + streamOf(hello, finished)
		if got != want {
			t.Errorf("got %q", got)
		}
	})
}

func TestClientLeavesAnOrdinaryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := false
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			<-ctx.Done()
			cancelled = true
			return ctx.Err()
		})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			leave()
		}()
		b.h.ServeHTTP(&recorder{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r", ""))).WithContext(ctx))
		synctest.Wait()
		if !cancelled {
			t.Error("the upstream was not cancelled")
		}
	})
}

// TestClientLeavesAClaimedRunForGood: the client leaves a resumed run and does not return.
// Holdpoint must record the outcome. If the backend never ends the run, Holdpoint gives the run up
// after a time limit, and the answers are in doubt. As the reason, Holdpoint must report this time
// limit, not the silence of the backend.
func TestClientLeavesAClaimedRunForGood(t *testing.T) {
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var cause error
			b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
				io.WriteString(w, streamOf(started, hello))
				time.Sleep(10 * time.Minute)
				io.WriteString(w, streamOf(hello))
				if !ends {
					<-ctx.Done()
					cause = context.Cause(ctx)
					return ctx.Err()
				}
				io.WriteString(w, streamOf(finished))
				return nil
			}))
			b.post(input("t", "r1", ""))
			gone := &recorder{ResponseRecorder: httptest.NewRecorder()}
			gone.fail = true
			func() {
				defer func() { recover() }() // http.ErrAbortHandler
				b.h.ServeHTTP(gone, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(input("t", "r2", resumeWith(yes("n1~x"))))))
			}()
			time.Sleep(detachTimeout + time.Minute)
			synctest.Wait()
			rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), "")
			if want := map[bool]store.State{true: store.None, false: store.InDoubt}[ends]; rec.State != want {
				t.Errorf("ends %v: state %q, want %q", ends, rec.State, want)
			}
			if !ends && (!errors.Is(cause, errAlone) || !strings.Contains(fault(t.Context(), cause).Message, "an hour")) {
				t.Errorf("it was ended by %v", cause)
			}
		})
	}
}

func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, asksFirst(func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started))
			<-ctx.Done()
			return ctx.Err()
		}))
		b.post(input("t", "r1", ""))
		var wg sync.WaitGroup
		results := make([]string, 3)
		wg.Go(func() { results[0] = b.post(input("t", "r2", resumeWith(yes("n1~x")))) })
		wg.Go(func() { results[1] = b.post(input("other", "r3", "")) })
		time.Sleep(time.Second)
		// this request waits for r2
		wg.Go(func() { results[2] = b.post(input("t", "r4", resumeWith(yes("n1~x")))) })
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := b.h.Drain(ctx); err != nil {
			t.Error(err)
		}
		wg.Wait()
		for i, got := range results {
			if !strings.HasSuffix(types(got), "RUN_ERROR:PROXY_DRAINING") {
				t.Errorf("stream %d: %s", i, types(got))
			}
		}
		wantTypes(t, b.post(input("new", "r5", "")), "RUN_STARTED RUN_ERROR:PROXY_DRAINING")
		rec, _ := b.store.Load(t.Context(), recordKey("/", "t"), "")
		if rec.State != store.None || rec.Results[0].EndKind != store.Doubtful {
			t.Errorf("the claimed pause is %q", rec.State)
		}
	})
}

func TestStoreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &downStore{}
		b := newBubble(t, func(ctx context.Context, n int, w io.Writer) error {
			io.WriteString(w, streamOf(started, asks))
			return nil
		}, func(o *Options) { down.Store = o.Store; o.Store = down })
		down.load = true
		wantTypes(t, b.post(input("t", "r1", "")), "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE")
		if b.n != 0 {
			t.Error("the backend was called though nobody knows what the thread waits for")
		}
		down.load, down.open = false, true
		wantTypes(t, b.post(input("t", "r2", "")), "RUN_STARTED RUN_ERROR:STORE_UNAVAILABLE")
		down.open, down.full = false, true
		wantTypes(t, b.post(input("t", "r3", "")), "RUN_STARTED RUN_ERROR:STORE_FULL")
		down.full = false
		wantTypes(t, b.post(input("t", "r4", "")), "RUN_STARTED MESSAGES_SNAPSHOT RUN_FINISHED+interrupt")
		calls := b.n
		down.claim = true
		wantTypes(t, b.post(input("t", "r5", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:STORE_UNAVAILABLE")
		if b.n != calls {
			t.Error("the backend was called though the answer is not claimed")
		}
		down.claim, down.finish = false, true
		wantTypes(t, b.post(input("t", "r5", resumeWith(yes("n1~x")))), "RUN_STARTED RUN_FINISHED RUN_ERROR:STORE_UNAVAILABLE")
		down.finish = false
		time.Sleep(LeaseTime + time.Second)
		wantTypes(t, b.post(input("t", "r6", "")), "RUN_STARTED RUN_FINISHED RUN_ERROR:RESUME_IN_DOUBT")
	})
}

// A downStore is a store in which the steps fail whose fields the test has set to true.
type downStore struct {
	store.Store
	load, open, full, claim, finish bool
}

var errDown = errors.New("connection refused")

func (d *downStore) Load(ctx context.Context, key store.Key, owner string) (store.Record, error) {
	if d.load {
		return store.Record{}, errDown
	}
	return d.Store.Load(ctx, key, owner)
}

func (d *downStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	var fails bool
	switch step.(type) {
	case store.Ask:
		if fails = d.open; !fails && d.full {
			return store.StepResult{}, store.ErrFull
		}
	case store.Claim:
		fails = d.claim
	case store.Finish:
		fails = d.finish
	}
	if fails {
		return store.StepResult{}, errDown
	}
	return d.Store.Do(ctx, key, step)
}

// A stuckLog is a log handler that blocks at a line whose message is the field message.
type stuckLog struct {
	slog.Handler
	message string
	free    chan struct{}
}

func (l stuckLog) Handle(ctx context.Context, line slog.Record) error {
	if line.Message == l.message {
		<-l.free
	}
	return nil
}

// TestBlockedLogHoldsBackNoStream: if the log blocks, streams must still end. Only a drain, which
// waits for the end of all runs, also waits for their log lines.
func TestBlockedLogHoldsBackNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stuckLog{slog.DiscardHandler, "run ended", make(chan struct{})}
		b := newBubble(t, endsAtOnce, func(o *Options) { o.Logger = slog.New(enabled{log}) })
		wantTypes(t, b.post(input("t", "r", "")), "RUN_STARTED RUN_FINISHED")
		drained := make(chan error, 1)
		go func() { drained <- b.h.Drain(t.Context()) }()
		synctest.Wait()
		if len(drained) > 0 {
			t.Error("drained before the run was reported")
		}
		close(log.free)
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// An enabled is a slog.Handler that is enabled for all levels.
type enabled struct{ slog.Handler }

func (enabled) Enabled(context.Context, slog.Level) bool { return true }

// TestBlockedLogKeepsNoRequests: while the log blocks, only the log lines may be kept in memory,
// not the runs with the bodies of their requests.
func TestBlockedLogKeepsNoRequests(t *testing.T) {
	free := make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, finished)) },
		func(o *Options) { o.Logger = slog.New(enabled{stuckLog{slog.DiscardHandler, "run ended", free}}) })
	defer close(free)
	heap := func() int {
		runtime.GC()
		runtime.GC() // the second one frees what pools keep
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	const runs, size = 32, 1 << 20
	run := func() {
		g.do(input("t", "r", `,"state":{"x":"`+strings.Repeat("x", size)+`"}`))
		g.mu.Lock()
		g.calls = nil
		g.mu.Unlock()
	}
	run()
	before := heap()
	for range runs {
		run()
	}
	if more := heap() - before; more > runs*size/4 {
		t.Errorf("%d runs that have ended hold %d bytes", runs, more)
	}
}

// TestLogThatIsStuckStopsRuns: if too many lines wait for the log, the ends of runs must wait too,
// so that the number of lines stays bounded.
func TestLogThatIsStuckStopsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := stuckLog{slog.DiscardHandler, "run ended", make(chan struct{})}
		b := newBubble(t, endsAtOnce, func(o *Options) { o.Logger = slog.New(enabled{log}) })
		ended := 0
		go func() {
			for ; ended < maxReports+10; ended++ {
				b.post(input("t", "r", ""))
			}
		}()
		synctest.Wait()
		if ended < maxReports || ended > maxReports+1 { // one more line is being written
			t.Errorf("%d runs have ended", ended)
		}
		close(log.free)
		synctest.Wait()
		if ended != maxReports+10 {
			t.Errorf("%d runs have ended then", ended)
		}
	})
}

// A panics is a log handler that panics.
type panics struct{ slog.Handler }

func (panics) Handle(context.Context, slog.Record) error { panic("a log") }

func TestLogThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, endsAtOnce, func(o *Options) { o.Logger = slog.New(enabled{panics{slog.DiscardHandler}}) })
		wantTypes(t, b.post(input("t", "r", "")), "RUN_STARTED RUN_FINISHED")
		if err := b.h.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
