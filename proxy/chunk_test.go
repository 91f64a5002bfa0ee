package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdpoint/store"
	"holdpoint/translate"
)

// taken takes over (hijacks) the connection of a request and writes header to it. The test can then
// write the rest of the response by hand.
func taken(t *testing.T, w http.ResponseWriter, header string) net.Conn {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		panic(http.ErrAbortHandler)
	}
	io.WriteString(conn, header)
	return conn
}

const chunkedStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// inChunks sends a run, and returns a scanner that reads the response. The backend sends the text
// "first" as one chunk. When this chunk has reached the client, the backend sends the text "then",
// and after that it sends nothing more.
func inChunks(t *testing.T, first, then string, change ...func(*Options)) (came *bufio.Scanner) {
	t.Helper()
	next, gone := make(chan struct{}), make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		conn := taken(t, w, chunkedStream+chunk(first))
		defer conn.Close()
		<-next
		io.WriteString(conn, then)
		<-gone
	}, change...)
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Post(g.front.URL+"/", "application/json", strings.NewReader(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(gone)
		res.Body.Close()
	})
	came = bufio.NewScanner(res.Body)
	came.Buffer(nil, 1<<20)
	for range 2 { // the event and the blank line that follows
		if !came.Scan() {
			t.Fatal(came.Err())
		}
	}
	close(next)
	return came
}

// TestSilenceWithinAChunkIsSeen: a backend stops in the middle of a chunk. The idle timeout must
// end the stream.
func TestSilenceWithinAChunkIsSeen(t *testing.T) {
	came := inChunks(t, streamOf(started), "100\r\ndata: {", func(o *Options) { o.IdleTimeout = 100 * time.Millisecond })
	for came.Scan() {
		if strings.Contains(came.Text(), "UPSTREAM_IDLE") {
			return
		}
	}
	t.Errorf("the client was not told: %v", came.Err())
}

// TestSilenceOfASecondExchangeIsSeen: a run may send several requests to the backend. The idle
// timeout must apply to each of them, even if its stream never begins.
func TestSilenceOfASecondExchangeIsSeen(t *testing.T) {
	gone := make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		w.Header().Set("Content-Type", "text/event-stream")
		if n == 1 {
			io.WriteString(w, streamOf(started, finished))
			return
		}
		w.(http.Flusher).Flush()
		<-gone
	}, func(o *Options) { o.IdleTimeout = 100 * time.Millisecond })
	defer close(gone)
	g.dialect.end = func(n int, e translate.End) (translate.Result, error) {
		if n == 1 {
			return translate.Result{Next: &translate.Exchange{}}, nil
		}
		return translate.Result{}, nil
	}
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED RUN_ERROR:UPSTREAM_IDLE")
}

// A heldStore delays the steps that open a pause or end a claim, until the test releases each.
type heldStore struct {
	store.Store
	free chan struct{}
}

func (s heldStore) Do(ctx context.Context, key store.Key, step store.Step) (store.StepResult, error) {
	switch step.(type) {
	case store.Ask, store.Finish:
		select {
		case <-s.free:
		case <-ctx.Done():
		}
	}
	return s.Store.Do(ctx, key, step)
}

// begun sends a run. It reads the response up to the first line for which is returns true. found is
// false if there is no such line. rest reads and returns the rest of the response.
func begun(t *testing.T, g *rig, body string, is func(line string) bool) (found bool, rest func() string) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Post(g.front.URL+"/", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	for !found && lines.Scan() {
		found = is(lines.Text())
	}
	return found, func() string {
		var all []string
		for lines.Scan() {
			all = append(all, lines.Text())
		}
		return strings.Join(all, "\n")
	}
}

// TestHeartbeatsGoOnWhileTheStoreIsSlow: while the store is slow, the client must get heartbeats.
// In this test the whole stream of the backend arrives at once, so Holdpoint sends the header of
// its response only with the first frames.
func TestHeartbeatsGoOnWhileTheStoreIsSlow(t *testing.T) {
	free := make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) { sendStream(w, streamOf(started, hello, asks)) },
		func(o *Options) { o.Heartbeat, o.Store = 20*time.Millisecond, heldStore{o.Store, free} })
	for _, more := range []string{"", resumeWith(yes("n1~id1"))} {
		found, rest := begun(t, g, input("t", "r"+more[:min(1, len(more))], more), func(line string) bool { return strings.HasPrefix(line, ":") })
		if !found {
			t.Errorf("%q: no heartbeat", more)
		}
		free <- struct{}{}
		if got := rest(); !strings.Contains(got, `"interrupt"`) {
			t.Errorf("%q: %s", more, got)
		}
	}
}

// TestFramesDoNotWaitForASecondExchange: a run sends two requests to the backend. The client must
// get the frames of the first response before Holdpoint sends the second request, even if all these
// frames arrived at once.
func TestFramesDoNotWaitForASecondExchange(t *testing.T) {
	free := make(chan struct{})
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 2 {
			<-free
		}
		sendStream(w, streamOf(started, hello, finished))
	})
	g.dialect.end = func(n int, _ translate.End) (translate.Result, error) {
		if n == 1 {
			return translate.Result{Next: &translate.Exchange{}}, nil
		}
		return translate.Result{}, nil
	}
	found, rest := begun(t, g, input("t", "r", ""), func(line string) bool { return strings.Contains(line, "TEXT_MESSAGE_CHUNK") })
	close(free)
	if got := rest(); !found || !strings.Contains(got, "RUN_FINISHED") {
		t.Errorf("found %v, then %s", found, got)
	}
}

// TestFrameDoesNotWaitForALaterChunk: the backend sends a complete frame and then a part of a large
// chunk. The client must get the frame before the rest of the large chunk arrives.
func TestFrameDoesNotWaitForALaterChunk(t *testing.T) {
	large := chunk(streamOf(`{"type":"STATE_SNAPSHOT","snapshot":{"a":"` + strings.Repeat("x", 100_000) + `"}}`))
	for _, size := range []int{10_000, 40_000, 90_000} {
		came := inChunks(t, streamOf(started), chunk(streamOf(hello))+large[:size])
		found := false
		for !found && came.Scan() {
			found = strings.Contains(came.Text(), "TEXT_MESSAGE_CHUNK")
		}
		if !found {
			t.Errorf("%d bytes of the next chunk: the frame is held back: %v", size, came.Err())
		}
	}
}

// TestHalfClosePassesThroughAnUpgrade: a request that is not a run switches protocols, so its
// connection becomes a tunnel. Each side must be able to stop sending and still receive.
func TestHalfClosePassesThroughAnUpgrade(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		conn := taken(t, w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		defer conn.Close()
		said, _ := io.ReadAll(conn)
		io.WriteString(conn, "heard "+string(said))
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.front.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(conn, "GET /socket HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res, err)
	}
	io.WriteString(conn, "me")
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(r); string(got) != "heard me" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestConnectionOfAnAnswerWithoutAStreamIsLetGo: if a response of the backend has no events,
// net/http may reuse its connection to the backend before Holdpoint has read the response. So
// Holdpoint must not touch this connection any more. If it does, the race detector reports it.
func TestConnectionOfAnAnswerWithoutAStreamIsLetGo(t *testing.T) {
	for _, c := range []struct {
		header string
		status int
		body   string
	}{
		{"text/event-stream", 200, ""},
		{"text/plain", 200, "ok"},
		{"text/plain", 204, ""},
	} {
		g := newRig(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Type", c.header)
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		for range 10 {
			g.do(input("t", "r", ""))
		}
		g.front.Close()
	}
}
