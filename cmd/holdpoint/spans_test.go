//go:build unix

package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"holdpoint/internal/test/servers"
)

// A spanRecorder is a server that receives spans where Holdpoint expects an OpenTelemetry
// collector.
type spanRecorder struct {
	*httptest.Server
	mu    sync.Mutex
	list  []*spans.Span
	bytes []byte // bodies of all requests
	names []string
}

func newSpanRecorder(t *testing.T) *spanRecorder {
	r := &spanRecorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || req.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", req.Method, req.URL, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bytes = append(r.bytes, body...)
		for _, of := range sent.ResourceSpans {
			for _, a := range of.Resource.Attributes {
				if a.Key == "service.name" {
					r.names = append(r.names, a.Value.GetStringValue())
				}
			}
			for _, in := range of.ScopeSpans {
				r.list = append(r.list, in.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// wait waits up to 30 seconds for a span that has the given name, and whose attribute key has the
// given value.
func (r *spanRecorder) wait(t *testing.T, name, key, value string) *spans.Span {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); {
		r.mu.Lock()
		for _, s := range r.list {
			if s.Name == name && attributeOf(s, key) == value {
				r.mu.Unlock()
				return s
			}
		}
		r.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no span %s with %s %q", name, key, value)
	return nil
}

func attributeOf(s *spans.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// traced sends a run with the header Traceparent, and returns its stream. The parameter more is
// JSON that is appended to the body.
func traced(t *testing.T, addr, run, parent, more string) string {
	t.Helper()
	body := fmt.Sprintf(`{"threadId":"t","runId":%q,"messages":[{"id":"m","role":"user","content":"canary"}],"tools":[],"context":[],"state":{},"forwardedProps":{}%s}`, run, more)
	req, err := http.NewRequest("POST", "http://"+addr+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", parent)
	req.Header.Set("Tracestate", "vendor=x")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	firstTrace  = "0af7651916cd43dd8448eb211c80319c"
	secondTrace = "1bf7651916cd43dd8448eb211c80319d"
	aboveIt     = "b7ad6b7169203331"
)

// TestSpans: the span of a run must be a child of the client's span. The request to the backend
// must carry the span of the exchange, so that the backend's span can become a child of it. If a
// run has an answer, its span must link to the span of the run that asked, even if the asking run
// was served by an earlier process. No span may contain texts of users or agents.
func TestSpans(t *testing.T) {
	t.Parallel()
	recorder, backend := newSpanRecorder(t), &asker{}
	var mu sync.Mutex
	var parents []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		parents = append(parents, r.Header.Get("Traceparent")+" "+r.Header.Get("Tracestate"))
		mu.Unlock()
		backend.ServeHTTP(w, r)
	}))
	defer upstream.Close()
	environ := []string{
		"HOLDPOINT_UPSTREAM=" + upstream.URL, "HOLDPOINT_NAME=billing", "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s",
		"HOLDPOINT_STORE=bolt://" + filepath.Join(t.TempDir(), "state.db"),
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + recorder.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
	}
	p := startAs(t, environ...)
	addr := p.wait(t, "listening")["addr"].(string)
	asked := askedID.FindStringSubmatch(traced(t, addr, "r1", "00-"+firstTrace+"-"+aboveIt+"-01", ""))
	if asked == nil {
		t.Fatal("no question")
	}
	first := recorder.wait(t, "run", "agui.run_id", "r1")
	p.Process.Kill()
	p.exit()
	p = startAs(t, environ...)
	addr = p.wait(t, "listening")["addr"].(string)
	canary := strings.Replace(yesTo(asked[1]), "true", `{"says":"canary"}`, 1)
	if got := traced(t, addr, "r2", "00-"+secondTrace+"-"+aboveIt+"-01", canary); !strings.Contains(got, "RUN_FINISHED") {
		t.Fatal(got)
	}
	line := p.wait(t, "run ended")
	p.Process.Signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	second, exchange := recorder.wait(t, "run", "agui.run_id", "r2"), recorder.wait(t, "exchange", "server.address", "127.0.0.1")

	for trace, s := range map[string]*spans.Span{firstTrace: first, secondTrace: second} {
		if hex.EncodeToString(s.TraceId) != trace || hex.EncodeToString(s.ParentSpanId) != aboveIt || s.Kind != spans.Span_SPAN_KIND_SERVER ||
			attributeOf(s, "holdpoint.agent") != "billing" || attributeOf(s, "holdpoint.dialect") != "agui" || s.TraceState != "vendor=x" {
			t.Errorf("the span of a run: %v", s)
		}
	}
	if attributeOf(first, "holdpoint.outcome") != "interrupt" || attributeOf(second, "holdpoint.outcome") != "finished" || line["trace_id"] != secondTrace {
		t.Errorf("outcomes %q, %q; the log's trace is %v", attributeOf(first, "holdpoint.outcome"), attributeOf(second, "holdpoint.outcome"), line["trace_id"])
	}
	if len(first.Events) == 0 || first.Events[0].Name != "interrupt.raised" {
		t.Errorf("events of the run that asked: %v", first.Events)
	}
	if len(second.Links) != 1 || hex.EncodeToString(second.Links[0].TraceId) != firstTrace || hex.EncodeToString(second.Links[0].SpanId) != hex.EncodeToString(first.SpanId) {
		t.Errorf("links of the run with the answer: %v", second.Links)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := "00-" + hex.EncodeToString(exchange.TraceId) + "-" + hex.EncodeToString(exchange.SpanId) + "-01 vendor=x"; len(parents) != 2 || parents[0] != want {
		t.Errorf("the backend got %q, want %q first", parents, want)
	}
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	for _, secret := range []string{"canary", "Go on?"} {
		if strings.Contains(string(recorder.bytes), secret) {
			t.Errorf("the spans have %q", secret)
		}
	}
	if len(recorder.names) == 0 || recorder.names[0] != "holdpoint" {
		t.Errorf("the service is %q", recorder.names)
	}
}

// TestNoSpans: if no collector is configured, or spans are switched off, Holdpoint must forward the
// client's traceparent unchanged. A collector that is away or hangs must not delay anything.
func TestNoSpans(t *testing.T) {
	t.Parallel()
	hangs, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	gone := "http://" + servers.RefusingAddress(t)
	for name, c := range map[string]struct {
		environ []string
		passes  bool
	}{
		"not configured":   {nil, true},
		"switched off":     {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone, "OTEL_SDK_DISABLED=true"}, true},
		"no exporter":      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone, "OTEL_TRACES_EXPORTER=none"}, true},
		"no collector":     {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone}, false},
		"one that hangs":   {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://" + hangs.Addr().String() + "/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=10"}, false},
		"nothing is taken": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + gone, "OTEL_TRACES_SAMPLER=always_off"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			got := ""
			backend := &asker{}
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				got = r.Header.Get("Traceparent") + " " + r.Header.Get("Tracestate")
				mu.Unlock()
				backend.ServeHTTP(w, r)
			}))
			defer upstream.Close()
			p := startAs(t, append(c.environ, "HOLDPOINT_UPSTREAM="+upstream.URL, "HOLDPOINT_DIALECT=agui", "HOLDPOINT_DRAIN_DELAY=0s")...)
			parent := "00-" + firstTrace + "-" + aboveIt + "-01"
			if text := traced(t, p.wait(t, "listening")["addr"].(string), "r1", parent, ""); askedID.FindStringSubmatch(text) == nil {
				t.Errorf("got %s", text)
			}
			mu.Lock()
			defer mu.Unlock()
			if passes := got == parent+" vendor=x"; passes != c.passes || !strings.HasPrefix(got, "00-"+firstTrace) {
				t.Errorf("the backend got %q", got)
			}
			p.Process.Signal(syscall.SIGTERM)
			if code := p.exit(); code != 0 {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// TestSpansByAnotherProtocol: a protocol that Holdpoint does not support must be an error at start.
func TestSpansByAnotherProtocol(t *testing.T) {
	_, stderr, code := holdpoint(t, []string{
		"HOLDPOINT_UPSTREAM=http://127.0.0.1:1", "HOLDPOINT_LISTEN=127.0.0.1:0", "HOLDPOINT_ADMIN_LISTEN=off",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
	}, "run")
	if code == 0 || !strings.Contains(stderr, "http/protobuf only") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
