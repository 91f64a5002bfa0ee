//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/internal/desk"
	"holdpoint/internal/edge/admin"
	"holdpoint/internal/variables"
	"holdpoint/store/memory"
	"holdpoint/translate/dialects"
)

// A holder is a backend. Each of its streams sends RUN_STARTED and then waits until the test closes
// release. After that, a run whose thread id begins with "ask" ends with a question, and any other
// run ends without one. If after is set, the runs of threads without that prefix go on waiting.
type holder struct {
	begun   chan string // receives the thread of each stream that was opened
	release chan struct{}
	after   string // only threads with this prefix end at release
	header  atomic.Pointer[http.Header]
}

func newHolder(t *testing.T, most int) (*holder, *httptest.Server) {
	b := &holder{begun: make(chan string, most), release: make(chan struct{})}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return b, server
}

func (b *holder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	b.header.Store(&req.Header)
	body, _ := io.ReadAll(req.Body)
	thread := field(body, "threadId")
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"type\":\"RUN_STARTED\",\"threadId\":%q,\"runId\":\"r\"}\n\n", thread)
	http.NewResponseController(w).Flush()
	b.begun <- thread
	release := b.release
	if !strings.HasPrefix(thread, b.after) {
		release = nil
	}
	select {
	case <-release:
	case <-req.Context().Done():
		return
	}
	outcome := ""
	if strings.HasPrefix(thread, "ask") {
		outcome = `,"outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"confirmation"}]}`
	}
	fmt.Fprintf(w, "data: {\"type\":\"RUN_FINISHED\",\"threadId\":%q,\"runId\":\"r\"%s}\n\n", thread, outcome)
}

// opens starts as many runs as the channel begun has room for, and waits until each has reached the
// backend. For each run, the channel ends receives one string: the stream that the client got,
// followed by the error of reading it.
func (b *holder) opens(client *http.Client) (ends chan string) {
	ends = make(chan string, cap(b.begun))
	for n := range cap(b.begun) {
		go func() {
			text, err := play(client, fmt.Sprint("t", n), "")
			ends <- fmt.Sprint(text, err)
		}()
		<-b.begun
	}
	return ends
}

// field returns the string at the key name of a JSON object. It finds the first such key without
// parsing, so it works only for the simple bodies in these tests.
func field(body []byte, name string) string {
	_, rest, _ := strings.Cut(string(body), `"`+name+`":"`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// clientOf returns a client whose requests all go to addr, a unix socket (unix://PATH) or a TCP
// address.
func clientOf(addr string) *http.Client {
	network := "tcp"
	if path, ok := strings.CutPrefix(addr, "unix://"); ok {
		network, addr = "unix", path
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}}
}

// play sends a run of the thread with one message, and returns the whole stream. The parameter more
// is JSON that is appended to the body, such as `,"resume":[…]`.
func play(c *http.Client, thread, more string) (string, error) {
	body := fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[{"id":"m","role":"user","content":"go"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, thread, more)
	res, err := c.Post("http://holdpoint/", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// socket returns the unix:// address of a socket. The socket is in a new folder with a short path,
// because a longer path would not be allowed for a socket.
func socket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return "unix://" + filepath.Join(dir, "s")
}

// probe runs `holdpoint healthcheck` with the argument what, and returns its output and exit code.
// The parameter at is the address of the admin listener of the process that is probed.
func probe(t *testing.T, at, what string) (said string, code int) {
	t.Helper()
	out, errs, code := holdpoint(t, []string{"HOLDPOINT_ADMIN_LISTEN=" + at, "HOLDPOINT_UPSTREAM=is not read"}, "healthcheck", what)
	return out + errs, code
}

// until repeats probe until the exit code is the parameter code and the output contains the
// parameter says. It fails the test after 30 seconds.
func until(t *testing.T, at, what string, code int, says string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		said, got := probe(t, at, what)
		if got == code && strings.Contains(said, says) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: exit %d, want %d with %q:\n%s", what, got, code, says, said)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// metric checks that /metrics contains the line. at is the address of the process's admin socket.
func metric(t *testing.T, at, line string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(at, "unix://"))
	}}}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://admin/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n"+line+"\n") {
		t.Errorf("/metrics has no line %q", line)
	}
}

// TestProbesAndDrain: Holdpoint and its admin listener use unix sockets. The subcommand drain must
// make the process not ready, close its listener, and wait until the open stream ends. Then the
// process waits for a signal.
func TestProbesAndDrain(t *testing.T) {
	b, backend := newHolder(t, 2)
	runs, probes := socket(t), socket(t)
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_LISTEN="+runs, "HOLDPOINT_ADMIN_LISTEN="+probes,
		"HOLDPOINT_DRAIN_DELAY=0", "HOLDPOINT_DRAIN_TIMEOUT=1h")
	if addr != runs {
		t.Errorf("the log says it listens at %s, want %s", addr, runs)
	}
	for _, what := range []string{"live", "started"} {
		if said, code := probe(t, probes, what); code != 0 || said != "ok\n" {
			t.Errorf("%s: exit %d, %s", what, code, said)
		}
	}
	until(t, probes, "ready", 0, "store: ok")

	type ended struct {
		text string
		err  error
	}
	stream := make(chan ended, 1)
	go func() { text, err := play(clientOf(addr), "t", ""); stream <- ended{text, err} }()
	<-b.begun
	drained := make(chan string, 1)
	go func() {
		out, errs, code := holdpoint(t, []string{"HOLDPOINT_ADMIN_LISTEN=" + probes}, "drain")
		drained <- fmt.Sprint(code, " ", out, errs)
	}()
	until(t, probes, "ready", 1, "draining")
	if by := p.wait(t, "draining")["by"]; by != "POST /drain" {
		t.Errorf("the log says that it drains by %v", by)
	}
	if said, code := probe(t, probes, "live"); code != 0 {
		t.Errorf("a draining process is not alive: it would be killed: %s", said)
	}
	for _, err := os.Stat(strings.TrimPrefix(runs, "unix://")); err == nil; _, err = os.Stat(strings.TrimPrefix(runs, "unix://")) {
		time.Sleep(10 * time.Millisecond) // the socket is gone when the listener is closed
	}
	select {
	case got := <-drained:
		t.Fatalf("drained while a stream was open: %s", got)
	case got := <-stream:
		t.Fatalf("the stream was cut: %v", got)
	default:
	}
	close(b.release)
	if got := <-stream; got.err != nil || !strings.Contains(got.text, "RUN_FINISHED") || strings.Contains(got.text, "RUN_ERROR") {
		t.Errorf("the stream ended in %v:\n%s", got.err, got.text)
	}
	if got := <-drained; got != "0 drained\n" {
		t.Errorf("holdpoint drain: %s", got)
	}
	p.wait(t, "drained, waiting for a signal")
	if said, code := probe(t, probes, "live"); code != 0 {
		t.Errorf("it ended without a signal: %s", said)
	}
	p.Process.Signal(syscall.SIGTERM)
	if by := p.wait(t, "the drain has begun already")["by"]; by != "terminated" {
		t.Errorf("the log says that %v came", by)
	}
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d after the signal", code)
	}
	if said, code := probe(t, probes, "live"); code != 1 || !strings.Contains(said, "holdpoint: ") {
		t.Errorf("a probe of a process that is gone: exit %d, %s", code, said)
	}
}

// TestProbesWithoutAnybody: the subcommands healthcheck and drain must report why they cannot reach
// a process.
func TestProbesWithoutAnybody(t *testing.T) {
	for _, tt := range []struct {
		at, args string
		code     int
		want     string
	}{
		{"off", "healthcheck", 2, "HOLDPOINT_ADMIN_LISTEN is off"},
		{"off", "drain", 2, "HOLDPOINT_ADMIN_LISTEN is off"},
		{"127.0.0.1:0", "healthcheck", 2, "want a fixed one"},
		{"nowhere", "drain", 2, "want host:port"},
		{"unix:///nowhere/s", "drain", 1, "no such file"},
		{"unix:///nowhere/s", "healthcheck well", 2, "healthcheck takes live, ready or started"},
		{"unix:///nowhere/s", "drain now", 2, "drain takes no argument"},
	} {
		stdout, stderr, code := holdpoint(t, []string{"HOLDPOINT_ADMIN_LISTEN=" + tt.at}, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) || stdout != "" {
			t.Errorf("%s at %s: exit %d, want %d with %q: %s%s", tt.args, tt.at, code, tt.code, tt.want, stderr, stdout)
		}
	}
}

// TestAdminAddressInUse: if HOLDPOINT_ADMIN_LISTEN is set, and another program already uses the
// address, the start must fail. If the default address is in use, Holdpoint must start without the
// admin listener. So two Holdpoints on one machine need no setting.
func TestAdminAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, stderr, code := holdpoint(t, []string{upstream, "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=" + taken.Addr().String()})
	if code != 1 || !strings.Contains(stderr, "cannot listen") || !strings.Contains(stderr, "HOLDPOINT_ADMIN_LISTEN") {
		t.Errorf("exit %d, stderr %s", code, stderr)
	}
	var s admin.Settings
	g := variables.Group{Prefix: prefix, Options: &s}
	g.Read(map[string]string{"HOLDPOINT_ADMIN_LISTEN": taken.Addr().String()}) // the test sets no Given, so it counts as the default
	g.Check()
	var log strings.Builder
	probes, err := s.New(nil, nil, slog.New(slog.NewTextHandler(&log, nil)))
	if probes != nil || err != nil || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("%v, %v, %s", probes, err, log.String())
	}
}

// TestAThousandStreams: TERM arrives while a thousand streams are open. A tenth of the streams end
// with a question before the drain timeout, and the drain ends the rest. Each client must get a
// terminal event. The next process must know each question.
func TestAThousandStreams(t *testing.T) {
	t.Parallel() // it waits for the drain timeout
	const streams, asking = 1000, 100
	b, backend := newHolder(t, streams)
	b.after = "ask"
	state := filepath.Join(t.TempDir(), "state.db")
	environ := []string{"HOLDPOINT_UPSTREAM=" + backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_STORE=bolt://" + state, "HOLDPOINT_LOG_LEVEL=info"}
	p, addr := start(t, append(environ, "HOLDPOINT_DRAIN_DELAY=0", "HOLDPOINT_DRAIN_TIMEOUT=5s")...)
	client := clientOf(addr)
	name := func(n int) string {
		if n < asking {
			return fmt.Sprint("ask", n)
		}
		return fmt.Sprint("cut", n)
	}
	ends := make([]string, streams)
	var all sync.WaitGroup
	for n := range streams {
		all.Go(func() {
			text, err := play(client, name(n), "")
			if err != nil {
				text += "\nthe body ended in " + err.Error()
			}
			ends[n] = text
		})
	}
	for range streams {
		<-b.begun
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Process.Pid))
	if err == nil && (len(open) < 2*streams || len(open) > 2*streams+50) { // open files can be counted on Linux only
		t.Errorf("%d open files for %d streams, want two for each", len(open), streams)
	}
	p.Process.Signal(syscall.SIGTERM)
	p.wait(t, "draining")
	close(b.release)
	code := make(chan int, 1)
	go func() { code <- p.exit() }()
	all.Wait()
	if got := <-code; got != 0 {
		t.Errorf("exit %d", got)
	}
	var wrong []string
	for n, text := range ends {
		want := `"code":"PROXY_DRAINING"`
		if n < asking {
			want = `"outcome":{"type":"interrupt"`
		}
		frames := strings.Split(strings.TrimSpace(text), "\n\n")
		if last := frames[len(frames)-1]; !strings.Contains(last, want) {
			wrong = append(wrong, name(n)+": "+text)
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d streams without their end, the first:\n%s", len(wrong), wrong[0])
	}
	_, addr = start(t, environ...)
	client = clientOf(addr)
	for n := range asking {
		text, err := play(client, name(n), "")
		if err != nil || !strings.Contains(text, `"outcome":{"type":"interrupt"`) {
			t.Fatalf("the question of %s is lost: %v\n%s", name(n), err, text)
		}
	}
	if len(b.begun) != 0 {
		t.Errorf("%d runs went to the backend past their question", len(b.begun))
	}
}

// TestASecondSignalEndsStreamsInOrder: a second signal must end all streams at once, and each
// stream must still get its terminal event.
func TestASecondSignalEndsStreamsInOrder(t *testing.T) {
	b, backend := newHolder(t, 50)
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_DRAIN_DELAY=1h", "HOLDPOINT_DRAIN_TIMEOUT=1h")
	client := clientOf(addr)
	ends := b.opens(client)
	p.Process.Signal(syscall.SIGTERM)
	p.wait(t, "draining")
	time.Sleep(150 * time.Millisecond) // two signals within 100ms count as one
	p.Process.Signal(syscall.SIGTERM)
	for range cap(b.begun) {
		if got := <-ends; !strings.Contains(got, `"PROXY_DRAINING"`) || !strings.HasSuffix(got, "<nil>") {
			t.Errorf("a stream ended so:\n%s", got)
		}
	}
	if code := p.exit(); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
}

// TestADrainThatIsCutShort: the preStop hook of Kubernetes runs `holdpoint drain`, and TERM arrives
// before the drain is over. Each stream must still get a terminal event, and the process must exit
// with 0.
func TestADrainThatIsCutShort(t *testing.T) {
	b, backend := newHolder(t, 50)
	probes := socket(t)
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_ADMIN_LISTEN="+probes, "HOLDPOINT_DRAIN_DELAY=1h", "HOLDPOINT_DRAIN_TIMEOUT=1h")
	client := clientOf(addr)
	ends := b.opens(client)
	hook := make(chan int, 1)
	go func() {
		_, _, code := holdpoint(t, []string{"HOLDPOINT_ADMIN_LISTEN=" + probes}, "drain")
		hook <- code
	}()
	p.wait(t, "draining")
	p.Process.Signal(syscall.SIGTERM)
	for range cap(b.begun) {
		if got := <-ends; !strings.Contains(got, `"PROXY_DRAINING"`) || !strings.HasSuffix(got, "<nil>") {
			t.Errorf("a stream ended so:\n%s", got)
		}
	}
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
	if code := <-hook; code != 0 {
		t.Errorf("the hook was told %d: all streams had ended", code)
	}
}

// TestAFileThatIsInUse: a second process must wait until the first one has ended and released the
// store's file. Then it continues with the questions in the file. A signal must end the wait.
func TestAFileThatIsInUse(t *testing.T) {
	b, backend := newHolder(t, 2)
	close(b.release)
	environ := []string{"HOLDPOINT_UPSTREAM=" + backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0",
		"HOLDPOINT_STORE=bolt://" + filepath.Join(t.TempDir(), "state.db")}
	first, addr := start(t, environ...)
	asked, err := play(clientOf(addr), "ask", "")
	if err != nil || !strings.Contains(asked, `"outcome":{"type":"interrupt"`) {
		t.Fatalf("no question: %v\n%s", err, asked)
	}
	probes := socket(t)
	next := startAs(t, append(environ, "HOLDPOINT_ADMIN_LISTEN="+probes)...)
	other := startAs(t, environ...)
	const waits = "another process has the file of the store open: this one waits until the other has ended"
	for _, p := range []*process{next, other} {
		p.wait(t, waits)
	}
	if said, code := probe(t, probes, "started"); code != 1 || !strings.Contains(said, "not started") {
		t.Errorf("started: exit %d, %s", code, said)
	}
	other.Process.Signal(syscall.SIGTERM)
	other.wait(t, "stopped before it took runs")
	if code := other.exit(); code != 0 {
		t.Errorf("exit %d of one that waited, want 0", code)
	}
	first.Process.Signal(syscall.SIGTERM)
	if code := first.exit(); code != 0 {
		t.Errorf("exit %d of the first", code)
	}
	addr = next.wait(t, "listening")["addr"].(string)
	if n := strings.Count(strings.Join(next.seen, "\n"), waits); n != 1 {
		t.Errorf("the log says %d times that it waits", n)
	}
	again, err := play(clientOf(addr), "ask", "")
	if err != nil || !strings.Contains(again, `"outcome":{"type":"interrupt"`) || len(b.begun) != 1 {
		t.Errorf("the question is lost: %v, %d runs at the backend\n%s", err, len(b.begun), again)
	}
}

// TestHangup: HUP arrives while streams are open. Holdpoint must read its files again, keep the
// previous content of a file that has become invalid, and disturb no stream.
func TestHangup(t *testing.T) {
	const streams = 100
	b, backend := newHolder(t, streams+10)
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := func(id string) string { return id + ":AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" }
	headers, keys := file("headers", "X-Key: old"), file("keys", key("k1"))
	owners := file("owners", strings.Repeat("a", 32))
	p, addr := start(t, "HOLDPOINT_UPSTREAM="+backend.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_UPSTREAM_HEADERS_FILE="+headers,
		"HOLDPOINT_STORE=bolt://"+filepath.Join(dir, "state.db"), "HOLDPOINT_STORE_KEYS_FILE="+keys,
		"HOLDPOINT_PRINCIPAL_HEADER=X-User", "HOLDPOINT_TRUSTED_PEERS=127.0.0.1", "HOLDPOINT_PRINCIPAL_KEY_FILE="+owners,
		"HOLDPOINT_DRAIN_DELAY=0", "HOLDPOINT_DRAIN_TIMEOUT=1h")
	client := clientOf(addr)
	plain := client.Transport
	client.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		req.Header.Set("X-User", "ann")
		return plain.RoundTrip(req)
	})
	ends := make(chan string, streams)
	open := func(thread string) {
		t.Helper()
		go func() {
			text, err := play(client, thread, "")
			ends <- fmt.Sprint(text, err)
		}()
		<-b.begun
	}
	hangup := func(read, failed float64) {
		t.Helper()
		p.Process.Signal(syscall.SIGHUP)
		if line := p.wait(t, "reloaded"); line["read"] != read || line["failed"] != failed {
			t.Errorf("%v, want %v read and %v failed", line, read, failed)
		}
	}
	for n := range streams / 2 {
		open(fmt.Sprint("before", n))
	}
	file("headers", "X-Key: new")
	file("keys", key("k2")+","+key("k1"))
	file("owners", strings.Repeat("b", 32)+"\n"+strings.Repeat("a", 32))
	hangup(3, 0)
	open("ask after")
	if got := (*b.header.Load()).Get("X-Key"); got != "new" {
		t.Errorf("after HUP the backend gets %q", got)
	}
	file("headers", "no header")
	file("keys", "k3:short")
	os.Remove(owners)
	hangup(0, 3)
	for n := range streams/2 - 1 {
		open(fmt.Sprint("later", n))
	}
	if got := (*b.header.Load()).Get("X-Key"); got != "new" {
		t.Errorf("after HUP with a bad file the backend gets %q", got)
	}
	close(b.release)
	for range streams {
		if got := <-ends; !strings.Contains(got, "RUN_FINISHED") || strings.Contains(got, "RUN_ERROR") || !strings.HasSuffix(got, "<nil>") {
			t.Errorf("a stream ended so:\n%s", got)
		}
	}
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	state, err := os.ReadFile(filepath.Join(dir, "state.db"))
	if err != nil || !strings.Contains(string(state), "\x01\x02k2") {
		t.Errorf("the question after HUP is not sealed with the new key (%v)", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A quietListener is a net.Listener to which nobody connects.
type quietListener struct {
	closed chan struct{}
	once   sync.Once
}

func (l *quietListener) Accept() (net.Conn, error) { <-l.closed; return nil, net.ErrClosed }
func (l *quietListener) Close() error              { l.once.Do(func() { close(l.closed) }); return nil }
func (l *quietListener) Addr() net.Addr            { return &net.TCPAddr{} }

// TestTheTimesOfTheEnd: the test uses fake time. It checks when the process stops being ready, when
// it closes its listener, when it ends the streams, and when it exits.
func TestTheTimesOfTheEnd(t *testing.T) {
	const never = 1000 * time.Hour
	for _, tt := range []struct {
		what           string
		delay, timeout time.Duration
		streams        time.Duration // time until the streams end by themselves
		deaf           bool          // whether the streams do not end when they are told to
		drained        time.Duration // time of a drain before the signal, 0 for none
		second         time.Duration // time of the second signal, 0 for none
		interrupt      bool          // whether the signal is INT

		closes, told, ends time.Duration // times after the signal; told is never if the streams end by themselves
		code               int
	}{
		{what: "nothing is open", delay: 5 * time.Second, timeout: 20 * time.Second, closes: 5 * time.Second, told: never, ends: 5 * time.Second},
		{what: "streams end by themselves", delay: 5 * time.Second, timeout: 20 * time.Second, streams: 12 * time.Second, closes: 5 * time.Second, told: never, ends: 12 * time.Second},
		{what: "they are cut", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, closes: 5 * time.Second, told: 25 * time.Second, ends: 25 * time.Second},
		{what: "a stream of a minute", delay: 5 * time.Second, timeout: 90 * time.Second, streams: time.Minute, closes: 5 * time.Second, told: never, ends: time.Minute},
		{what: "clients take not even the end", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, deaf: true, closes: 5 * time.Second, told: 25 * time.Second, ends: 29 * time.Second},
		{what: "a person at a terminal", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, interrupt: true, told: 20 * time.Second, ends: 20 * time.Second},
		{what: "a second signal in the delay", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, second: time.Second, closes: time.Second, told: time.Second, ends: time.Second, code: exitError},
		{what: "a second signal behind it", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, second: 8 * time.Second, closes: 5 * time.Second, told: 8 * time.Second, ends: 8 * time.Second, code: exitError},
		{what: "a second signal, and deaf clients", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, deaf: true, second: 8 * time.Second, closes: 5 * time.Second, told: 8 * time.Second, ends: 9 * time.Second, code: exitError},
		{what: "a drain that is cut short", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, drained: 11 * time.Second, closes: -6 * time.Second, told: 0, ends: 0},
		{what: "a drain that is cut short in its delay", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, drained: time.Second, closes: 0, told: 0, ends: 0},
		{what: "a drain that is cut short, and deaf clients", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, deaf: true, drained: 11 * time.Second, closes: -6 * time.Second, told: 0, ends: time.Second},
		{what: "a drain that is cut short, and a second signal", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, deaf: true, drained: 11 * time.Second, second: 500 * time.Millisecond, closes: -6 * time.Second, told: 0, ends: 500 * time.Millisecond, code: exitError},
		{what: "a person at a terminal during a drain", delay: 5 * time.Second, timeout: 20 * time.Second, streams: never, drained: 11 * time.Second, interrupt: true, closes: -6 * time.Second, told: 14 * time.Second, ends: 14 * time.Second},
		{what: "a drain that has ended", delay: 5 * time.Second, timeout: 20 * time.Second, streams: time.Second, drained: time.Minute, closes: -55 * time.Second, told: never, ends: 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told atomic.Int64
				told.Store(int64(never))
				begun := time.Now()
				signalled := begun.Add(tt.drained)
				over := make(chan struct{})
				time.AfterFunc(tt.streams, func() { close(over) })
				drain := func(ctx context.Context) error {
					select {
					case <-over:
						return nil
					case <-ctx.Done():
					}
					told.CompareAndSwap(int64(never), int64(time.Since(signalled)))
					if tt.deaf {
						time.Sleep(storeTimeoutOfProxy)
						return errors.New("some streams did not end")
					}
					return nil
				}
				s := newServer(nil, drain, slog.New(slog.DiscardHandler))
				s.delay, s.timeout, s.adminServer = tt.delay, tt.timeout, admin.New(admin.Options{})
				l := &quietListener{closed: make(chan struct{})}
				signals, code := make(chan os.Signal, 2), make(chan int, 1)
				go func() { code <- s.serve(l, signals) }()
				var closes time.Duration
				go func() { <-l.closed; closes = time.Since(signalled) }()
				synctest.Wait()
				if st := s.adminServer.Status(); !st.Started || st.Draining {
					t.Errorf("at first: %+v", st)
				}
				if tt.drained > 0 {
					s.beginDrain(s.delay, byDrain)
					time.Sleep(tt.drained)
				}
				if tt.interrupt {
					signals <- os.Interrupt
				} else {
					signals <- syscall.SIGTERM
				}
				synctest.Wait()
				if !s.adminServer.Status().Draining {
					t.Error("still ready after the signal")
				}
				if tt.second > 0 {
					time.Sleep(tt.second)
					signals <- syscall.SIGTERM
				}
				got := <-code
				ends := time.Since(signalled)
				synctest.Wait()
				if got != tt.code || closes != tt.closes || time.Duration(told.Load()) != tt.told || ends.Round(100*time.Millisecond) != tt.ends {
					t.Errorf("exit %d, closed %v, told %v, ended %v; want %d, %v, %v, %v",
						got, closes, time.Duration(told.Load()), ends, tt.code, tt.closes, tt.told, tt.ends)
				}
				time.Sleep(time.Minute) // so that goroutines that were not waited for end too
			})
		})
	}
}

// storeTimeoutOfProxy is the longest time for which proxy.Handler.Drain waits until all streams
// have ended.
const storeTimeoutOfProxy = 5 * time.Second

// TestRequestsWhileItEnds: a process that drains must answer requests with the header Connection:
// close.
func TestRequestsWhileItEnds(t *testing.T) {
	s := newServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }), nil, slog.New(slog.DiscardHandler))
	for _, ending := range []bool{false, true} {
		s.isDraining.Store(ending)
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if got := w.Header().Get("Connection") == "close"; got != ending || w.Body.String() != "ok" {
			t.Errorf("ending %v: Connection: %q, %s", ending, w.Header().Get("Connection"), w.Body)
		}
	}
}

// TestDrainedAtTheDesk: a process that has only a desk and no agents must also drain at a signal,
// and report that it has drained.
func TestDrainedAtTheDesk(t *testing.T) {
	c, err := load([]string{upstream, "HOLDPOINT_DESK_LISTEN=127.0.0.1:0", "HOLDPOINT_DESK_TOKEN=" + deskToken}, dialects.All())
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	d, err := c.desk.New(desk.Options{
		Store: memory.New(memory.Options{}), Front: &c.front, Logger: logger,
		Keys: func(string) ([][]byte, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Start()
	p := &program{settings: c, logger: logger, desk: d, adminServer: admin.New(admin.Options{})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go p.adminServer.Serve(l)
	defer p.adminServer.Close()
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	if code := p.waitAtDesk(signals); code != exitOK {
		t.Errorf("exit %d", code)
	}
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Get("http://" + l.Addr().String() + "/drained")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 || string(text) != "drained\n" {
		t.Errorf("/drained answers %d %q", res.StatusCode, text)
	}
}
