package proxy

import (
	"net/http"

	"holdpoint/internal/event"
)

// A Tracer makes the spans of runs. Its methods must not block.
type Tracer interface {
	// Begin begins the span of a run. header is the header of the client's request, which may name
	// a parent span.
	Begin(header http.Header, agent, thread, run string) Span
}

// A Span is the span of one run. It receives no message, argument or answer. Its methods are called
// by one goroutine at a time.
type Span interface {
	TraceID() string
	// Traceparent returns the context of the span, in the form of W3C Trace Context.
	Traceparent() string
	// Resumes links the run to the run that raised the question.
	Resumes(traceparent string)
	// Happened adds an event to the span.
	Happened(kind event.Kind, pause, code string)
	// Exchange begins the span of a request to the backend, and adds its context to the header.
	Exchange(header http.Header, address string)
	// ExchangeEnded ends the span of the request. failure is how the backend failed, "" if it did
	// not.
	ExchangeEnded(failure string)
	// End ends the span of the run. code is the code of its RUN_ERROR, "" if it has none.
	End(r *event.Run, code string)
}

// traceparent returns the context of the run's span, "" if it has none.
func (t *thread) traceparent() string {
	if t.span == nil {
		return ""
	}
	return t.span.Traceparent()
}
