package proxy

import (
	"context"
	"time"
)

// detachTimeout bounds how long a claimed run is read on after its client has left.
const detachTimeout = time.Hour

// detach reads a claimed run on after its client has left, until the outcome is recorded.
func (r *run) detach(b *body) {
	r.detached = true
	b.left = true
	r.log.Info("client left a claimed run: reading on")
	r.goOnAlone()
	go func() {
		defer r.leave()
		if b.filled != nil {
			<-b.filled
		}
		for !b.over && r.claimedNow() {
			b.rewind()
			b.guarded()
		}
		b.close()
	}()
}

// goOnAlone bounds how long a claimed run goes on without its client, wherever it is by then.
func (r *run) goOnAlone() {
	r.alone.start(detachTimeout, func(context.Context) bool {
		r.cancel(errIdle)
		return false
	})
}
