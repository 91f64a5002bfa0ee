package stream

import (
	"net/http"
	"sync"
	"time"
)

// writeTimeout is the default of Limits.Write.
const writeTimeout = time.Minute

// heartbeat is an event-stream comment, which every client ignores. It keeps idle connections open.
var heartbeat = []byte(": holdpoint\n\n")

// A Writer is the ResponseWriter of a run. If nothing was written for some time, it sends a
// heartbeat, which is a comment between two frames. Each write has its own deadline. One deadline
// for the whole response would end a healthy stream. Without a deadline a dead client would never
// be noticed.
type Writer struct {
	http.ResponseWriter
	interval time.Duration // 0: no heartbeats

	mu          sync.Mutex // held during writes, because a heartbeat must not be written within a frame
	timer       *time.Timer
	streamBegun bool      // the header of an event stream was written
	otherBegun  bool      // the header of a response that is not an event stream was written
	headerHeld  bool      // the header is held back until the first frame
	unsent      bool      // bytes were written and not flushed
	lastWrite   time.Time // time of the last write
	deadline    deadlines
	insideFrame bool    // the last byte written is within a frame
	tail        [2]byte // the last two bytes written
	closed      bool
}

// NewWriter returns a Writer that writes to w. The parameter every is the time between heartbeats,
// 0 for no heartbeats.
func NewWriter(w http.ResponseWriter, every time.Duration, l Limits) *Writer {
	return &Writer{ResponseWriter: w, interval: every, deadline: newDeadlines(w, l)}
}

// HasBegun reports whether the header of an event stream was written. Only the goroutine that
// writes may call it.
func (w *Writer) HasBegun() bool { return w.streamBegun }

// Unwrap lets http.ResponseController find the connection.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hold holds the header back until the first frame, unless the header was already sent. The caller
// must then send a frame or call Release.
func (w *Writer) Hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.headerHeld = !w.streamBegun
}

// Release sends a header that Hold holds back, although there is no frame yet. It does not wait for
// a client that reads nothing, because its caller may have a claim to end. If another goroutine is
// just writing, that write sends the header.
func (w *Writer) Release() {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	if w.headerHeld && !w.closed {
		w.deadline.set(time.Now())
		_ = w.flush() // if the client is gone, the next write fails
	}
}

// WriteHeader implements http.ResponseWriter.
func (w *Writer) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streamBegun {
		return // the header was already sent while the run waited
	}
	w.ResponseWriter.WriteHeader(status)
	if IsEventStream(w.Header()) && status >= 200 {
		w.streamBegun = true
		w.lastWrite = time.Now()
	} else if status >= 200 {
		w.otherBegun = true
	}
}

// Passing reports whether the header of a response that is not an event stream was written.
func (w *Writer) Passing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.otherBegun
}

// Write implements http.ResponseWriter.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.write(p)
}

// Send writes whole frames, first made and then row, and flushes them. Either may be empty. If
// isLast is set, Send does not flush: net/http then sends the end of the stream together with these
// frames. An error means that the client is gone.
func (w *Writer) Send(made, row []byte, isLast bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range [2][]byte{made, row} {
		if len(p) > 0 {
			if _, err := w.write(p); err != nil {
				return err
			}
		}
	}
	if isLast {
		return nil
	}
	return w.flush()
}

func (w *Writer) write(p []byte) (int, error) {
	w.lastWrite = time.Now()
	w.deadline.set(w.lastWrite)
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
	w.insideFrame = w.tail != [2]byte{'\n', '\n'}
}

// FlushError flushes what was written. http.ResponseController prefers it to Flush.
func (w *Writer) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.headerHeld {
		return nil // ReverseProxy calls this only to send the header
	}
	return w.flush()
}

// flush sends the buffered bytes. It also starts the heartbeats, as Alive does. A stream that is
// sent in one piece is not flushed, and needs no heartbeats.
func (w *Writer) flush() error {
	w.headerHeld, w.unsent = false, false
	w.scheduleHeartbeats()
	return w.deadline.flush()
}

// Alive starts the heartbeats of a stream that has begun, because the next frame may take long. The
// first heartbeat also sends a header that Hold holds back. Like Release, Alive does not wait: if
// another goroutine is just writing, that write starts the heartbeats.
func (w *Writer) Alive() {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	w.scheduleHeartbeats()
}

func (w *Writer) scheduleHeartbeats() {
	if w.streamBegun && !w.closed && w.timer == nil && w.interval > 0 {
		w.timer = time.AfterFunc(w.interval, w.writeHeartbeat)
	}
}

// writeHeartbeat writes a heartbeat if nothing was written for the interval and the last write
// ended a frame.
func (w *Writer) writeHeartbeat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	now := time.Now()
	left := w.interval - now.Sub(w.lastWrite)
	if left <= 0 {
		if !w.insideFrame {
			w.deadline.set(now)
			w.ResponseWriter.Write(heartbeat)
			w.flush()
		}
		w.lastWrite, left = now, w.interval
	}
	w.timer.Reset(left)
}

// Close ends the heartbeats. Nothing may be written after Close. It removes the write deadline,
// because the deadline would end the next request on the same connection. If net/http still has
// bytes to send, Close leaves the deadline, and ClearDeadline removes it at the next request.
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

// ClearDeadline removes the write deadline that an earlier run on the same connection may have
// left. The next run sets its own deadlines.
func ClearDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
}
