package proxy

import (
	"context"
	"log/slog"
	"time"

	"holdpoint/internal/agui"
)

// A runLog is the slog.Handler of a run's lines, which name thread and run. slog's own With would write both down in each run's
// beginning, and most runs have but one line, at their end.
type runLog struct{ *run }

func (l runLog) attrs() []slog.Attr {
	return []slog.Attr{slog.String("thread_id", agui.Cut(l.came.ThreadID)), slog.String("run_id", agui.Cut(l.came.RunID))}
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

// report writes the one line that a run leaves in the log.
func (r *run) report(took time.Duration) {
	attrs := append(make([]slog.Attr, 0, 8), runLog{r}.attrs()...)
	attrs = append(attrs, slog.String("outcome", r.outcome), slog.Int64("duration_ms", took.Milliseconds()))
	if r.paused != nil {
		attrs = append(attrs, slog.Int("interrupts", len(r.paused.Interrupts)), slog.String("dialect", r.paused.Dialect))
	}
	if r.code != "" {
		attrs = append(attrs, slog.String("code", string(r.code)))
	}
	if r.status != 0 {
		attrs = append(attrs, slog.Int("upstream_status", r.status))
	}
	r.h.log.LogAttrs(context.Background(), slog.LevelInfo, "run ended", attrs...)
}
