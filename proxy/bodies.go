package proxy

import (
	"net/http"
	"sync"
	"time"
)

// bodyTimeout is for the body of a run: a slow one holds memory.
const bodyTimeout = 5 * time.Minute

// bodies are the request bodies that are being read. They have one timer, which looks at all of them: a deadline of a
// connection is a timer of its own, and each new one may wake another thread, while nearly every body is there already.
// The zero value is ready.
type bodies struct {
	mu    sync.Mutex
	began map[*http.ResponseController]time.Time // zero: it has taken too long
	ticks bool                                   // the timer runs
}

// watch gives the body of a request bodyTimeout; done is called when it was read.
func (b *bodies) watch(w http.ResponseWriter) (done func()) {
	control := http.NewResponseController(w)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.began == nil {
		b.began = map[*http.ResponseController]time.Time{}
	}
	b.began[control] = time.Now()
	if !b.ticks {
		b.ticks = true
		time.AfterFunc(bodyTimeout, b.look)
	}
	return func() { b.done(control) }
}

func (b *bodies) done(control *http.ResponseController) {
	b.mu.Lock()
	late := b.began[control].IsZero()
	delete(b.began, control)
	b.mu.Unlock()
	if late {
		_ = control.SetReadDeadline(time.Time{}) // or it would end the next request on the same connection
	}
}

// look ends the reads that take too long, and comes again when the next one could.
func (b *bodies) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	next := time.Duration(0)
	for control, began := range b.began {
		if began.IsZero() {
			continue
		}
		left := bodyTimeout - now.Sub(began)
		if left <= 0 {
			b.began[control] = time.Time{}
			_ = control.SetReadDeadline(now) // it fails where there is no connection, as in tests
		} else if next == 0 || left < next {
			next = left
		}
	}
	if b.ticks = next > 0; b.ticks {
		time.AfterFunc(next, b.look)
	}
}
