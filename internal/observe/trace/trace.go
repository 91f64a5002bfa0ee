// Package trace creates OpenTelemetry spans of runs, and sends them by OTLP over HTTP. It is the
// only package that imports OpenTelemetry.
//
// The package gets no messages, arguments or answers. Package proxy tells it when a run begins, the
// run's ids and its outcome. OpenTelemetry's own environment variables configure the package.
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"holdpoint/internal/event"
)

// Enabled reports whether spans are sent. This is so if a variable sets an endpoint for spans, and
// no variable disables them.
func Enabled(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none") {
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
}

// CheckProtocol returns an error if a variable sets a protocol other than http/protobuf.
func CheckProtocol(getenv func(string) string) error {
	for _, name := range [...]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch p := getenv(name); p {
		case "", "http/protobuf":
			if p != "" {
				return nil
			}
		default:
			return fmt.Errorf(textOnlyHTTP, name, p)
		}
	}
	return nil
}

// A Tracer creates spans, and sends them in the background.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	context  propagation.TraceContext
}

// warnEvery is the shortest time between two log lines about spans that could not be sent.
const warnEvery = time.Minute

// New creates a Tracer that OpenTelemetry's environment variables configure. The Tracer connects to
// the collector when it sends the first spans.
func New(ctx context.Context, version string, logger *slog.Logger) (*Tracer, error) {
	// Without this call the SDK would write plain text to standard error, between the lines of the
	// log.
	otel.SetLogger(logr.FromSlogHandler(logger.Handler()))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	attrs := []attribute.KeyValue{attribute.String("service.version", version)}
	if os.Getenv("OTEL_SERVICE_NAME") == "" && !strings.Contains(os.Getenv("OTEL_RESOURCE_ATTRIBUTES"), "service.name=") {
		attrs = append(attrs, attribute.String("service.name", "holdpoint"))
	}
	res, err := resource.New(ctx, resource.WithAttributes(attrs...), resource.WithFromEnv(), resource.WithTelemetrySDK())
	switch {
	case errors.Is(err, resource.ErrPartialResource):
		// without err, because it may contain values, which may be secrets
		logger.Warn(logAttributes)
	case err != nil:
		return nil, err
	}
	var last atomic.Int64
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		now := time.Now().UnixNano()
		if then := last.Load(); now-then > int64(warnEvery) && last.CompareAndSwap(then, now) {
			logger.Warn(logCannotSend, "err", err)
		}
	}))
	provider := sdk.NewTracerProvider(sdk.WithResource(res), sdk.WithBatcher(exporter))
	return &Tracer{provider: provider, tracer: provider.Tracer("holdpoint")}, nil
}

// Shutdown sends the remaining spans. It gives up when ctx is done.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// A Span is the trace span of one run.
type Span struct {
	t      *Tracer
	ctx    context.Context
	span   trace.Span
	client trace.Span // the span of the current request to the backend, or nil
}

// Begin starts the span of a run. header is the header of the client's request. If it names a
// parent span, the new span belongs to that span's trace.
func (t *Tracer) Begin(header http.Header, agent, thread, run string) *Span {
	parent := context.Background()
	if len(header["Traceparent"]) == 1 { // two different values are ambiguous
		parent = t.context.Extract(parent, propagation.HeaderCarrier(header))
	}
	ctx, span := t.tracer.Start(parent, "run", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", http.MethodPost),
		attribute.String("holdpoint.agent", agent),
		attribute.String("agui.thread_id", cutCopy(thread)),
		attribute.String("agui.run_id", cutCopy(run)),
	))
	return &Span{t: t, ctx: ctx, span: span}
}

// TraceID returns the id of the span's trace.
func (s *Span) TraceID() string { return s.span.SpanContext().TraceID().String() }

// cutCopy returns a copy of a text that a client or a backend chose, shortened to 200 bytes. The
// copy is needed because the text may be a part of a request. Without it the whole request would
// stay in memory until the span is sent.
func cutCopy(text string) string {
	const most = 200
	if len(text) <= most {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Traceparent returns the context of the span as the value of a traceparent header. If a later run
// resumes this run, it links its span to that context.
func (s *Span) Traceparent() string { return s.inject(s.ctx).Get("traceparent") }

func (s *Span) inject(ctx context.Context) http.Header {
	header := http.Header{}
	s.t.context.Inject(ctx, propagation.HeaderCarrier(header))
	return header
}

// Resumes links the span to the span of the run that this run resumes. traceparent is what
// Traceparent returned for that span.
func (s *Span) Resumes(traceparent string) {
	from := trace.SpanContextFromContext(s.t.context.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent}))
	if from.IsValid() {
		s.span.AddLink(trace.Link{SpanContext: from, Attributes: []attribute.KeyValue{attribute.String("holdpoint.link", textInterruptedRun)}})
	}
}

// Happened adds an event of a pause to the span of the run.
func (s *Span) Happened(kind event.Kind, pause, code string) {
	attrs := []attribute.KeyValue{attribute.String("holdpoint.pause", pause)}
	if code != "" {
		attrs = append(attrs, attribute.String("holdpoint.code", cutCopy(code)))
	}
	s.span.AddEvent(string(kind), trace.WithAttributes(attrs...))
}

// Exchange starts the span of a request to the backend. It writes the context of that span into
// header, the header of the request.
func (s *Span) Exchange(header http.Header, address string) {
	s.ExchangeEnded("")
	ctx, client := s.t.tracer.Start(s.ctx, "exchange", trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", http.MethodPost), attribute.String("server.address", address),
	))
	s.client = client
	// it belongs to the client's trace, which may differ from the span's trace
	delete(header, "Tracestate")
	for name, values := range s.inject(ctx) {
		header[http.CanonicalHeaderKey(name)] = values
	}
}

// ExchangeEnded ends the span of the current request to the backend, if there is one. failure is
// the class of the backend's failure, or "".
func (s *Span) ExchangeEnded(failure string) {
	if s.client == nil {
		return
	}
	if failure != "" {
		s.client.SetStatus(codes.Error, failure)
		s.client.SetAttributes(attribute.String("error.type", failure))
	}
	s.client.End()
	s.client = nil
}

// End ends the span of the run.
func (s *Span) End(r *event.Run, code string) {
	s.ExchangeEnded(r.Upstream)
	s.span.SetAttributes(
		attribute.String("holdpoint.dialect", r.Dialect), attribute.String("holdpoint.outcome", r.Outcome),
		attribute.Int("holdpoint.frames.passed", r.PassedFrames), attribute.Int("holdpoint.frames.rewritten", r.RewrittenFrames),
		attribute.Int("holdpoint.frames.dropped", r.DroppedFrames), attribute.Int("holdpoint.frames.made", r.MadeEvents),
	)
	if code != "" {
		s.span.SetAttributes(attribute.String("holdpoint.code", cutCopy(code)))
	}
	if r.Outcome == "error" {
		s.span.SetStatus(codes.Error, cutCopy(code))
	}
	s.span.End()
}
