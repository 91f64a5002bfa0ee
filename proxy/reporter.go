package proxy

import (
	"context"
	"log/slog"
	"sync"
)

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

// run writes until nothing waits. It takes one line at a time, so that all that wait are counted.
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
