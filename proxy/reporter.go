package proxy

import (
	"context"
	"log/slog"
	"sync"
)

// maxReports is the largest number of lines in the queue. If the queue is full, the end of a stream
// waits until its line is written.
const maxReports = 1024

// A reporter writes the last log lines of runs one after another, after their streams have ended.
// So a slow or blocked log delays no stream. It has a goroutine only while there are lines in its
// queue.
type reporter struct {
	log     *slog.Logger
	onEmpty func() // called when the queue is empty

	mu      sync.Mutex
	lines   [][]slog.Attr
	writing bool
}

// add adds a line to the queue. It returns false if the queue is full.
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

// run writes lines until the queue is empty. It removes only one line at a time, so that add counts
// all lines that are not written yet.
func (r *reporter) run() {
	for {
		r.mu.Lock()
		if len(r.lines) == 0 {
			r.lines, r.writing = nil, false
			r.mu.Unlock()
			r.onEmpty()
			return
		}
		line := r.lines[0]
		r.lines[0], r.lines = nil, r.lines[1:]
		r.mu.Unlock()
		r.write(line)
	}
}

// empty reports whether all lines are written.
func (r *reporter) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.writing
}

// write writes the last log line of a run. It ignores a panic of the log. Usually no caller would
// recover from the panic, as net/http does in a handler, and the process would end.
func (r *reporter) write(line []slog.Attr) {
	defer func() { _ = recover() }()
	r.log.LogAttrs(context.Background(), slog.LevelInfo, "run ended", line...)
}
