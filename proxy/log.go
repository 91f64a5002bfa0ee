package proxy

import (
	"context"
	"log/slog"
	"strings"

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

// maxReports is how many lines may wait for the log, before the ends of streams wait for it too.
const maxReports = 1024

// lastLine is what is said of a run in the one line that it leaves in the log. Nothing of it lies in the request or in an event.
func (r *run) lastLine() []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	for _, a := range (runLog{r}).attrs() {
		attrs = append(attrs, slog.String(a.Key, strings.Clone(a.Value.String())))
	}
	attrs = append(attrs, slog.String("outcome", r.outcome), slog.Int64("duration_ms", r.h.opts.Now().Sub(r.started).Milliseconds()))
	if r.paused != nil {
		attrs = append(attrs, slog.Int("interrupts", len(r.paused.Interrupts)), slog.String("dialect", r.paused.Dialect))
	}
	if r.code != "" {
		attrs = append(attrs, slog.String("code", strings.Clone(string(r.code))))
	}
	if r.status != 0 {
		attrs = append(attrs, slog.Int("upstream_status", r.status))
	}
	return attrs
}

// report writes the line of a run that is over, and says so to who waits for the end of all.
func (h *Handler) report(line []slog.Attr) {
	defer h.reported()
	h.log.LogAttrs(context.Background(), slog.LevelInfo, "run ended", line...)
}

// reported is called behind report. A log that panics ends the process no more than it did where net/http recovers.
func (h *Handler) reported() {
	_ = recover()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reports--
	if h.quiet() && h.ended != nil {
		close(h.ended)
		h.ended = nil
	}
}
