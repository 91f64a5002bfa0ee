package proxy

import (
	"net/http"

	"holdpoint/internal/event"
)

// A Tracer makes the spans of runs. It must not wait for anybody.
type Tracer interface {
	// Begin begins the span of a run. header is the client's, which may have a span above it.
	Begin(header http.Header, agent, thread, run string) Span
}

// A Span is the span of one run. It is told no message, no argument and no answer. Its methods are
// called from one goroutine at a time.
type Span interface {
	TraceID() string
	// Traceparent is the span's context, in the form of W3C Trace Context.
	Traceparent() string
	// Resumes links the run to the one that it goes on with.
	Resumes(traceparent string)
	// Happened notes an event of the run.
	Happened(kind event.Kind, pause, code string)
	// Exchange begins the span of a request to the backend, and puts its context into the header.
	Exchange(header http.Header, address string)
	// ExchangeEnded ends it. failure is how the backend failed, "" if it did not.
	ExchangeEnded(failure string)
	// End ends the run's span. code is that of its RUN_ERROR, "" if it has none.
	End(r *event.Run, code string)
}

// traceparent returns the context of the run's span, "" if it has none.
func (t *thread) traceparent() string {
	if t.span == nil {
		return ""
	}
	return t.span.Traceparent()
}
