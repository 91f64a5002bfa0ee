package proxy

import (
	"holdpoint/internal/agui"
	"holdpoint/proxy/internal/backend"
	"holdpoint/proxy/internal/stream"
	"holdpoint/proxy/internal/tell"
)

// A claimedReader is the state that a claimed run shares with the goroutine that reads its stream.
// The goroutine that calls body.nextOutput owns all fields except silence, gate and ended.
type claimedReader struct {
	// backend.Watch sends a value when the claimed run's backend is silent
	silence chan struct{}
	// a value asks the reading goroutine to call fill; nil before the first fill
	fills       chan struct{}
	filled      chan struct{} // gets a value when the fill has ended
	busy        bool          // a fill is running
	streamEnded bool          // the client's stream has ended, but the exchange has not
	// The running fill holds gate, except while it waits for the backend. Whoever holds gate may
	// read the state of the run.
	gate backend.Gate
	// ended is true if the client's stream was ended while a fill waited for the backend. gate
	// guards ended.
	ended bool
}

// idleEnd returns the frames that end the client's stream because the backend is silent. The fill
// continues, because the backend may still be working. If the backend has just sent something,
// idleEnd returns nil, because the fill then returns by itself.
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
