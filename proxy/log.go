package proxy

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	"holdpoint/internal/agui"
)

// A runLog is the slog.Handler of a run's lines. They name thread and run. slog's own With would
// format both at the beginning of each run, and most runs have only one line, at their end.
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

// lastLine is what the one line says that a run leaves in the log. Nothing in it lies in the
// request or in an event.
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

// maxReports is how many lines may wait for the log before the ends of streams wait for it too.
const maxReports = 1024

// A reporter writes the last lines of runs, one after another, after their streams have ended. A
// slow or blocked log then holds nobody back. It has a goroutine while there is something to write.
type reporter struct {
	log   *slog.Logger
	quiet func() // called when all is written

	mu      sync.Mutex
	lines   [][]slog.Attr
	writing bool
}

// add takes a line. It returns false if too many wait.
func (r *reporter) add(line []slog.Attr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) >= maxReports {
		return false
	}
	r.lines = append(r.lines, line)
	if !r.writing {
		r.writing = true
		go r.run()
	}
	return true
}

// run writes until nothing waits.
func (r *reporter) run() {
	for {
		r.mu.Lock()
		lines := r.lines
		r.lines, r.writing = nil, len(lines) > 0
		r.mu.Unlock()
		if len(lines) == 0 {
			r.quiet()
			return
		}
		for _, line := range lines {
			r.write(line)
		}
	}
}

// empty says that all is written.
func (r *reporter) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.writing
}

// write writes the line of a run that is over. A log that panics does not end the process, as in a
// handler, where net/http recovers.
func (r *reporter) write(line []slog.Attr) {
	defer func() { _ = recover() }()
	r.log.LogAttrs(context.Background(), slog.LevelInfo, "run ended", line...)
}
