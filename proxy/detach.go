package proxy

import (
	"context"
	"time"
)

// detachTimeout bounds how long a run is read on after its client has left.
const detachTimeout = time.Hour

// detach reads a run on after its client has left, until the outcome is recorded.
func (r *run) detach(b *body) {
	r.detached = true
	b.left = true
	r.log.Info("client left: reading on")
	r.goOnAlone()
	go func() {
		defer r.leave()
		if b.filled != nil {
			<-b.filled
		}
		for !b.over && !b.asked {
			b.rewind()
			b.guarded()
		}
		b.close()
	}()
}

// goOnAlone bounds how long a run goes on without its client, wherever it is by then.
func (r *run) goOnAlone() {
	r.alone.start(detachTimeout, func(context.Context) bool {
		r.cancel(errIdle)
		return false
	})
}
