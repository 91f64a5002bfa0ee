package proxy

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTrailersOfWhatIsNoRunPass: for a request that is not a run, the response keeps its trailers,
// its status and its compression, and the request keeps its query and its headers.
func TestTrailersOfWhatIsNoRunPass(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("Content-Encoding", "br")
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, "\x0b\x02")
		w.Header().Set("X-Sum", "7")
	})
	req, _ := http.NewRequest(http.MethodGet, g.front.URL+"/files/a?b=1;2&c=%zz", nil)
	req.Header.Set("Range", "bytes=0-1")
	req.Header.Set("Accept-Encoding", "br")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusPartialContent || string(got) != "\x0b\x02" || res.Header.Get("Content-Encoding") != "br" || res.Trailer.Get("X-Sum") != "7" {
		t.Errorf("%d %q %v %v", res.StatusCode, got, res.Header, res.Trailer)
	}
	if g.paths[0] != "/agent/files/a?b=1;2&c=%zz" || g.heads[0].Get("Accept-Encoding") != "br" || g.heads[0].Get("Accept") != "" || g.heads[0].Get("Range") == "" {
		t.Errorf("%s %v", g.paths[0], g.heads[0])
	}
}

// TestBackendThatBreaksOffAnOrdinaryRunWasReached: the backend breaks the connection off before it
// responds. The client must get UPSTREAM_EOF, because the backend may have acted.
func TestBackendThatBreaksOffAnOrdinaryRunWasReached(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { panic(http.ErrAbortHandler) })
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED RUN_ERROR:UPSTREAM_EOF")
}

// TestLogsHoldNoQuery: the log must not contain the query of the client's request, nor that of the
// backend's address, because a query may contain keys.
func TestLogsHoldNoQuery(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) { w.WriteHeader(404) })
	g.h.opts.Upstream.RawQuery = "key=hunter2"
	post(t, g.front.URL+"/?token=hunter3", "application/json", input("t", "r", ""))
	if strings.Contains(g.logs.String(), "hunter") {
		t.Errorf("a secret is in the log: %s", g.logs)
	}
}

// TestDataWithoutASpaceGetsOneWhateverItSays: @ag-ui/client 0.0.42 and the Go SDK skip a data line
// that has no space after the colon. So Holdpoint must add the space.
func TestDataWithoutASpaceGetsOneWhateverItSays(t *testing.T) {
	const says = `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","role":"assistant","delta":"data: 42"}`
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, strings.ReplaceAll(streamOf(started, says, finished), "data: {", "data:{"))
	})
	if got := g.do(input("t", "r", "")); got != streamOf(started, says, finished) {
		t.Errorf("got %q", got)
	}
}

// TestSloppyMediaTypeIsAStream: every client reads the media type "text/event-stream; charset" as a
// stream, so Holdpoint must do so too. Otherwise a claimed run would be in doubt because the
// charset has no value.
func TestSloppyMediaTypeIsAStream(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Content-Type", "text/event-stream; charset")
		io.WriteString(w, streamOf(started, finished))
	})
	wantTypes(t, g.do(input("t", "r", "")), "RUN_STARTED RUN_FINISHED")
}

// TestClientThatLeftIsNotLoggedAsAnErrorOfTheBackend: the client leaves during a run. The log line
// of the run must say so, and must not report an error of the backend, because operators count
// these lines.
func TestClientThatLeftIsNotLoggedAsAnErrorOfTheBackend(t *testing.T) {
	g := newRig(t, func(w http.ResponseWriter, r *http.Request, n int) {
		sendStream(w, streamOf(started))
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	res, err := http.Post(g.front.URL, "application/json", strings.NewReader(input("t", "r", "")))
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(res.Body, make([]byte, 10))
	res.Body.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := g.h.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if logs := g.logs.String(); strings.Contains(logs, "UPSTREAM_EOF") || !strings.Contains(logs, `outcome="client left"`) {
		t.Errorf("logs: %s", logs)
	}
}
