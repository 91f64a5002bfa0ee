package trace

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"holdpoint/internal/event"
)

// recorded returns a Tracer that records its spans.
func recorded(t *testing.T) (*Tracer, *tracetest.SpanRecorder) {
	kept := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(kept))
	t.Cleanup(func() { provider.Shutdown(context.Background()) })
	return &Tracer{provider: provider, tracer: provider.Tracer("test")}, kept
}

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// TestStateOfAnotherTrace: a tracestate belongs to the traceparent of the same request. If
// Holdpoint does not use the traceparent, the backend must not get the tracestate. If a request has
// two traceparents, Holdpoint must use neither.
func TestStateOfAnotherTrace(t *testing.T) {
	for name, c := range map[string]struct {
		parents []string
		goesOn  bool
	}{
		"good":      {[]string{parent}, true},
		"malformed": {[]string{"00-1-2-01"}, false},
		"missing":   {nil, false},
		"two":       {[]string{parent, strings.Replace(parent, "0af", "1af", 1)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, _ := recorded(t)
			client := http.Header{"Tracestate": {"vendor=x"}}
			if c.parents != nil {
				client["Traceparent"] = c.parents
			}
			out := client.Clone()
			s := tracer.Begin(client, "", "t", "r")
			s.Exchange(out, "127.0.0.1")
			if got := out.Get("Tracestate"); (got == "vendor=x") != c.goesOn || c.goesOn == (got == "") {
				t.Errorf("tracestate %q", got)
			}
			if got := out["Traceparent"]; len(got) != 1 || strings.HasPrefix(got[0], parent[:35]) != c.goesOn {
				t.Errorf("traceparent %q", got)
			}
		})
	}
}

// TestNoAttributeIsLong: ids of clients and codes of backends may have megabytes. In a span they
// must be shortened.
func TestNoAttributeIsLong(t *testing.T) {
	tracer, kept := recorded(t)
	long := strings.Repeat("x", 1<<20)
	s := tracer.Begin(http.Header{}, "", long, long)
	s.Happened(event.Refused, "p", long)
	s.End(&event.Run{Outcome: "error"}, long)
	span := kept.Ended()[0]
	attrs := span.Attributes()
	for _, e := range span.Events() {
		attrs = append(attrs, e.Attributes...)
	}
	for _, a := range attrs {
		if n := len(a.Value.String()); n > 300 {
			t.Errorf("%s has %d bytes", a.Key, n)
		}
	}
	if n := len(span.Status().Description); n > 300 {
		t.Errorf("the status has %d bytes", n)
	}
}
