package proxy

import (
	"context"
	"log/slog"
	"sync"
)

// maxReports is the number of lines that may be queued. If more are, the ends of streams wait for
// the log.
const maxReports = 1024

// A reporter writes the last log lines of runs, one after another, after their streams have ended,
// so that a slow or blocked log delays no stream. It has a goroutine only while lines are queued.
type reporter struct {
	log   *slog.Logger
	quiet func() // called when the queue is empty

	mu      sync.Mutex
	lines   [][]slog.Attr
	writing bool
}

// add queues a line. It returns false if too many are queued.
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

// run writes lines until the queue is empty. It removes one line at a time, so that add counts all
// others.
func (r *reporter) run() {
	for {
		r.mu.Lock()
		if len(r.lines) == 0 {
			r.lines, r.writing = nil, false
			r.mu.Unlock()
			r.quiet()
			return
		}
		line := r.lines[0]
		r.lines[0], r.lines = nil, r.lines[1:]
		r.mu.Unlock()
		r.write(line)
	}
}

// empty reports that all lines are written.
func (r *reporter) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.writing
}

// write writes the last line of a run. A panic of the log is ignored, because no caller would
// recover from it as net/http does in a handler.
func (r *reporter) write(line []slog.Attr) {
	defer func() { _ = recover() }()
	r.log.LogAttrs(context.Background(), slog.LevelInfo, "run ended", line...)
}
