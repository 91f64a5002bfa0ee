package proxy

import (
	"net/http"

	"holdpoint/internal/event"
)

// A Tracer makes the trace spans of runs. Its methods must not block.
type Tracer interface {
	// Begin begins the span of a run. header is the header of the client's request, which may name
	// a parent span.
	Begin(header http.Header, agent, thread, run string) Span
}

// A Span is the trace span of one run. It never gets a message, an argument or an answer. Only one
// goroutine at a time calls its methods.
type Span interface {
	TraceID() string
	// Traceparent returns the context of the span as a traceparent (W3C Trace Context).
	Traceparent() string
	// Resumes links this run to the run that raised the question. traceparent is that of the other
	// run.
	Resumes(traceparent string)
	// Happened adds an event about a question to the span.
	Happened(kind event.Kind, pause, code string)
	// Exchange begins the span of a request to the backend, and adds its context to the header.
	Exchange(header http.Header, address string)
	// ExchangeEnded ends the span of the request to the backend. failure says in what way the
	// backend failed, "" if it did not fail.
	ExchangeEnded(failure string)
	// End ends the span of the run. code is the code of the RUN_ERROR, "" if the run has no
	// RUN_ERROR.
	End(r *event.Run, code string)
}

// traceparent returns the traceparent of the run's span, "" if the run has no span.
func (t *thread) traceparent() string {
	if t.span == nil {
		return ""
	}
	return t.span.Traceparent()
}
