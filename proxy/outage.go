package proxy

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdpoint/internal/contract"
)

// While the store cannot be asked nobody knows which threads wait for answers. An ordinary run is
// refused then, or goes to the backend unasked: that is the operator's choice. A run with answers
// is refused always, because nobody could say that they reach the backend once.

// Outage says what becomes of runs without answers while the store cannot be asked,
// HOLDPOINT_STORE_OUTAGE.
type Outage string

// OutageRefuse: they get STORE_UNAVAILABLE. OutagePass: they go to the backend, also on a thread
// that waits for answers.
const (
	OutageRefuse Outage = "refuse"
	OutagePass   Outage = "pass"
)

// passesNotAsked reports whether a run whose record could not be read goes to the backend all the
// same. It was judged by an empty record, as after a restart of a store in memory: it must come to
// an ordinary run, and must bring nothing that could be an answer to something.
func (j *judge) passesNotAsked(v contract.Ruling) bool {
	_, command := j.in.CommandResume()
	return v.Do == contract.Pass && len(j.answers.list) == 0 && j.answers.unread == nil &&
		j.in.ResumeObject == nil && len(j.in.Resume) == 0 && !command
}

// outages is what is noted of whether the store can be asked. It logs the beginning and the end of
// an outage, and no run of it.
type outages struct {
	log  *slog.Logger
	opts *Options

	on atomic.Bool // there is one; most runs look at no more

	mu    sync.Mutex
	since time.Time
	runs  int // that have met it
}

// note is called with the result of a look at a record.
func (o *outages) note(err error) {
	if err == nil && !o.on.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch was := o.on.Load(); {
	case err != nil && !was:
		o.since, o.runs = o.opts.Now(), 1
		o.on.Store(true)
		if o.opts.StoreOutage == OutagePass {
			o.log.Error(logOutagePass, "err", err)
		} else {
			o.log.Error(logOutageRefuse, "err", err)
		}
	case err != nil:
		o.runs++
	case was:
		o.on.Store(false)
		o.log.Warn(logOutageOver, "away", o.opts.Now().Sub(o.since).String(), "asked_in_vain", o.runs)
	}
}
