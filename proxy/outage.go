package proxy

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"holdpoint/internal/contract"
)

// While the store cannot be reached, it is not known which threads wait for answers. A run without
// answers is then refused, or sent to the backend without protection; the operator has chosen one
// of the two. A run with answers is always refused, because the backend could get it twice.

// Outage is the setting for runs without answers while the store cannot be reached
// (HOLDPOINT_STORE_OUTAGE).
type Outage string

// OutageRefuse refuses such runs with STORE_UNAVAILABLE. OutagePass sends them to the backend, even
// if the thread waits for answers.
const (
	OutageRefuse Outage = "refuse"
	OutagePass   Outage = "pass"
)

// passesWithoutRecord reports whether a run is sent to the backend although its record could not be
// loaded. v is the ruling with an empty record, like that after a restart with a store in memory.
// The run must be an ordinary run, and must contain nothing that could answer a question.
func (j *judge) passesWithoutRecord(v contract.Ruling) bool {
	_, command := j.in.CommandResume()
	return v.Do == contract.Pass && len(j.answers.list) == 0 && j.answers.readError == nil &&
		j.in.ResumeObject == nil && len(j.in.Resume) == 0 && !command
}

// outages knows whether the store can be reached. It logs the beginning and the end of an outage,
// but not each run during the outage.
type outages struct {
	log  *slog.Logger
	opts *Options

	isOut atomic.Bool // there is an outage; most runs read only this field

	mu    sync.Mutex
	since time.Time
	runs  int // number of loads that failed during the outage
}

// note records the result of loading a record. err is nil if the load succeeded.
func (o *outages) note(err error) {
	if err == nil && !o.isOut.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch was := o.isOut.Load(); {
	case err != nil && !was:
		o.since, o.runs = o.opts.Now(), 1
		o.isOut.Store(true)
		if o.opts.StoreOutage == OutagePass {
			o.log.Error(logOutagePass, "err", err)
		} else {
			o.log.Error(logOutageRefuse, "err", err)
		}
	case err != nil:
		o.runs++
	case was:
		o.isOut.Store(false)
		o.log.Warn(logOutageOver, "away", o.opts.Now().Sub(o.since).String(), "asked_in_vain", o.runs)
	}
}
