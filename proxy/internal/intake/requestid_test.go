package intake

import (
	"net/http"
	"strings"
	"testing"
)

func TestTraceID(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for value, want := range map[string]string{
		"00-" + trace + "-00f067aa0ba902b7-01":        trace,
		"cc-" + trace + "-00f067aa0ba902b7-01-more":   trace,
		"ff-" + trace + "-00f067aa0ba902b7-01":        "",
		"00-" + trace[1:] + "-00f067aa0ba902b7-01":    "",
		"00-" + trace + "-00f067aa0ba902b-01":         "",
		"00-" + strings.ToUpper(trace) + "-00f0-01":   "",
		"00-00000000000000000000000000000000-00f0-01": "",
		"": "",
	} {
		if got := TraceID(http.Header{"Traceparent": {value}}); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}
