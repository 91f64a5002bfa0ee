package main

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"time"

	"holdpoint/internal/observe/trace"
	"holdpoint/proxy"
)

// spansLastWords is how long the last spans may take at the end. The grace period has 5s beside the
// delay and the timeout, and lastWords has four of them.
const spansLastWords = 750 * time.Millisecond

// startSpans makes spans, if OpenTelemetry's variables say where to send them. end sends the last.
func (c *config) startSpans(logger *slog.Logger) (end func(), err error) {
	if !trace.Enabled(os.Getenv) {
		return func() {}, nil
	}
	if err := trace.CheckProtocol(os.Getenv); err != nil {
		return nil, err
	}
	if c.spans, err = trace.New(context.Background(), readBuild().Version, logger); err != nil {
		return nil, err
	}
	logger.Info("spans are sent by OTLP")
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), spansLastWords)
		defer cancel()
		if err := c.spans.Shutdown(ctx); err != nil {
			logger.Warn("the last spans were not sent", "err", err)
		}
	}, nil
}

// tracer is what makes spans of runs, nil if nothing does.
func (c *config) tracer() proxy.Tracer {
	if c.spans == nil {
		return nil
	}
	return runTracer{c.spans}
}

// A runTracer is the tracer as proxy knows it.
type runTracer struct{ *trace.Tracer }

// Begin implements proxy.Tracer.
func (t runTracer) Begin(header http.Header, agent, thread, run string) proxy.Span {
	return t.Tracer.Begin(header, agent, thread, run)
}
