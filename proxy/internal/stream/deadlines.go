package stream

import (
	"net/http"
	"time"
)

// Limits bound how slowly a client may read its answer.
type Limits struct {
	// Write is how long one write may take. A client that reads nothing for that long is gone. 0 is
	// a minute.
	Write time.Duration
	// Multiplexed reports that the request came by HTTP/2. net/http resets a stream there whose write
	// deadline passes, also while nobody writes.
	Multiplexed bool
}

// LimitsOf returns the Limits for the answer to req. write is Limits.Write.
func LimitsOf(req *http.Request, write time.Duration) Limits {
	return Limits{Write: write, Multiplexed: req.ProtoMajor >= 2}
}

// deadlines give each write its time. A deadline for the whole answer would end a healthy stream,
// and no deadline would keep a dead client.
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

// set gives a write at least its time, and most writes the deadline of one before. It fails if the
// connection knows no deadlines, as in tests. The write then has none.
func (d *deadlines) set(now time.Time) {
	if d.at.Sub(now) >= d.Write {
		return
	}
	d.at = now.Add(d.Write + d.Write/10)
	_ = d.control.SetWriteDeadline(d.at)
}

// flush sends what there is.
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

// A Passing is the ResponseWriter of an answer that passes untouched. Each write and each flush
// sets a deadline, so that a client that stops reading is noticed.
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

// FlushError flushes what was written. http.ResponseController prefers it to Flush.
func (p *Passing) FlushError() error {
	p.deadlines.set(time.Now())
	return p.deadlines.flush()
}
