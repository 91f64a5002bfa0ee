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

// beginSpan begins the run's span, if spans are made. leave ends it, so it begins where a run is
// served: a decision at the desk makes none.
func (r *run) beginSpan() {
	if t := r.h.opts.Tracer; t != nil {
		r.span = t.Begin(r.request.http.Header, r.h.opts.Agent, r.request.clientThread(), r.request.input.RunID)
		r.request.trace, r.ledger.Voice.Span = r.span.TraceID(), r.span
	}
}

// traceparent is the context of the run's span, "" if it has none.
func (r *run) traceparent() string {
	if r.span == nil {
		return ""
	}
	return r.span.Traceparent()
}
