package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asked sends a request to the server s as if from 127.0.0.1, and returns the status and the body
// of the response.
func asked(s *Server, method, path string) (int, string) {
	w := httptest.NewRecorder()
	req := httptest.NewRequest(method, path, nil)
	req.RemoteAddr = "127.0.0.1:4711"
	s.http.Handler.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

func done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func TestReadiness(t *testing.T) {
	at := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	s := New(Options{Now: func() time.Time { return at }})
	down := errors.New("dial tcp 10.0.0.3:6379: connection refused")
	for _, step := range []struct {
		what     string
		do       func()
		ready    int
		says     string // text that the body of /readyz must contain
		started  int
		reported Status
	}{
		{"at first", func() {}, 503, "listening: not yet\ndrain: ok, not draining\nstore: not reached yet", 503, Status{}},
		{"the store fails", func() { s.noteCheck(down) }, 503, "store: not reached yet", 503, Status{}},
		{"it listens", func() { s.MarkStarted(done) }, 503, "listening: ok\ndrain: ok, not draining\nstore: not reached yet", 200, Status{Started: true}},
		{"the store is there", func() { s.noteCheck(nil) }, 200, "store: ok", 200, Status{Started: true, StoreReached: true}},
		{"it is lost", func() { s.noteCheck(down) }, 200, "store: lost since 2026-11-24T02:00:00Z", 200, Status{Started: true, StoreReached: true, StoreLost: at}},
		{"still", func() { at = at.Add(time.Hour); s.noteCheck(down) }, 200, "store: lost since 2026-11-24T02:00:00Z", 200, Status{Started: true, StoreReached: true, StoreLost: at}},
		{"it is back", func() { s.noteCheck(nil) }, 200, "store: ok", 200, Status{Started: true, StoreReached: true}},
		{"draining", s.MarkDraining, 503, "drain: draining", 200, Status{Started: true, StoreReached: true, Draining: true}},
	} {
		step.do()
		code, body := asked(s, "GET", "/readyz")
		first := "ready\n"
		if code != 200 {
			first = "not ready\n"
		}
		if code != step.ready || !strings.Contains(body, step.says) || !strings.HasPrefix(body, first) || strings.Contains(body, "10.0.0.3") {
			t.Errorf("%s: /readyz answers %d, want %d with %q:\n%s", step.what, code, step.ready, step.says, body)
		}
		if code, _ := asked(s, "GET", "/startupz"); code != step.started {
			t.Errorf("%s: /startupz answers %d, want %d", step.what, code, step.started)
		}
		if code, body := asked(s, "GET", "/healthz"); code != 200 || body != "ok\n" {
			t.Errorf("%s: /healthz answers %d %q", step.what, code, body)
		}
		if st := s.Status(); st.Started != step.reported.Started || st.Draining != step.reported.Draining || st.StoreReached != step.reported.StoreReached || st.StoreLost.IsZero() != step.reported.StoreLost.IsZero() {
			t.Errorf("%s: %+v, want %+v", step.what, st, step.reported)
		}
	}
}

// TestWatch: a store starts late. In fake time, the test checks how soon the server finds the
// store, and how often the server checks it.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begun := time.Now()
		var asks atomic.Int64
		comes, goes := time.Minute, 2*time.Minute
		go s.Watch(ctx, func(ctx context.Context) error {
			asks.Add(1)
			switch since := time.Since(begun); {
			case since < comes:
				return errors.New("not there")
			case since < goes:
				return nil
			}
			<-ctx.Done() // the store does not respond
			return ctx.Err()
		})
		time.Sleep(comes)
		if s.Status().StoreReached {
			t.Error("reached before it was there")
		}
		time.Sleep(maxPause)
		if !s.Status().StoreReached {
			t.Errorf("not seen %v after it came", maxPause)
		}
		if asks.Load() > 40 {
			t.Errorf("asked %d times in a minute", asks.Load())
		}
		time.Sleep(goes - comes)
		if got := s.Status(); !got.StoreLost.IsZero() {
			t.Errorf("lost at once, although it may take its time: %+v", got)
		}
		time.Sleep(checkInterval + askTimeout)
		if got := s.Status(); got.StoreLost.IsZero() || !got.StoreReached {
			t.Errorf("a store that hangs: %+v", got)
		}
		cancel()
		synctest.Wait()
	})
}

func TestPaths(t *testing.T) {
	type build struct {
		Version string `json:"version"`
	}
	bare := New(Options{Build: build{"v1"}})
	full := New(Options{Build: build{"v1"}, Profiles: true, Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "up 1\n") })})
	for _, tt := range []struct {
		s            *Server
		method, path string
		code         int
		body         string
	}{
		{bare, "GET", "/", 200, "/healthz\n/readyz\n/startupz\n/agentz\n/buildinfo\n/drain\n/drained\n/reload\n"},
		{bare, "GET", "/buildinfo", 200, `"version": "v1"`},
		{bare, "GET", "/metrics", 404, ""},
		{full, "GET", "/metrics", 200, "up 1\n"},
		{bare, "GET", "/debug/pprof/", 404, ""},
		{bare, "GET", "/debug/pprof/heap", 404, ""},
		{full, "GET", "/debug/pprof/", 200, "goroutine"},
		{full, "GET", "/debug/pprof/goroutine?debug=1", 200, "goroutine profile"},
		{full, "GET", "/debug/pprof/cmdline", 404, ""},
		{bare, "GET", "/drain", 405, ""},
		{bare, "POST", "/drain", 503, "not started"},
		{bare, "POST", "/healthz", 405, ""},
		{bare, "GET", "/agent", 404, ""},
	} {
		if code, body := asked(tt.s, tt.method, tt.path); code != tt.code || !strings.Contains(body, tt.body) {
			t.Errorf("%s %s: %d, want %d with %q:\n%s", tt.method, tt.path, code, tt.code, tt.body, body)
		}
	}
}

func TestDrainIsTakenFromHereOnly(t *testing.T) {
	drains := 0
	s := New(Options{})
	s.MarkStarted(func() <-chan struct{} { drains++; return done() })
	s.SetReload(func() int { drains++; return 0 })
	socket := &net.UnixAddr{Name: "/run/admin.sock", Net: "unix"}
	pod := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 7081}
	for _, tt := range []struct {
		remote string
		local  net.Addr
		header string
		want   int
	}{
		{"127.0.0.1:4711", nil, "", 200},
		{"[::1]:4711", nil, "", 200},
		{"[::ffff:127.0.0.1]:4711", nil, "", 200},
		{"@", socket, "", 200},
		{"", socket, "", 200},
		{"10.0.0.1:4711", nil, "", 403},
		{"[fe80::1%eth0]:4711", nil, "", 403},
		{"@", nil, "", 403},
		{"127.0.0.1:4711", nil, "Origin", 403},
		{"127.0.0.1:4711", nil, "Sec-Fetch-Site", 403},
		{"127.0.0.6:4711", nil, "", 403}, // Istio's proxy forwards requests of other pods from this address
		{"127.0.0.1:4711", nil, "X-Forwarded-For", 403},
		{"@", socket, "X-Forwarded-Proto", 403},
		{"127.0.0.1:4711", nil, "Forwarded", 403},
		{"127.0.0.1:4711", nil, "Via", 403},
		{"10.0.0.9:4711", pod, "", 200}, // only a process of this pod has the pod's address
		{"10.0.0.1:4711", pod, "", 403},
		{"127.0.0.2:4711", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: 7081}, "", 200},
	} {
		for _, path := range []string{"/drain", "/reload"} {
			req := httptest.NewRequest("POST", path, nil)
			req.RemoteAddr = tt.remote
			if tt.local != nil {
				req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, tt.local))
			}
			if tt.header != "" {
				req.Header.Set(tt.header, "x")
			}
			before, w := drains, httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, req)
			if w.Code != tt.want || (drains > before) != (tt.want == 200) {
				t.Errorf("%s %s %s: %d, want %d; it did so %d times", path, fmt.Sprint(tt.remote, tt.local), tt.header, w.Code, tt.want, drains-before)
			}
		}
	}
}

func TestAServerThatIsOff(t *testing.T) {
	var s *Server
	s.MarkStarted(done)
	s.MarkDraining()
	s.Watch(t.Context(), func(context.Context) error { t.Error("the store is asked for nobody"); return nil })
	s.Close()
	if s.Status().Ready() {
		t.Error("ready")
	}
}

// TestDrained: GET /drained must not start a drain. It must respond when a drain ends.
func TestDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		drains := 0
		s.MarkStarted(func() <-chan struct{} { drains++; return nil })
		gone, leave := context.WithCancel(t.Context())
		codes := make(chan int, 2)
		ask := func(ctx context.Context) {
			w := httptest.NewRecorder()
			s.http.Handler.ServeHTTP(w, httptest.NewRequest("GET", "/drained", nil).WithContext(ctx))
			codes <- len(w.Body.String())
		}
		go ask(t.Context())
		go ask(gone)
		time.Sleep(time.Hour)
		if len(codes) != 0 {
			t.Fatal("it answered before a drain")
		}
		leave()
		if got := <-codes; got != 0 {
			t.Errorf("whoever left was answered with %d bytes", got)
		}
		s.MarkDraining()
		time.Sleep(time.Minute)
		if len(codes) != 0 {
			t.Fatal("it answered before the end of the drain")
		}
		s.MarkDrained()
		if got := <-codes; got != len("drained\n") {
			t.Errorf("at the end: %d bytes", got)
		}
		if code, said := asked(s, "GET", "/drained"); code != 200 || said != "drained\n" {
			t.Errorf("behind the end: %d %q", code, said)
		}
		if drains != 0 {
			t.Errorf("%d drains were begun", drains)
		}
	})
}

// TestAgentz: /agentz must report ready if each agent accepts connections. However many requests it
// gets within connectInterval, it must connect to each agent only once.
func TestAgentz(t *testing.T) {
	listen := func() (net.Listener, *url.URL, *atomic.Int64) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		var accepted atomic.Int64
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted.Add(1)
				c.Close()
			}
		}()
		return l, &url.URL{Scheme: "http", Host: l.Addr().String()}, &accepted
	}
	_, first, accepted := listen()
	second, other, _ := listen()
	at := time.Unix(0, 0)
	s := New(Options{Now: func() time.Time { return at }})
	step := func(what string, code int, says string) {
		t.Helper()
		got, said := asked(s, "GET", "/agentz")
		if got != code || said != says {
			t.Errorf("%s: %d %q, want %d %q", what, got, said, code, says)
		}
	}
	step("before the start", 503, "not started\n")
	s.Agents([]Agent{{Upstream: first}, {"billing", other}})
	step("both listen", 200, "ready\nagent: accepts connections\nbilling: accepts connections\n")
	second.Close()
	for range 100 {
		step("a moment later", 200, "ready\nagent: accepts connections\nbilling: accepts connections\n")
	}
	at = at.Add(connectInterval)
	step("one has gone", 503, "not ready\nagent: accepts connections\nbilling: accepts no connections\n")
	if code, _ := asked(s, "GET", "/readyz"); code != 503 {
		t.Errorf("/readyz answers %d: it goes by the store and the listener alone", code)
	}
	for deadline := time.Now().Add(10 * time.Second); accepted.Load() != 2; time.Sleep(time.Millisecond) {
		if accepted.Load() > 2 || time.Now().After(deadline) {
			t.Fatalf("%d connections, want 2", accepted.Load())
		}
	}
	New(Options{}).Agents(nil)
	var off *Server
	off.Agents(nil)
	off.MarkDrained()
}
