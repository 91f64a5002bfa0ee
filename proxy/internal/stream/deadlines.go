package stream

import (
	"net/http"
	"time"
)

// Limits say how slowly a client may read its response.
type Limits struct {
	// Write is the time limit of one write. If a client reads nothing for that long, it counts as
	// gone. 0 means a minute.
	Write time.Duration
	// Multiplexed means that the request uses HTTP/2. With HTTP/2, net/http resets a stream when
	// the write deadline passes, even if nothing is being written.
	Multiplexed bool
}

// LimitsOf returns the Limits for the response to req. write is Limits.Write.
func LimitsOf(req *http.Request, write time.Duration) Limits {
	return Limits{Write: write, Multiplexed: req.ProtoMajor >= 2}
}

// deadlines sets a new deadline for each write. One deadline for the whole response would end a
// healthy stream. Without a deadline a dead client would never be noticed.
type deadlines struct {
	Limits
	control *http.ResponseController
	at      time.Time
}

func newDeadlines(w http.ResponseWriter, l Limits) deadlines {
	if l.Write == 0 {
		l.Write = writeTimeout
	}
	return deadlines{Limits: l, control: http.NewResponseController(w)}
}

// set makes sure that a write has at least its time limit. Most writes use the deadline that an
// earlier write has set. Some connections do not support deadlines, as in tests; there the write
// has no time limit.
func (d *deadlines) set(now time.Time) {
	if d.at.Sub(now) >= d.Write {
		return
	}
	d.at = now.Add(d.Write + d.Write/10)
	_ = d.control.SetWriteDeadline(d.at)
}

// flush sends the buffered bytes.
func (d *deadlines) flush() error {
	err := d.control.Flush()
	if d.Multiplexed && !d.at.IsZero() {
		d.clear()
	}
	return err
}

func (d *deadlines) clear() {
	d.at = time.Time{}
	_ = d.control.SetWriteDeadline(d.at)
}

// A Passing is the ResponseWriter of a response that is passed on unchanged. It sets a deadline for
// each write and each flush, so that it notices if a client stops reading.
type Passing struct {
	http.ResponseWriter
	deadlines deadlines
}

// NewPassing returns a Passing that writes to w.
func NewPassing(w http.ResponseWriter, l Limits) *Passing {
	return &Passing{w, newDeadlines(w, l)}
}

// Unwrap lets http.ResponseController find the connection.
func (p *Passing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements http.ResponseWriter.
func (p *Passing) Write(b []byte) (int, error) {
	p.deadlines.set(time.Now())
	return p.ResponseWriter.Write(b)
}

// FlushError flushes the bytes written so far. http.ResponseController prefers it to Flush.
func (p *Passing) FlushError() error {
	p.deadlines.set(time.Now())
	return p.deadlines.flush()
}
