package proxy

import (
	"io"
	"time"
)

// A watch tells when the upstream was waited for too long. Its timer runs during each Read.
type watch struct {
	limit time.Duration // 0: for ever
	told  func()
	timer *time.Timer
}

// over watches the reads of src. conn is the connection that it is read from, nil if it is not
// known or if what comes from it is not what src gives.
func (w *watch) over(src io.Reader, conn *burstConn) io.Reader {
	if conn == nil {
		return &watched{src, w}
	}
	return &bursting{watched{src, w}, conn}
}

// waits says that the upstream is waited for from now on, until waited.
func (w *watch) waits() {
	switch {
	case w.limit == 0:
	case w.timer == nil:
		w.timer = time.AfterFunc(w.limit, w.told)
	default:
		w.timer.Reset(w.limit)
	}
}

func (w *watch) waited() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// watched is a source whose reads are watched.
type watched struct {
	io.Reader
	watch *watch
}

func (w *watched) Read(p []byte) (int, error) {
	w.watch.waits()
	n, err := w.Reader.Read(p)
	w.watch.waited()
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
	b.watch.waits()
	b.conn.Wait()
	b.watch.waited()
}
