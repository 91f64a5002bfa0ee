package proxy

import (
	"bytes"
	"net/http"
	"sync"
	"time"
)

// writeTimeout is how long one write to a client may take: who reads nothing for that long is gone.
const writeTimeout = time.Minute

// heartbeat is a comment: every client ignores it, and it keeps idle connections open on the way.
var heartbeat = []byte(": holdpoint\n\n")

// A writer is the ResponseWriter of a run. It sends a heartbeat when nothing else was written for a while, and sets
// the deadline of each write anew, because a total one would end a healthy stream and none would keep a dead client.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	every   time.Duration // 0: no heartbeats
	timer   *time.Timer

	mu     sync.Mutex // held while bytes go out: a heartbeat must not stand within a frame
	began  bool       // an event stream's header was sent
	inside bool       // what was written last is not the end of a frame
	tail   [2]byte    // the last two bytes written
	closed bool
}

func newWriter(w http.ResponseWriter, every time.Duration) *writer {
	return &writer{ResponseWriter: w, control: http.NewResponseController(w), every: every}
}

// Unwrap lets http.ResponseController find the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter. Heartbeats start with the header of an event stream.
func (w *writer) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began {
		return // it went out while the run waited
	}
	w.ResponseWriter.WriteHeader(status)
	if isEventStream(w.Header()) && status >= 200 {
		w.began = true
		if w.every > 0 {
			w.timer = time.AfterFunc(w.every, w.beat)
		}
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setDeadline()
	n, err := w.ResponseWriter.Write(p)
	if n > 0 {
		w.remember(p[:n])
	}
	if w.timer != nil {
		w.timer.Reset(w.every)
	}
	return n, err
}

func (w *writer) remember(p []byte) {
	if len(p) == 1 {
		w.tail = [2]byte{w.tail[1], p[0]}
	} else {
		w.tail = [2]byte(p[len(p)-2:])
	}
	w.inside = !bytes.Equal(w.tail[:], []byte("\n\n"))
}

// setDeadline fails where the connection knows no deadlines, as in tests; the write then has none.
func (w *writer) setDeadline() { _ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }

// FlushError is http.Flusher with an error, for http.ResponseController.
func (w *writer) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.control.Flush()
}

// beat writes one heartbeat, if the stream stands between two frames.
func (w *writer) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if !w.inside {
		w.setDeadline()
		w.ResponseWriter.Write(heartbeat)
		w.control.Flush()
	}
	w.timer.Reset(w.every)
}

// close ends the heartbeats; nothing may be written after it. The deadline goes, or it would end the next request on
// the same connection.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	_ = w.control.SetWriteDeadline(time.Time{})
}
