package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/tell"
)

// claimedReader is the goroutine that reads the stream of a claimed run. The goroutine that pulls
// owns all fields but silent, gate and ended.
type claimedReader struct {
	silent chan struct{} // gets a value from watch on a claimed run
	fills  chan struct{} // asks for a fill of a claimed run; nil before the first
	filled chan struct{} // gets a value when such a fill has ended
	busy   bool          // such a fill is under way
	left   bool          // the client's stream has ended, the exchange has not
	// gate is held by a fill, but for the time in which it waits for the backend. Whoever holds it
	// may look at the run.
	gate backend.Gate
	// ended says that the client's stream was ended while the fill waited. It is under gate.
	ended bool
}

// idleWords end the client's stream while the fill goes on: the backend is silent, and may still be
// at work. They are nil if the backend has spoken at that very moment, and the fill ends.
func (b *body) idleWords() []byte {
	b.apart.gate.Lock()
	defer b.apart.gate.Unlock()
	if b.phase != reading || !b.out.Empty() {
		return nil
	}
	b.apart.ended, b.apart.left = true, true
	var events []agui.Event
	if !b.started {
		events = append(events, b.client.listener().Start())
	}
	var made []byte
	l := b.client.hearer()
	for _, ev := range tell.Broken(&l, events, fault(b.life.ctx, errIdle).Event(), nil, tell.GoesOn) {
		made = stream.AppendEvent(made, ev)
	}
	return made
}
