package proxy

import (
	"io"
	"math"
	"sync/atomic"
	"time"
)

// A watch tells when the upstream was waited for too long. It costs a note of the time for each Read that may wait: the timer
// runs on, and finds out when it fires.
type watch struct {
	limit time.Duration // 0: for ever
	told  func()
	began time.Time
	timer *time.Timer
	since atomic.Int64 // when the Read at hand began to wait, counted from began; notWaiting or stopped if there is none
}

const (
	notWaiting = -1
	stopped    = -2
)

// newWatch makes a watch that tells after limit; it runs from arm on.
func newWatch(limit time.Duration, told func()) *watch {
	return &watch{limit: limit, told: told, began: time.Now()}
}

// over watches the reads of src. conn is the connection that it is read from, nil if it is not known or if what comes from it
// is not what src gives.
func (w *watch) over(src io.Reader, conn *burstConn) io.Reader {
	w.since.Store(notWaiting)
	if conn == nil {
		return &watched{src, w}
	}
	return &bursting{watched{src, w}, conn}
}

// arm starts the timer, before the first wait or during it: streams that have come whole need none.
func (w *watch) arm() {
	if w.limit > 0 {
		if w.timer == nil {
			w.timer = time.AfterFunc(math.MaxInt64, w.fired) // it looks at w.timer itself
		}
		w.timer.Reset(w.limit)
	}
}

func (w *watch) stop() {
	w.since.Store(stopped)
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watch) fired() {
	switch since := w.since.Load(); since {
	case stopped:
	case notWaiting:
		w.timer.Reset(w.limit)
	default:
		if left := w.limit - (time.Since(w.began) - time.Duration(since)); left > 0 {
			w.timer.Reset(left)
			return
		}
		w.told()
		w.timer.Reset(w.limit)
	}
}

// waits notes that the upstream is waited for from now on, until waited.
func (w *watch) waits() (since int64) {
	if w.limit > 0 {
		since = int64(time.Since(w.began))
		w.since.CompareAndSwap(notWaiting, since)
	}
	return since
}

func (w *watch) waited(since int64) {
	if w.limit > 0 {
		w.since.CompareAndSwap(since, notWaiting)
	}
}

// watched is a source whose reads are watched.
type watched struct {
	io.Reader
	watch *watch
}

func (w *watched) Read(p []byte) (int, error) {
	since := w.watch.waits()
	n, err := w.Reader.Read(p)
	w.watch.waited(since)
	return n, err
}

// bursting is one that knows whether it has more: an sse.Source.
type bursting struct {
	watched
	conn *burstConn
}

// More implements sse.Source.
func (b *bursting) More() int { return b.conn.More() }

// Wait implements sse.Source.
func (b *bursting) Wait() {
	since := b.watch.waits()
	b.conn.Wait()
	b.watch.waited(since)
}
