package proxy

import "holdpoint/internal/agui"

// apart is the goroutine in which the stream of a claimed run is read. The fields but silent are of
// the one who pulls.
type apart struct {
	silent chan struct{} // gets a value from watch on a claimed run
	fills  chan struct{} // asks for a fill of a claimed run; nil before the first
	filled chan struct{} // gets a value when such a fill has ended
	busy   bool          // such a fill is under way
	left   bool          // the client's stream has ended, the exchange has not
}

// guarded is fill, of which a panic ends this run only: a claimed run is translated in a goroutine of its own, where
// net/http does not recover.
func (b *body) guarded() {
	defer func() {
		if p := recover(); p != nil {
			b.r.panicked(p)
			b.out.Clear()
			b.phase.advance(over)
			b.start()
			b.tell([]agui.Event{b.r.giveUpClaim().Event()})
		}
	}()
	b.fill()
}

// fillApart is fill in a goroutine of its own, so that the client's stream can end while the upstream of a claimed run
// is silent. It returns false if that happened; the fill goes on then.
func (b *body) fillApart() bool {
	if b.apart.fills == nil {
		b.apart.fills, b.apart.filled = make(chan struct{}), make(chan struct{}, 1)
		go func(fills <-chan struct{}, filled chan<- struct{}) {
			for range fills {
				b.guarded()
				filled <- struct{}{}
			}
		}(b.apart.fills, b.apart.filled)
	}
	select {
	case <-b.apart.silent: // of a fill before this one
	default:
	}
	b.apart.busy = true
	b.apart.fills <- struct{}{}
	select {
	case <-b.apart.filled:
		b.apart.busy = false
		return true
	case <-b.apart.silent:
		return false
	}
}

// readAlone reads a run on after its client has left, until the outcome is recorded.
func (b *body) readAlone() {
	b.apart.left = true
	b.r.life.detach(func() {
		defer b.r.leave(nil)
		if b.apart.busy {
			<-b.apart.filled
			b.apart.busy = false
		}
		b.endFills()
		for b.phase < ended {
			b.out.Clear()
			b.guarded()
		}
		b.close()
	})
}

// endFills ends the goroutine that fills. None is under way.
func (b *body) endFills() {
	if b.apart.fills != nil {
		close(b.apart.fills)
		b.apart.fills = nil
	}
}
