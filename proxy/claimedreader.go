package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/tell"
)

// A claimedReader is the state shared between a claimed run and the goroutine that reads its
// stream. The goroutine that calls body.nextOutput owns all fields except silent, gate and ended.
type claimedReader struct {
	silence     chan struct{} // the watch sends a value when the backend of a claimed run is silent
	fills       chan struct{} // asks the reading goroutine for a fill; nil before the first
	filled      chan struct{} // gets a value when that fill has ended
	busy        bool          // a fill is running
	streamEnded bool          // the client's stream has ended, but the exchange has not
	// gate is held by the running fill, except while the fill waits for the backend. Whoever holds
	// it may read the state of the run.
	gate backend.Gate
	// ended reports that the client's stream was ended while a fill waited for the backend. gate
	// guards it.
	ended bool
}

// idleEnd returns the frames that end the client's stream because the backend is silent, while
// the fill continues: the backend may still be working. It returns nil if the backend has just sent
// something, because the fill then returns by itself.
func (b *body) idleEnd() []byte {
	b.reader.gate.Lock()
	defer b.reader.gate.Unlock()
	if b.phase != reading || !b.out.Empty() {
		return nil
	}
	b.reader.ended, b.reader.streamEnded = true, true
	var events []agui.Event
	if !b.started {
		events = append(events, b.client.listener().Start())
	}
	var made []byte
	l := b.client.tellListener()
	for _, ev := range tell.BrokenEnd(&l, events, fault(b.life.ctx, errIdle).Event(), nil, tell.StillRunning) {
		made = stream.AppendEvent(made, ev)
	}
	return made
}
