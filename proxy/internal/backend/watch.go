package backend

import (
	"io"
	"sync"
	"time"
)

// A Watch tells when a backend was waited for too long. Its timer runs during each read, and only
// then: a client that reads slowly is not silence of the backend.
type Watch struct {
	Limit time.Duration // of one wait; 0: for ever
	Told  func()        // called from the timer's goroutine
	// Late is called as Told is, when the same wait has lasted for Grace more. nil: never.
	Late  func()
	Grace time.Duration
	Gate  *Gate // left while the backend is waited for, by who has entered it; may be nil

	mu      sync.Mutex
	timer   *time.Timer
	waiting bool // the timer counts the wait at hand
	told    bool // Told was called in this wait
	left    bool // the gate was
}

// Over watches the reads of src. conn is the connection under src, nil if it is not known or if src
// gives something else than the connection's bytes. The result is an sse.Source if conn is not nil.
func (w *Watch) Over(src io.Reader, conn *Conn) io.Reader {
	if conn == nil {
		return &watchedReader{src, w}
	}
	return &source{watchedReader{src, w}, conn}
}

// waits says that the backend is waited for from now on, until waited.
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

// timeOut is called when the timer has run out.
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

// watchedReader is a reader whose reads are watched.
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

// source is one that knows whether it has more: an sse.Source.
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
