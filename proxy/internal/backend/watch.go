package backend

import (
	"io"
	"sync"
	"time"
)

// A Watch limits how long a read from a backend may take. Its timer runs only during a read, so a
// slow client does not make the backend count as silent. Set the exported fields before the first
// read.
type Watch struct {
	Limit     time.Duration // the longest time of one read; 0 means no limit
	OnSilence func()        // called in the timer's goroutine when a read has taken Limit
	// OnGraceOver is called in the same way when the same read has taken Grace longer than Limit.
	// It may be nil.
	OnGraceOver func()
	Grace       time.Duration
	// If the reading goroutine has entered Gate, the Watch leaves Gate before each read, and enters
	// it again after the read. Gate may be nil.
	Gate *Gate

	mu              sync.Mutex
	timer           *time.Timer
	reading         bool // the timer runs for the current read
	silenceReported bool // OnSilence was called during the current read
	gateLeft        bool // the gate was left during the current wait
}

// Reader returns a reader that reads src while the Watch limits its reads. conn is the connection
// that src reads. It is nil if it is unknown, or if src changes the bytes of the connection. If
// conn is not nil, the reader is an sse.Source.
func (w *Watch) Reader(src io.Reader, conn *Conn) io.Reader {
	if conn == nil {
		return &watchedReader{src, w}
	}
	return &source{watchedReader{src, w}, conn}
}

// beginRead begins a read: it leaves the gate and starts the timer. endRead ends the read.
func (w *Watch) beginRead() {
	w.gateLeft = w.Gate.Leave()
	if w.Limit == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading, w.silenceReported = true, false
	if w.timer == nil {
		w.timer = time.AfterFunc(w.Limit, w.timeOut)
	} else {
		w.timer.Reset(w.Limit)
	}
}

// timeOut calls OnSilence, or OnGraceOver if OnSilence was called during this read. The timer calls
// it.
func (w *Watch) timeOut() {
	w.mu.Lock()
	tell := w.OnSilence
	switch {
	case !w.reading:
		tell = nil
	case w.silenceReported:
		tell = w.OnGraceOver
	case w.OnGraceOver != nil:
		w.timer.Reset(w.Grace)
	}
	w.silenceReported = true
	w.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// endRead ends a read: it stops the timer and enters the gate again.
func (w *Watch) endRead() {
	w.mu.Lock()
	w.reading = false
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	if w.gateLeft {
		w.Gate.Enter()
	}
}

// A watchedReader is a reader whose reads a Watch limits.
type watchedReader struct {
	io.Reader
	watch *Watch
}

// Read implements io.Reader.
func (w *watchedReader) Read(p []byte) (int, error) {
	w.watch.beginRead()
	n, err := w.Reader.Read(p)
	w.watch.endRead()
	return n, err
}

// A source is a watchedReader of a connection. It reports how many bytes of the connection have
// arrived.
type source struct {
	watchedReader
	conn *Conn
}

// More implements sse.Source.
func (s *source) More() int { return s.conn.More() }

// Wait implements sse.Source.
func (s *source) Wait() {
	s.watch.beginRead()
	s.conn.Wait()
	s.watch.endRead()
}
