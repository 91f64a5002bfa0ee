package backend

import (
	"io"
	"sync"
	"time"
)

// A Watch limits how long a read from a backend may take. Its timer runs only during a read, so a
// slow client does not count as a silent backend. Set the exported fields before the first read.
type Watch struct {
	Limit time.Duration // of one read; 0: no limit
	Told  func()        // called in the timer's goroutine when a read has taken Limit
	// Late is called in the same way when that read has taken Grace more. nil: it is not called.
	Late  func()
	Grace time.Duration
	// Gate is left before each read and entered again after it, by a goroutine that has entered it.
	// It may be nil.
	Gate *Gate

	mu      sync.Mutex
	timer   *time.Timer
	waiting bool // the timer runs for the current read
	told    bool // Told was called during the current read
	left    bool // the gate was left for the current wait
}

// Over returns a reader that reads src under the watch. conn is the connection that src reads, or
// nil if it is unknown or src changes its bytes. If conn is not nil, the reader is an sse.Source.
func (w *Watch) Over(src io.Reader, conn *Conn) io.Reader {
	if conn == nil {
		return &watchedReader{src, w}
	}
	return &source{watchedReader{src, w}, conn}
}

// waits begins a read: it leaves the gate and starts the timer. waited ends the read.
func (w *Watch) waits() {
	w.left = w.Gate.Leave()
	if w.Limit == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting, w.told = true, false
	if w.timer == nil {
		w.timer = time.AfterFunc(w.Limit, w.timeOut)
	} else {
		w.timer.Reset(w.Limit)
	}
}

// timeOut calls Told, or Late if Told was called during this read. The timer calls it.
func (w *Watch) timeOut() {
	w.mu.Lock()
	tell := w.Told
	switch {
	case !w.waiting:
		tell = nil
	case w.told:
		tell = w.Late
	case w.Late != nil:
		w.timer.Reset(w.Grace)
	}
	w.told = true
	w.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// waited ends a read: it stops the timer and enters the gate again.
func (w *Watch) waited() {
	w.mu.Lock()
	w.waiting = false
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	if w.left {
		w.Gate.Enter()
	}
}

// watchedReader reads from a reader under a watch.
type watchedReader struct {
	io.Reader
	watch *Watch
}

// Read implements io.Reader.
func (w *watchedReader) Read(p []byte) (int, error) {
	w.watch.waits()
	n, err := w.Reader.Read(p)
	w.watch.waited()
	return n, err
}

// source is a watchedReader over a connection, which reports how many bytes it holds.
type source struct {
	watchedReader
	conn *Conn
}

// More implements sse.Source.
func (s *source) More() int { return s.conn.More() }

// Wait implements sse.Source.
func (s *source) Wait() {
	s.watch.waits()
	s.conn.Wait()
	s.watch.waited()
}
