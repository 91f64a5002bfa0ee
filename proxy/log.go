package proxy

import (
	"context"
	"log/slog"
	"strings"

	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/stream"
)

// A runLog is the slog.Handler of a run's lines. They name thread and run. slog's own With would
// format both at the beginning of each run, and most runs have only one line, at their end.
type runLog struct{ *run }

func (l runLog) attrs() []slog.Attr {
	return []slog.Attr{slog.String("thread_id", agui.Cut(l.request.clientThread())), slog.String("run_id", agui.Cut(l.request.input.RunID))}
}

// Enabled implements slog.Handler.
func (l runLog) Enabled(ctx context.Context, level slog.Level) bool {
	return l.h.log.Handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l runLog) Handle(ctx context.Context, line slog.Record) error {
	return l.WithAttrs(nil).Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (l runLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return l.h.log.Handler().WithAttrs(append(l.attrs(), attrs...))
}

// WithGroup implements slog.Handler.
func (l runLog) WithGroup(name string) slog.Handler { return l.WithAttrs(nil).WithGroup(name) }

// lastLine is what the one line says that a run leaves in the log. Nothing in it lies in the
// request or in an event.
func (r *run) lastLine() []slog.Attr {
	attrs := make([]slog.Attr, 0, 13)
	for _, a := range (runLog{r}).attrs() {
		attrs = append(attrs, slog.String(a.Key, strings.Clone(a.Value.String())))
	}
	attrs = append(attrs, slog.String("outcome", r.report.outcome), slog.Int64("duration_ms", r.h.opts.Now().Sub(r.report.started).Milliseconds()))
	if r.report.paused != nil {
		attrs = append(attrs, slog.Int("interrupts", len(r.report.paused.Interrupts)))
	}
	if dialect := r.dialectOfLine(); dialect != "" {
		attrs = append(attrs, slog.String("dialect", dialect))
	}
	if name := r.request.client.String(); name != "" {
		attrs = append(attrs, slog.String("client", name))
	}
	if r.report.code != "" {
		attrs = append(attrs, slog.String("code", strings.Clone(string(r.report.code))))
	}
	if r.report.status != 0 {
		attrs = append(attrs, slog.Int("upstream_status", r.report.status))
	}
	attrs = append(attrs, slog.String("request_id", r.request.id))
	if r.request.trace != "" {
		attrs = append(attrs, slog.String("trace_id", r.request.trace))
	}
	if list := r.loggedAnswers(); list != nil {
		attrs = append(attrs, slog.Any("answers", list))
	}
	switch name, hash := r.h.opts.ShowPrincipal.Of(r.who); {
	case name != "":
		attrs = append(attrs, slog.String("principal", name))
	case hash != "":
		attrs = append(attrs, slog.String("principal_hash", hash))
	}
	return attrs
}

// dialectOfLine is the dialect that the run was translated by, "" if nobody knows yet.
func (r *run) dialectOfLine() string {
	switch {
	case r.report.paused != nil:
		return r.report.paused.Dialect
	case r.exchange.Run == nil:
		return ""
	}
	return r.exchange.speaks(r.h.routes.finder)
}

// leave ends the run for good. out is nil if its client has left.
func (r *run) leave(out *stream.Writer) {
	r.claim.Stop()
	r.h.runIDs.leave(r.runID)
	if r.transcript != nil {
		r.transcript.Drop()
	}
	r.count()
	r.life.leave(r.lastLine(), out)
}
