package stream

import (
	"net/http"
	"sync"
	"time"
)

// writeTimeout is the default of Limits.Write.
const writeTimeout = time.Minute

// heartbeat is a comment. Every client ignores it, and it keeps idle connections open on the way.
var heartbeat = []byte(": holdpoint\n\n")

// A Writer is the ResponseWriter of a run. It sends a heartbeat, a comment between two frames, when
// nothing was written for a while. Each write gets its own deadline: one for the whole answer would
// end a healthy stream, and without one a dead client would be kept.
type Writer struct {
	http.ResponseWriter
	every time.Duration // 0: no heartbeats

	mu       sync.Mutex // held while bytes go out: a heartbeat must not stand within a frame
	timer    *time.Timer
	began    bool      // an event stream's header was sent
	other    bool      // that of an answer which is none was
	held     bool      // it waits for the first frame
	unsent   bool      // something was written and not flushed
	last     time.Time // of the last write
	deadline deadlines
	inside   bool    // what was written last is not the end of a frame
	tail     [2]byte // the last two bytes written
	closed   bool
}

// NewWriter returns a Writer that writes to w. every is the time between heartbeats, 0 for none.
func NewWriter(w http.ResponseWriter, every time.Duration, l Limits) *Writer {
	return &Writer{ResponseWriter: w, every: every, deadline: newDeadlines(w, l)}
}

// Began reports whether the header of an event stream was written. Only the goroutine that writes
// may call it.
func (w *Writer) Began() bool { return w.began }

// Unwrap lets http.ResponseController find the connection.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hold lets the header wait for the first frame, if it is not out yet. The caller then sends a
// frame or calls Release.
func (w *Writer) Hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = !w.began
}

// Release sends a header that is held, because there is no frame yet. It does not wait for a client
// that reads nothing, because its caller may have a claim to end. A write that is under way takes
// the header along.
func (w *Writer) Release() {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	if w.held && !w.closed {
		w.deadline.set(time.Now())
		_ = w.flush() // a client that is gone is seen at the next write
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return // it went out while the run waited
	}
	w.ResponseWriter.WriteHeader(status)
	if IsEventStream(w.Header()) && status >= 200 {
		w.began = true
		w.last = time.Now()
	} else if status >= 200 {
		w.other = true
	}
}

// Passing reports whether the header of an answer was written that is not an event stream.
func (w *Writer) Passing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.other
}

// Write implements http.ResponseWriter.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(p)
}

// Send writes whole frames, made before row, and flushes. Either may be empty. With last it does
// not flush: net/http then sends the end of the stream together with these frames. An error is that
// of the connection: the client is gone.
func (w *Writer) Send(made, row []byte, last bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range [2][]byte{made, row} {
		if len(p) > 0 {
			if _, err := w.write(p); err != nil {
				return err
			}
		}
	}
	if last {
		return nil
	}
	return w.flush()
}

func (w *Writer) write(p []byte) (int, error) {
	w.last = time.Now()
	w.deadline.set(w.last)
	n, err := w.ResponseWriter.Write(p)
	if n > 0 {
		w.remember(p[:n])
	}
	w.unsent = true
	return n, err
}

func (w *Writer) remember(p []byte) {
	if len(p) == 1 {
		w.tail = [2]byte{w.tail[1], p[0]}
	} else {
		w.tail = [2]byte(p[len(p)-2:])
	}
	w.inside = w.tail != [2]byte{'\n', '\n'}
}

// FlushError flushes what was written. http.ResponseController prefers it to Flush.
func (w *Writer) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held {
		return nil // ReverseProxy's, of the header alone
	}
	return w.flush()
}

// flush sends what there is. It starts the heartbeats, as Alive does. A stream that goes out in one
// piece needs none.
func (w *Writer) flush() error {
	w.held, w.unsent = false, false
	w.beats()
	return w.deadline.flush()
}

// Alive starts the heartbeats of a stream that has begun, because what follows may take its time.
// The first heartbeat takes a held header along. Like Release it waits for nobody: a writer that is
// at work has the heartbeats started.
func (w *Writer) Alive() {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	w.beats()
}

func (w *Writer) beats() {
	if w.began && !w.closed && w.timer == nil && w.every > 0 {
		w.timer = time.AfterFunc(w.every, w.beat)
	}
}

// beat writes one heartbeat if nothing was written for long and the stream stands between two
// frames.
func (w *Writer) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	now := time.Now()
	left := w.every - now.Sub(w.last)
	if left <= 0 {
		if !w.inside {
			w.deadline.set(now)
			w.ResponseWriter.Write(heartbeat)
			w.flush()
		}
		w.last, left = now, w.every
	}
	w.timer.Reset(left)
}

// Close ends the heartbeats. Nothing may be written after it. It takes the deadline away, which
// would end the next request on the same connection. If net/http still has something to send, that
// happens at the next request, see ClearDeadline.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	if !w.deadline.at.IsZero() && !w.unsent {
		w.deadline.clear()
	}
}

// ClearDeadline takes away the deadline that an earlier run on the same connection may have left. A
// run has deadlines of its own.
func ClearDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}
